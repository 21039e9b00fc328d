// Markdown inside a line: code, emphasis, links. Builds nodes, never markup; a link goes to the web
// or to mail and nowhere else.

import { el } from "./dom.js";

const MAX_DEPTH = 8; // emphasis within emphasis
const ESCAPABLE = /[\\`*_{}[\]()#+\-.!|~<>]/;
const SPECIAL = /[\\`*_~![<\n]|https?:\/\//g;
const LINK = /\[([^\]\n]*)\]\(\s*<?([^\s<>)]*)>?(?:\s+"[^"\n]*")?\s*\)/y;
const BARE_LINK = /<?(https?:\/\/[^\s<>"]+)>?/y;
const TICKS = /`+/y;
const EMPHASIS = { "**": "strong", "__": "strong", "~~": "del", "*": "em", _: "em" };
const WORD = /[\p{L}\p{N}]/u;

// `text` where it is an absolute address of a kind that runs nothing here, else null.
function safeAddress(text) {
  const protocol = URL.canParse(text) ? new URL(text).protocol : null;
  return ["https:", "http:", "mailto:"].includes(protocol) ? text : null;
}

function link(address, text) {
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, text);
}

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

// Where the run of backticks that closes the code opened at `from` begins, or -1.
function closingTicks(text, ticks, from) {
  for (let at = text.indexOf(ticks, from); at >= 0; at = text.indexOf(ticks, at)) {
    let end = at + ticks.length;
    while (text[end] === "`") end++;
    if (end - at === ticks.length) return at;
    at = end;
  }
  return -1;
}

// Where the marker that closes the emphasis opened before `from` begins, or -1.
function closingMarker(text, marker, from) {
  for (let at = text.indexOf(marker, from); at >= 0; at = text.indexOf(marker, at)) {
    let end = at + marker.length;
    while (text[end] === marker[0]) end++;
    const alone = marker.length === 2 || end - at !== 2; // `**` opens or closes strong, never em
    const inWord = marker[0] === "_" && WORD.test(text[end] ?? "");
    if (alone && !inWord && at > from && !/[\s\\]/.test(text[at - 1])) return end - marker.length;
    at = end;
  }
  return -1;
}

// Each rule reads what begins at `at`: [node, where it ends], or null when it is plain text.
function escape(text, at) {
  return ESCAPABLE.test(text[at + 1] ?? "") ? [text[at + 1], at + 2] : null;
}

function code(text, at) {
  const [run] = match(TICKS, text, at);
  const close = closingTicks(text, run, at + run.length);
  if (close < 0) return [run, at + run.length];
  const inner = text.slice(at + run.length, close).replaceAll("\n", " ");
  const padded = /^ .* $/.test(inner) && inner.trim();
  return [el("code", {}, padded ? inner.slice(1, -1) : inner), close + run.length];
}

function emphasis(text, at, depth) {
  const pair = text.slice(at, at + 2);
  const marker = pair in EMPHASIS && text[at + 2] !== text[at] ? pair : text[at]; // of three, em is the outer
  const from = at + marker.length;
  if (!(marker in EMPHASIS) || /\s/.test(text[from] ?? " ")) return null;
  if (marker[0] === "_" && WORD.test(text[at - 1] ?? "")) return null;
  const close = closingMarker(text, marker, from);
  if (close < 0) return [marker, from];
  const inner = inline(text.slice(from, close), depth + 1);
  return [el(EMPHASIS[marker], {}, ...inner), close + marker.length];
}

// Images are linked, not loaded: nothing outside the server is fetched for a text.
function namedLink(text, at) {
  const found = match(LINK, text, text[at] === "!" ? at + 1 : at);
  const address = found && safeAddress(found[2]);
  return address ? [link(address, found[1] || address), LINK.lastIndex] : null;
}

function bareLink(text, at) {
  const found = match(BARE_LINK, text, at);
  if (!found) return null;
  const shown = found[1].replace(/[.,;:!?'*_)\]]+$/, "");
  const address = safeAddress(shown);
  const end = found[0].startsWith("<") ? BARE_LINK.lastIndex : at + shown.length;
  return address ? [link(address, shown), end] : null;
}

const RULES = {
  "\\": escape,
  "`": code,
  "*": emphasis,
  _: emphasis,
  "~": emphasis,
  "[": namedLink,
  "!": namedLink,
  "<": bareLink,
  h: bareLink,
  "\n": (text, at) => [el("br"), at + 1],
};

// The nodes and strings of a piece of text.
export function inline(text, depth = 0) {
  if (depth > MAX_DEPTH) return [text];
  const nodes = [];
  let plain = 0; // where text begins that is not in `nodes` yet
  SPECIAL.lastIndex = 0;
  for (let found = SPECIAL.exec(text); found; found = SPECIAL.exec(text)) {
    const at = found.index;
    const [node, end] = RULES[text[at]](text, at, depth) ?? [null, at + 1];
    if (node !== null) {
      nodes.push(text.slice(plain, at), node);
      plain = end;
    }
    SPECIAL.lastIndex = end; // rules use it too
  }
  nodes.push(text.slice(plain));
  return nodes.filter((node) => node !== "");
}
