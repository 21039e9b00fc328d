"""The chat page by keyboard, through a screen reader's tree, in low light and on a phone."""

import pytest
from browser import Page, chat
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# Wide code, a wide table and a long word.
TEXT = "# Title\n\nText with `code`, [a link](https://example.org)\n\n```py\n" + "x" * 300 + "\n```\n\n|a|b|\n|-|-|\n|" + "y" * 200 + "|2|\n\n" + "z" * 400
EVERYTHING = chat("Hello", TEXT)


@pytest.fixture
def page(browser, tiny_server):
    page = Page(browser, tiny_server.url)
    yield page
    assert page.complaints() == []


NAMED = {"button", "textbox", "spinbutton", "link", "progressbar", "dialog", "article", "navigation", "region"}


def nodes(page):
    """(role, name) of what assistive technology is shown."""
    tree = page.cdp("Accessibility.getFullAXTree")["nodes"]
    return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n["ignored"]]


def test_everything_has_a_role_and_a_name(page):
    page.open(EVERYTHING)
    for show in (lambda: None, lambda: page.press("Edit message", page.all(".user")[0]), lambda: page.press("Settings of this chat")):
        show()
        found = nodes(page)
        assert [n for n in found if n[0] in NAMED and not n[1].strip()] == []
        roles = {role for role, _ in found}
    assert {"dialog", "spinbutton", "textbox"} <= roles
    page.keys(Keys.ESCAPE)
    roles = [role for role, _ in nodes(page)]
    assert roles.count("main") == roles.count("navigation") == roles.count("banner") == 1 and roles.count("article") == 2
    assert page.js("return document.documentElement.lang") == "en"
    ids = page.js("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


LOW_CONTRAST = """
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c[3] !== 0) return c; } };
const low = [];
for (const e of document.querySelectorAll("body *")) {
  const texts = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!texts || !e.checkVisibility() || e.closest("svg, .skip, .visually-hidden")) continue;
  const [a, b] = [numbers(getComputedStyle(e).color), behind(e)].map(luminance).sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) low.push([e.outerHTML.slice(0, 90), (a + 0.05) / (b + 0.05)]);
}
return low;
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(page, theme):
    """4.5 to 1, WCAG 2's level AA for text."""
    page.open(EVERYTHING, **{"mlxforge.theme": theme})
    page.press("Settings of this chat")
    assert page.js(LOW_CONTRAST) == []


REACHED = {
    *("Skip to the message field", "New chat", "One", "Delete chat: Two", "Title of this chat", "Settings of this chat"),
    *("Copy message", "Edit message", "Regenerate answer", "Message"),
}


def test_by_keyboard_alone(page):
    page.open(chat("Hello", "Hello.", title="One"), chat("Bye", "Bye.", id="2", title="Two"))
    page.js("document.activeElement.blur()")
    page.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    missing = REACHED.copy()
    for _ in range(40):
        e = page.driver.switch_to.active_element
        missing -= {e.get_attribute("aria-label") or e.text}
        if missing:
            page.keys(Keys.TAB)
    assert not missing
    page.id("chat-2").send_keys(Keys.ENTER)
    assert page.messages() == ["Bye", "Bye."]
    page.keys(Keys.ALT, "n")
    assert page.messages() == [] and page.driver.switch_to.active_element == page.id("prompt")
    page.keys("a", Keys.SHIFT, Keys.ENTER, Keys.NULL, "b")
    assert page.id("prompt").get_attribute("value") == "a\nb" and page.messages() == []


def test_on_a_phone(page):
    page.cdp("Emulation.setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=1, mobile=True)
    page.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
    try:
        page.open(EVERYTHING)
        assert page.js("return [innerWidth, document.documentElement.scrollWidth, document.querySelector('#scroller').scrollWidth]") == [360] * 3
        assert not page.id("sidebar").is_displayed()
        small = page.js("return [...document.querySelectorAll('button')].filter((b) => b.checkVisibility() && !b.matches('.link, .chat')).map("
                        "(b) => b.getBoundingClientRect()).filter((r) => r.height < 40 || r.width < 40).length")
        assert small == 0
        page.press("Chats")
        page.wait(lambda: page.id("new-chat").is_displayed() and page.id("sidebar").rect["x"] == 0, "the drawer")
        page.press("New chat")
        page.wait(lambda: not page.id("sidebar").is_displayed(), "no drawer")
        page.press("Settings of this chat")
        assert page.js("return document.documentElement.scrollWidth") == 360 and page.id("settings").rect["width"] <= 360
    finally:
        page.cdp("Emulation.clearDeviceMetricsOverride")
        page.cdp("Emulation.setTouchEmulationEnabled", enabled=False)
