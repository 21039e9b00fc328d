"""Takes docs/chat-page.png: the chat page in Chromium, with what SmolLM2 answers. `make screenshot` runs it; looks best where Debian's
fonts-inter is installed."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "reference"), str(ROOT / "tests")]

from browser import Page, chat, chromium  # noqa: E402
from serving import Server  # noqa: E402
from smollm2 import model_path  # noqa: E402

SIZE = {"width": 1200, "height": 620, "deviceScaleFactor": 1, "mobile": False}
LIMIT = 200_000  # bytes
OTHERS = ["Lighthouses of Brittany", "A name for a grey cat", "How rain forms"]


def take(path):
    with Server(model_path(), "--max-ctx", "2048") as server, chromium() as driver:
        page = Page(driver, server.url)
        page.cdp("Emulation.setDeviceMetricsOverride", **SIZE)
        page.open(chat(title="Reversing a string", temperature=0), *(chat("Hello", "Hello.", id=title, title=title) for title in OTHERS))
        page.ask("Write a Python function that reverses a string.")
        page.js("document.activeElement.blur()")
        driver.save_screenshot(str(path))
    assert path.stat().st_size < LIMIT, path.stat().st_size


take(ROOT / "docs" / "chat-page.png")
