"""The reasoning of a model on the chat page, in a real browser."""

import json

import pytest
from browser import Page, chat
from scripted_model import scripted_model
from selenium.webdriver.common.keys import Keys
from serving import Server
from test_reasoning import ASKS, THINKS


@pytest.fixture
def page(browser, tmp_path):
    with Server(scripted_model(tmp_path / "thinks", THINKS, ASKS), "--max-ctx", "512") as server:
        page = Page(browser, server.url)
        yield page
        assert page.complaints() == []


def test_reasoning_stands_in_a_block_that_opens(page):
    page.open(chat(temperature=0))
    assert page.ask("hi") == "It is four!"

    def check_block():
        block, = page.all(".assistant .reasoning")
        summary, thoughts = page.all(".assistant .reasoning > *")
        assert summary.text == "Reasoning" and block.get_attribute("open") is None and not thoughts.is_displayed()
        summary.send_keys(Keys.ENTER)
        assert thoughts.text == "Two and two."

    check_block()
    page.driver.refresh()
    check_block()
    assert [block.is_displayed() for block in page.all(".user .reasoning")] == [False]


def test_the_next_request_has_it(page):
    page.open(chat(temperature=0))
    page.ask("hi")
    page.js("const real = fetch; window.bodies = []; window.fetch = (url, options) => { bodies.push(options?.body); return real(url, options); }")
    page.ask("hi")
    messages = json.loads(page.js("return bodies")[0])["messages"]
    assert messages[1] == {"role": "assistant", "content": "It is four!", "reasoning_content": "Two and two."}
