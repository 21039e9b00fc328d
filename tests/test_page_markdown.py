"""What the chat page makes of Markdown, beside markdown-it; and that text stays text."""

import random
from html.parser import HTMLParser

import pytest
from browser import Page, chat
from markdown_it import MarkdownIt

ORACLE = MarkdownIt("commonmark", {"breaks": True, "html": False}).enable(["table", "strikethrough"])
RENAMED = {f"h{n}": f"h{min(n + 2, 6)}" for n in range(1, 7)} | {"s": "del"}  # the page has an h1 and h2 of its own
FLAT = {"thead", "tbody", "div"}
VOID = {"br", "hr", "img"}

DOCUMENTS = {
    "paragraphs": "One\nline.\n\nTwo *em*, **strong**, ***both***, ~~gone~~, `code`, ``a ` b``.",
    "not emphasis": "2 * 3 * 4, snake_case_name, a_b_c, ** x ** 5*, \\*no\\*, *open",
    "nested emphasis": "*a **b** c* and **a *b* c** and _a_ and __b__",
    "headings": "# One\n## Two\n### Three ##\n#No\n###### Six",
    "bullets": "- a\n- b\n  - c\n  - d\n    more\n- e",
    "numbers": "3. three\n4. four\n\n   still four\n5. five",
    "numbers and bullets": "1. one\n   - a\n   - b\n2. two\n\n* x\n* y",
    "a list after text": "Take:\n- a\n- b\n\nDone.",
    "tasks": "1. **Bold**: text\n\n2. **More**: `x`\n\nEnd",
    "code": "```python\ndef f():\n    return '<b>'\n\nf()\n```\nafter",
    "tildes": "~~~\n```\n~~~",
    "code in a list": "- a\n\n  ```\n  x\n    y\n  ```\n- b",
    "unfinished code": "text\n```c\nint x;",
    "quote": "> a\n> **b**\n>\n> - c\n\nd",
    "rule": "a\n\n---\n\nb\n\n***",
    "table": "| a | b |\n|:--|--:|\n| *1* | 2 |\n| x \\| y | |\n\nend",
    "links": "[name](https://example.org/a?b=c) <https://example.org> [mail](mailto:a@example.org)",
    "html": "<b>bold</b> <script>alert(1)</script> <img src=x onerror=alert(1)>",
}


class Tree(HTMLParser):
    """HTML as nested lists [tag, child, ...], text joined, what only dresses it left out."""

    def __init__(self, html, renamed={}):
        super().__init__()
        self.renamed = renamed
        self.stack = [["root"]]
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        node = [self.renamed.get(tag, tag)]
        if tag == "a":
            node[0] += " " + dict(attributes)["href"]
        if tag == "ol":
            node[0] += " " + dict(attributes).get("start", "1")
        self.stack[-1].append(node)
        if tag not in VOID:
            self.stack.append(node)

    def handle_endtag(self, tag):
        if tag not in VOID:
            self.stack.pop()

    def handle_data(self, data):
        self.stack[-1].append(data)


def tidy(node):
    """Space between blocks, an item's <p>, and wrappers mean nothing."""
    tag, *children = node
    out = [tag]
    for child in children:
        if isinstance(child, str):
            text = child if tag == "code" else child.strip("\n")
            if text.strip() and isinstance(out[-1], str) and len(out) > 1:
                out[-1] += text
            elif text.strip():
                out.append(text)
            continue
        child = tidy(child)
        flat = child[0] in FLAT or (child[0] == "p" and tag.startswith("li"))
        out += child[1:] if flat else [child]
    return [tag] + [c.rstrip("\n") if isinstance(c, str) and tag == "code" else c for c in out[1:]]


SHOWN = """
return [...document.querySelectorAll(".assistant .text")].map((text) => {
  const copy = text.cloneNode(true);
  copy.querySelectorAll(".code-head").forEach((head) => head.remove());
  return copy.outerHTML;
});
"""
# What the page may build of a text, beside the icons of its buttons.
ELEMENTS = set("P BR HR H3 H4 H5 H6 UL OL LI BLOCKQUOTE DIV PRE CODE EM STRONG DEL A TABLE THEAD TBODY TR TH TD SPAN BUTTON svg use".split())


@pytest.fixture
def page(browser, tiny_server):
    page = Page(browser, tiny_server.url)
    yield page
    assert page.complaints() == []


def show(page, texts):
    """The page with a chat whose answers are these texts."""
    page.open(chat(*[content for text in texts for content in ("Hello", text)]))


def test_as_markdown_it_renders_it(page):
    show(page, DOCUMENTS.values())
    shown = {name: tidy(Tree(html).stack[0][1])[1:] for name, html in zip(DOCUMENTS, page.js(SHOWN))}
    assert shown == {name: tidy(Tree(ORACLE.render(text), RENAMED).stack[0])[1:] for name, text in DOCUMENTS.items()}


