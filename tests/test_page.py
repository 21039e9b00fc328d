"""The chat page in a real browser, against the real server with SmolLM2."""

import base64
import hashlib
import re
import urllib.request

import pytest
from browser import Page, chat
from selenium.webdriver.common.keys import Keys
from serving import Server

FRANCE = "What is the capital of France?"
PARIS = "The capital of France is Paris."
STORY = "Write a very long story about a lighthouse."


@pytest.fixture
def page(browser, smollm2_server):
    page = Page(browser, smollm2_server.url)
    yield page
    assert page.complaints() == []


def test_the_policy_names_exactly_what_is_sent(smollm2_server):
    with urllib.request.urlopen(smollm2_server.url) as reply:
        html, policy = reply.read().decode(), reply.headers["Content-Security-Policy"]
        assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    for tag in ("style", "script"):
        [content] = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", html, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(https?:)?//""", html), "something from outside"


def test_a_message_is_answered(page):
    page.open(chat(temperature=0))
    assert page.ask(FRANCE) == PARIS
    assert re.fullmatch(r"7 tokens · \d+(\.\d)? tokens/s · first after \d+\.\d\d s", page.all(".assistant .facts")[0].text)
    assert page.id("meter-text").text == "44 of 2,048 tokens"
    assert page.id("model").text == "SmolLM2-135M-Instruct.Q4_1"
    assert page.driver.switch_to.active_element == page.id("prompt") and page.id("prompt").get_attribute("value") == ""
    assert page.id("announcer").get_attribute("textContent") == PARIS


WATCH = """
window.seen = [];
new MutationObserver(() => {
  const text = document.querySelector(".assistant .text")?.textContent;
  if (text && text !== seen.at(-1)) seen.push(text);
}).observe(document.body, {subtree: true, childList: true, characterData: true});
"""


def test_an_answer_streams(page):
    page.open(chat(temperature=0, max_tokens=100))
    page.js(WATCH)
    page.ask(STORY)
    seen = page.js("return seen")
    assert len(seen) > 5 and all(later.startswith(earlier) for earlier, later in zip(seen, seen[1:])), seen


def test_stop(page, smollm2_server):
    page.open(chat(temperature=0))
    for stop in (lambda: page.press("Stop"), lambda: page.keys(Keys.ESCAPE)):
        page.say(STORY)
        page.wait(lambda: page.all(".writing .text")[-1].text, "the first words")
        stop()
        assert page.answer()
        assert page.all(".assistant .facts")[-1].text == "Stopped"
        smollm2_server.wait_idle()
    assert len(page.messages()) == 4


def test_regenerate_and_undo(page):
    page.open(chat(FRANCE, "I do not know.", temperature=0))
    page.press("Regenerate answer")
    page.wait(lambda: page.messages()[-1].startswith("The"), "another answer")
    assert page.answer() == PARIS and page.toast().startswith("Answer replaced.")
    page.press("Undo")
    assert page.messages() == [FRANCE, "I do not know."]


def test_edit(page):
    page.open(chat("What is the capital of Spain?", "Madrid.", "And of Italy?", "Rome.", temperature=0))
    page.press("Edit message", page.all(".user")[0])
    area = page.driver.switch_to.active_element
    assert area.get_attribute("value") == "What is the capital of Spain?"
    area.clear()
    area.send_keys(FRANCE, Keys.ENTER)
    page.wait(lambda: len(page.messages()) == 2 and page.messages()[1], "the answer")
    assert page.answer() == PARIS and page.messages()[0] == FRANCE
    page.press("Undo")
    assert page.messages() == ["What is the capital of Spain?", "Madrid.", "And of Italy?", "Rome."]
    page.press("Edit message", page.all(".assistant")[-1])
    page.keys(" Naples.")
    page.press("Save")
    assert page.messages()[-1] == "Rome. Naples." and len(page.messages()) == 4
    page.press("Edit message", page.all(".user")[0])
    page.keys("x", Keys.ESCAPE)
    assert page.messages()[0] == "What is the capital of Spain?"
    assert page.driver.switch_to.active_element.get_attribute("aria-label") == "Edit message"


def test_two_chats_survive_a_reload(page):
    page.open(chat(temperature=0, max_tokens=4))
    first = page.ask(FRANCE)
    page.press("New chat")
    second = page.ask("Name a colour.")
    page.id("title").clear()
    page.id("title").send_keys("Colours", Keys.ENTER)
    page.driver.refresh()
    assert page.titles() == ["Colours", "A chat"] and page.messages() == ["Name a colour.", second]
    page.press("A chat")
    assert page.messages() == [FRANCE, first]
    page.press("Delete chat: A chat")
    assert page.titles() == ["Colours"] and page.messages() == []
    page.press("Undo")
    assert page.titles() == ["A chat", "Colours"] and page.messages() == [FRANCE, first]
    page.press("Delete chat: Colours")
    page.driver.refresh()
    assert page.titles() == ["A chat"] and page.messages() == [FRANCE, first]


def test_an_answer_goes_on_behind_another_chat(page):
    page.open(chat(title="Story", temperature=0, max_tokens=60), chat("Hello", "Hello.", id="2", title="Other"))
    page.say(STORY)
    page.wait(lambda: page.all(".writing .text")[-1].text, "the first words")
    page.press("Other")
    assert page.messages() == ["Hello", "Hello."] and page.id("send").is_displayed()
    page.press("Story")
    assert len(page.answer()) > 100 and page.all(".facts")[-1].text.startswith("Cut off at the token limit · 60 tokens")


