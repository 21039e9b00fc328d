// Markdown to nodes: paragraphs, headings, lists, quotes, code, tables, rules. A renderer for what
// models write, not for all of CommonMark. Text cannot become markup: see dom.js.

import { copyButton } from "./clipboard.js";
import { el } from "./dom.js";
import { inline } from "./markdown_inline.js";

const MAX_NESTING = 6; // lists and quotes within each other; deeper ones are plain paragraphs
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^[ \t]*([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const BLANK = /^\s*$/;

const indentOf = (line) => /^[ \t]*/.exec(line)[0].replaceAll("\t", "    ").length;
const dedent = (line, by) => " ".repeat(Math.max(indentOf(line) - by, 0)) + line.trimStart();
const isNumbered = (line) => /^\s*\d/.test(line);
const closesFence = (line, mark) => line.trim().startsWith(mark) && !line.trim().replaceAll(mark[0], "");

// --- where blocks begin and end: each returns the line after the block ---------------------------
function endOfFence(lines, start) {
  const mark = FENCE.exec(lines[start])[1];
  const close = lines.findIndex((line, i) => i > start && closesFence(line, mark));
  return close < 0 ? lines.length : close + 1; // one still being written has no end yet
}

function endOfRun(lines, start, belongs) {
  let end = start + 1;
  while (end < lines.length && belongs(lines[end], end)) end++;
  return end;
}

// An item's later lines are indented; blank lines belong to it when something of the list follows.
function endOfList(lines, start) {
  const base = indentOf(lines[start]);
  const isItem = (line) => ITEM.test(line) && !RULE.test(line) && isNumbered(line) === isNumbered(lines[start]);
  const inside = (line) => indentOf(line) > base + 1 || isItem(line);
  return endOfRun(lines, start, (line, i) => {
    if (!BLANK.test(line)) return inside(line) || (!BLANK.test(lines[i - 1]) && !begins(lines, i));
    const next = lines.slice(i).find((other) => !BLANK.test(other));
    return next !== undefined && inside(next);
  });
}

// A line of cells, and below it as many dashes.
function isTable(lines, i) {
  const [head, rule] = [lines[i], lines[i + 1] ?? ""];
  return head.includes("|") && TABLE_RULE.test(rule) && cells(head).length === cells(rule).length;
}

const KINDS = [
  { is: (lines, i) => FENCE.test(lines[i]), end: endOfFence, render: fence },
  { is: (lines, i) => HEADING.test(lines[i]), end: (lines, i) => i + 1, render: heading },
  { is: (lines, i) => RULE.test(lines[i]), end: (lines, i) => i + 1, render: () => el("hr") },
  { is: (lines, i) => QUOTE.test(lines[i]), end: (lines, i) => endOfRun(lines, i, (l) => QUOTE.test(l)), render: quote },
  { is: (lines, i) => ITEM.test(lines[i]), end: endOfList, render: list },
  { is: isTable, end: (lines, i) => endOfRun(lines, i + 1, (l) => l.includes("|")), render: table },
];
const PARAGRAPH = {
  end: (lines, i) => endOfRun(lines, i, (line, j) => !BLANK.test(line) && !begins(lines, j)),
  render: (lines) => el("p", {}, ...inline(lines.map((line) => line.trim()).join("\n"))),
};

const kindAt = (lines, i) => KINDS.find((kind) => kind.is(lines, i));
const begins = (lines, i) => kindAt(lines, i) !== undefined;

// [{kind, lines}] of consecutive blocks.
function split(lines, depth) {
  const blocks = [];
  for (let i = 0; i < lines.length; ) {
    const kind = (depth < MAX_NESTING && kindAt(lines, i)) || PARAGRAPH;
    const end = BLANK.test(lines[i]) ? i + 1 : kind.end(lines, i);
    if (!BLANK.test(lines[i])) blocks.push({ kind, lines: lines.slice(i, end) });
    i = end;
  }
  return blocks;
}

const render = (lines, depth) => split(lines, depth).map((block) => block.kind.render(block.lines, depth));

// --- blocks ---------------------------------------------------------------------------------------
// What is wider than the page scrolls by itself, by keyboard too.
const scrollable = (tag, label, ...children) => el(tag, { tabindex: 0, role: "region", "aria-label": label }, ...children);

function fence(lines) {
  const [, mark, language] = FENCE.exec(lines[0]);
  const closed = lines.length > 1 && closesFence(lines.at(-1), mark);
  const code = lines.slice(1, closed ? -1 : undefined).join("\n");
  const head = el("div", { class: "code-head" }, el("span", {}, language || "text"), copyButton("Copy code", () => code));
  return el("div", { class: "code" }, head, scrollable("pre", `Code, ${language || "text"}`, el("code", {}, code)));
}

// The page's own headings are h1 and h2.
function heading(lines) {
  const [, marks, text] = HEADING.exec(lines[0]);
  return el(`h${Math.min(marks.length + 2, 6)}`, {}, ...inline(text));
}

function quote(lines, depth) {
  return el("blockquote", {}, ...render(lines.map((line) => line.replace(QUOTE, "")), depth + 1));
}

function list(lines, depth) {
  const base = indentOf(lines[0]);
  const items = [];
  for (const line of lines) {
    const marker = ITEM.exec(line);
    if (marker && indentOf(line) <= base + 1) items.push({ width: marker[0].length, lines: [line.slice(marker[0].length)] });
    else items.at(-1).lines.push(dedent(line, items.at(-1).width));
  }
  const tag = isNumbered(lines[0]) ? ["ol", { start: parseInt(lines[0].trim(), 10) }] : ["ul", {}];
  return el(...tag, ...items.map((item) => el("li", {}, ...itemContent(item.lines, depth + 1))));
}

// A lone paragraph in an item stands without the space around paragraphs.
function itemContent(lines, depth) {
  const nodes = render(lines, depth);
  const tight = !lines.some((line) => BLANK.test(line));
  return tight && nodes[0]?.tagName === "P" ? [...nodes[0].childNodes, ...nodes.slice(1)] : nodes;
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines) {
  const sides = cells(lines[1]).map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "centre" : "right") : "left"));
  const row = (line, tag) =>
    el("tr", {}, ...cells(line).map((cell, i) => el(tag, { class: sides[i] ?? "left" }, ...inline(cell))));
  const head = el("thead", {}, row(lines[0], "th"));
  const body = el("tbody", {}, ...lines.slice(2).map((line) => row(line, "td")));
  return scrollable("div", "Table", el("table", {}, head, body));
}

// Shows `text` in `target`. Of what a growing text showed before, only changed blocks are replaced.
export function showMarkdown(target, text) {
  const shown = (target.markdownBlocks ??= []);
  const blocks = split(text.split("\n"), 0);
  blocks.forEach((block, i) => {
    const source = block.lines.join("\n");
    if (shown[i] === source) return;
    shown[i] = source;
    const node = block.kind.render(block.lines, 0);
    if (target.children[i]) target.children[i].replaceWith(node);
    else target.append(node);
  });
  shown.length = blocks.length;
  while (target.children.length > blocks.length) target.lastElementChild.remove();
}
