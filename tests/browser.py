"""Debian's Chromium without a screen, driven by selenium, and the chat page in it."""

import contextlib
import json

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from serving import wait_for

FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--window-size=1280,800"]


@contextlib.contextmanager
def chromium():
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        yield driver
    finally:
        driver.quit()


def chat(*contents, id="1", title="A chat", **settings):
    """A chat as the page keeps it; contents are the user's and the assistant's in turn."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(contents)]
    return {"id": id, "title": title, "updated": 1, "settings": settings, "messages": messages}


class Page:
    """What a user sees and does."""

    def __init__(self, driver, url):
        self.driver, self.url = driver, url

    def open(self, *chats, **stored):
        """The page in a browser that keeps these chats, the first of them open."""
        kept = {f"mlxforge.chat.{c['id']}": json.dumps(c) for c in chats} | stored
        self.driver.get(f"{self.url}/")
        self.js("localStorage.clear(); sessionStorage.clear(); for (const k in arguments[0]) localStorage.setItem(k, arguments[0][k])", kept)
        self.js("location.hash = arguments[0]", chats[0]["id"] if chats else "")
        self.driver.refresh()
        return self

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def wait(self, condition, what):
        def check():
            with contextlib.suppress(NoSuchElementException, StaleElementReferenceException):
                return condition()

        return wait_for(check, what)

    def id(self, name):
        return self.driver.find_element(By.ID, name)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def button(self, name, within=None):
        """The last visible button of that name; the pointer moves there, as some show only then."""
        found = (within or self.driver).find_elements(By.XPATH, f".//button[@aria-label='{name}' or normalize-space()='{name}']")
        shown = [b for b in found if b.is_displayed()]
        assert shown, f"no button '{name}'"
        webdriver.ActionChains(self.driver, duration=0).move_to_element(shown[-1]).perform()
        return shown[-1]

    def press(self, name, within=None):
        """Again where the page replaced the button meanwhile."""
        self.wait(lambda: self.button(name, within).click() or True, f"the button '{name}'")

    def keys(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def say(self, text):
        self.id("prompt").send_keys(text, Keys.ENTER)

    def ask(self, text):
        """Says it and waits for the whole answer, which it returns."""
        before = len(self.messages())
        self.say(text)
        self.wait(lambda: len(self.messages()) == before + 2, "an answer's beginning")
        return self.answer()

    def answer(self):
        self.wait(lambda: not self.all("[aria-busy=true]"), "an answer's end")
        return self.messages()[-1]

    def messages(self):
        return [e.text for e in self.all(".message .text")]

    def titles(self):
        return [e.text for e in self.all(".chat")]

    def toast(self):
        return self.id("toast").text

    def complaints(self):
        """What the browser says about the page since the last call: errors, violations of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
