// Elements without markup: text only ever becomes a text node.

export const $ = (id) => document.getElementById(id);

// el("button", {class: "send", onclick: send, hidden: false}, "Send"). true sets an empty attribute,
// false and null set none.
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// One of the symbols in index.html.
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

// A button that shows an icon; its label is its name for screen readers and its tooltip.
export function iconButton(name, label, onclick, attributes = {}) {
  const basics = { type: "button", class: "icon-button", "aria-label": label, title: label };
  return el("button", { ...basics, ...attributes, onclick }, icon(name));
}