def test_another_tab(page):
    page.open(chat("Hello", "Hello."))
    page.driver.switch_to.new_window("tab")
    page.driver.get(f"{page.url}/#1")
    page.press("Edit message", page.all(".assistant")[0])
    page.keys(" Here.")
    page.press("Save")
    page.driver.close()
    page.driver.switch_to.window(page.driver.window_handles[0])
    page.wait(lambda: page.messages() == ["Hello", "Hello. Here."], "the other tab's edit")


# --- settings ----------------------------------------------------------------------------------------------------------------


def test_settings_are_sent_and_kept(page):
    page.open(chat(title="One"))
    page.press("Settings of this chat")
    for name, value in {"system": "Answer briefly.", "set-temperature": "0", "set-max_tokens": "3", "set-top_k": "5"}.items():
        page.id(name).send_keys(value)
    page.press("Done")
    assert page.driver.switch_to.active_element == page.id("settings-open")
    page.ask(FRANCE)
    assert page.all(".facts")[-1].text.startswith("Cut off at the token limit · 3 tokens")
    page.driver.refresh()
    page.press("New chat")
    page.press("Settings of this chat")
    assert page.id("system").get_attribute("value") == "Answer briefly." and page.id("set-max_tokens").get_attribute("value") == "3"
    page.id("set-top_p").send_keys("7")
    assert page.id("set-top_p").get_attribute("aria-invalid") == "true"
    page.press("Reset")
    assert [page.id(i).get_attribute("value") for i in ("system", "set-max_tokens", "set-top_p")] == ["", "", ""]
    page.keys(Keys.ESCAPE)
    assert not page.id("settings").is_displayed()


def background(page):
    return page.js("return getComputedStyle(document.body).backgroundColor")


def test_dark_and_light(page):
    colours = {}
    for system in ("light", "dark"):
        page.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": system}])
        page.open()
        colours[system] = background(page)
    assert colours == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 23, 26)"}
    page.press("Theme: system. Change to light")
    page.driver.refresh()
    assert background(page) == colours["light"]
    page.press("Theme: light. Change to dark")
    page.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    assert background(page) == colours["dark"]
    page.press("Theme: dark. Change to system")
    assert background(page) == colours["light"]


# --- what goes wrong ---------------------------------------------------------------------------------------------------------


def test_a_full_browser_is_told_and_the_chat_goes_on(page):
    page.open(chat(temperature=0), junk="")
    page.js("""let text = "x".repeat(1 << 22); for (; text.length; text = text.slice(text.length / 2 + 1))
        try { for (;;) localStorage.setItem("junk", localStorage.getItem("junk") + text) } catch {}""")
    assert page.ask(FRANCE) == PARIS
    assert "no room" in page.id("banner").text
    page.js("localStorage.removeItem('junk')")
    page.ask("And of Italy?")
    assert not page.id("banner").is_displayed()
    page.driver.refresh()
    assert len(page.messages()) == 4


def test_a_refused_request_says_why(page):
    page.open(chat("q " * 3000, "", temperature=0))
    page.press("Regenerate answer")
    assert page.wait(lambda: page.all(".message .note")[-1].text, "an error").split("\n")[0] and "2048" in page.all(".message .note")[-1].text
    assert page.complaints() and page.button("Try again")
    page.press("Edit message", page.all(".user")[0])
    area = page.driver.switch_to.active_element
    page.js("arguments[0].value = arguments[1]", area, FRANCE)
    page.press("Send", page.all(".editor")[0])
    page.wait(lambda: page.messages()[-1:] == [PARIS], "an answer")


def test_a_server_that_goes_and_comes_back(browser, smollm2_path):
    with Server(smollm2_path, "--max-ctx", "512") as server:
        page = Page(browser, server.url).open(chat(temperature=0))
        page.wait(lambda: page.id("model").text.startswith("SmolLM2"), "the model's name")
    page.say(FRANCE)
    page.wait(lambda: "The server cannot be reached." in page.all(".message .note")[-1].text, "an error")
    with Server(smollm2_path, "--max-ctx", "512", "--port", str(server.port)):
        page.press("Try again")
        page.wait(lambda: page.messages()[-1] == PARIS, "an answer")
    assert page.complaints()  # the browser names the refused connection


def test_asks_for_the_key(browser, smollm2_path):
    with Server(smollm2_path, "--max-ctx", "512", "--api-key", "secret") as server:
        page = Page(browser, server.url).open(chat(temperature=0))
        page.wait(lambda: page.id("key-dialog").is_displayed(), "the question")
        assert not page.id("key-wrong").is_displayed() and page.driver.switch_to.active_element == page.id("key")
        page.keys("wrong", Keys.ENTER)
        page.wait(lambda: page.id("key-wrong").is_displayed(), "the question again")
        page.keys("secret", Keys.ENTER)
        page.wait(lambda: page.id("model").text.startswith("SmolLM2"), "the model's name")
        assert page.ask(FRANCE) == PARIS
        page.driver.refresh()
        page.wait(lambda: page.id("model").text.startswith("SmolLM2"), "the model's name")
        assert page.js("return JSON.stringify(localStorage).includes('secret')") is False
        page.js("sessionStorage.clear()")
        page.driver.refresh()
        page.wait(lambda: page.id("key-dialog").is_displayed(), "the question")
        page.press("Cancel")
        page.wait(lambda: "API key" in page.id("model").text, "the server's words")
    assert all("401" in line for line in page.complaints())
