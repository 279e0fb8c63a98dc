"""Open a real headless browser, for tests of what a browser shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from optional import needs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The first is Chromium without the window, which takes half the processor time of `chromium --headless`.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Open the installed Chromium. Without it the test is skipped with the command that installs it."""
    needs("playwright")
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium-headless-shell")
    with sync_playwright() as playwright:
        # Run as root, for example in a container, Chromium cannot use its sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()