# A server whose answer is arguments[0], seven characters a frame of the screen.
ANSWER = """
const pieces = arguments[0].match(/[^]{1,7}/g).map((content) => JSON.stringify({choices: [{delta: {content}}]}));
const events = [...pieces, "[DONE]"].map((data) => new TextEncoder().encode(`data: ${data}\\n\\n`));
window.fetch = async () => new Response(new ReadableStream({async pull(stream) {
  await new Promise(requestAnimationFrame);
  if (events.length) stream.enqueue(events.shift());
  else stream.close();
}}));
"""


def test_a_growing_answer_ends_as_the_whole_one(page):
    """Whatever it looked like on the way."""
    text = "\n\n".join(DOCUMENTS.values())
    show(page, [text])
    page.js(ANSWER, text)
    page.ask("Again")
    whole, grown = page.js(SHOWN)
    assert grown == whole


HOSTILE = [
    "<img src=x onerror='window.hacked=1'>",
    "<script>window.hacked=1</script>",
    "</div></article><iframe src='javascript:parent.hacked=1'></iframe>",
    "[x](javascript:window.hacked=1) [y](JaVaScRiPt:hacked=1) [z](data:text/html,<script>hacked=1</script>) [v](vbscript:x)",
    "[x]( javascript:hacked=1) [x](java\tscript:hacked=1) [x](//evil.example/) [x](/v1/models) <javascript:hacked=1>",
    "![x](https://example.org/x.png) ![y](x.png)",
    "```html\n<script>window.hacked=1</script>\n```",
    "`<script>window.hacked=1</script>`",
    "| <b onclick=hacked=1>a</b> |\n|--|\n| <style>*{display:none}</style> |",
    "```\"><script>window.hacked=1</script>\nx\n```",
    "<a href='https://example.org' onmouseover='hacked=1'>x</a>",
    "https://example.org/\"onmouseover=hacked=1",
]


def test_markup_is_inert(page):
    """In what the user says, what the model says, and the title."""
    page.open(*[chat(text, text, title=text, id=str(i)) for i, text in enumerate(HOSTILE)])
    for i, text in enumerate(HOSTILE):
        page.js("document.getElementById('chat-' + arguments[0]).click()", str(i))
        assert page.js("return document.querySelector('.user .text').textContent") == text
        assert page.js("return document.querySelector('#title').value") == text.replace("\n", "")[:60] or len(text) > 60
        assert set(page.js("return [...document.querySelectorAll('.message .text *')].map((e) => e.nodeName)")) <= ELEMENTS
        links = page.js("return [...document.querySelectorAll('.text a')].map((a) => [a.protocol, a.rel, a.getAttributeNames().sort().join()])")
        assert all(link == ["https:", "noopener noreferrer", "href,rel,target"] for link in links), links
    assert page.js("return window.hacked") is None
    assert page.js("return performance.getEntriesByType('resource').every((r) => r.name.startsWith(location.origin))")


def test_any_text_is_shown(page):
    """Random strings of what Markdown is made of: nothing throws, every letter is there in its order."""
    rng = random.Random(7)
    pieces = ["a", "b", " ", "  ", "\n", "\n\n", "*", "**", "_", "`", "```", "~~~", "# ", "- ", "1. ", "> ", "|", "|-|", "[", "](", ")", "<", "\\", "\t", "é"]
    texts = ["".join(rng.choices(pieces, k=rng.randrange(1, 60))) for _ in range(300)]
    show(page, texts)
    shown = page.js("return [...document.querySelectorAll('.assistant .text')].map((e) => e.textContent)")
    for text, got in zip(texts, shown):
        if "```" not in text and "~~~" not in text and "](" not in text:  # whose languages and addresses are not in the text
            assert [c for c in got if c in "abé"] == [c for c in text if c in "abé"], text


def test_long_and_deep_texts_take_no_time(page):
    show(page, ["*a" * 20000, "`a``" * 8000, "[" * 20000, "> " * 5000 + "x", "  - x\n" * 3000, "\n".join("  " * i + "- x" for i in range(200)), "|a" * 5000 + "\n" + "|-" * 5000])
    assert len(page.all(".message")) == 14


def test_copying(page):
    page.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    show(page, ["Text\n\n```c\nint x;\n\tint y;\n```\n"])
    clipboard = "return navigator.clipboard.readText()"
    page.press("Copy code")
    page.wait(lambda: page.js(clipboard) == "int x;\n\tint y;", "the code")
    page.press("Copy message")
    page.wait(lambda: page.js(clipboard) == "Text\n\n```c\nint x;\n\tint y;\n```\n", "the message")
    page.js("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # as on a page that is not secure
    page.press("Copy code")
    page.wait(lambda: page.id("announcer").get_attribute("textContent") == "Copied", "the other way of copying")
