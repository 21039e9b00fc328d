"""`mlxforge chat` on a terminal: pastes, keys typed while an answer streams, the system message."""

import os
import pty
import subprocess
import time

import binary
import pytest

EDITING, DONE = "\x1b[?2004h", "\x1b[?2004l"  # bracketed paste on and off: a line is being edited, and no longer
LINES = "What is the capital\nof France?\n\nAnswer in one short sentence: é, 😀."


class Terminal:
    """A chat on a terminal of its own."""

    def __init__(self, model):
        self.fd, child = pty.openpty()
        env = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        command = [str(binary.binary_path()), "chat", str(model)]
        self.process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True)
        os.close(child)
        self.shown = b""

    def __enter__(self):
        self.wait_for(EDITING)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)

    def wait_for(self, text, start=0, seconds=120):
        """Reads until `text` is shown, from byte `start` on."""
        end = time.monotonic() + seconds
        while text.encode() not in self.shown[start:]:
            assert time.monotonic() < end, f"waited for {text!r}, got {self.shown[start:]!r}"
            self.shown += os.read(self.fd, 4096)

    def type(self, text):
        os.write(self.fd, text.encode())

    def enter(self, text, meanwhile=""):
        """Ends the line with `text`; what is shown until the next line is edited. `meanwhile` is typed once the answer begins."""
        start = len(self.shown)
        self.type(text + "\r")
        self.wait_for(DONE, start)
        if meanwhile:
            begun = len(self.shown)
            while len(self.shown) == begun:
                self.shown += os.read(self.fd, 4096)
            self.type(meanwhile)
        self.wait_for(EDITING, start)
        reply = self.shown[start:].decode().split(DONE)[1].split(EDITING)[0]
        return reply.replace("\r\n", "\n").removesuffix("\n")

    def paste(self, text):
        """As terminals do: ends of lines arrive as Enter."""
        self.type("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")


@pytest.fixture
def terminal(smollm2_path):
    with Terminal(smollm2_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def answer(smollm2_server):
    """The server's answer to the same messages, greedy as in chat."""

    def ask(*messages):
        fields = {"messages": [{"role": role, "content": content} for role, content in messages], "temperature": 0}
        status, reply = smollm2_server.request("/v1/chat/completions", fields)
        assert status == 200, reply
        return reply["choices"][0]["message"]["content"]

    return ask


def test_a_pasted_text_is_one_message(terminal, answer):
    terminal.paste(LINES)
    assert terminal.enter("") == answer(("user", LINES))


def test_a_paste_is_part_of_the_line(terminal, answer):
    terminal.type("Repeat: ")
    terminal.paste("one\ntwo")
    assert terminal.enter(" three") == answer(("user", "Repeat: one\ntwo three"))


def test_a_pasted_text_is_no_command(terminal, answer):
    text = "/quit\nWhat is the capital of France?"
    terminal.paste(text)
    assert terminal.enter("") == answer(("user", text))


def test_keys_typed_meanwhile_do_not_show_in_the_answer(terminal, answer):
    question = "Count from one to ten."
    assert terminal.enter(question, meanwhile="zzz") == answer(("user", question))
    terminal.wait_for("zzz")  # they wait for the next line


def test_the_system_message_is_shown_set_and_taken_away(terminal, answer):
    question = "What is the capital of France?"
    assert "no system message" in terminal.enter("/system")
    assert "set" in terminal.enter("/system Answer in Spanish.")
    shown = terminal.enter("/system")
    assert "Answer in Spanish." in shown and "/nosystem" in shown
    assert terminal.enter(question) == answer(("system", "Answer in Spanish."), ("user", question))
    assert "no system message" in terminal.enter("/nosystem")
    assert terminal.enter(question) == answer(("user", question))
