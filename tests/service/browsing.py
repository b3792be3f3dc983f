"""A real browser for the tests of the page, and what a page of the service is asked there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
IMAGES = Path(__file__).parents[2] / "docs" / "images"
MOST_IMAGE_BYTES = 150_000
PATIENCE = 15_000  # milliseconds; the machine may be busy

expect.set_options(timeout=PATIENCE)


def browser_path() -> str | None:
    """Return the browser that is installed, if any."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def launch(playwright: Playwright) -> Browser:
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=browser_path(), args=arguments)


class Tab:
    """A page of the service in a browser. What the browser complains of is kept in `complaints`."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()  # parts of complaints that the test causes
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(f"{error}"))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} {message.location.get('url', '')}")

    def open(self, place: str = "#/") -> Page:
        """Open a place, as one who follows a link from elsewhere."""
        self.page.goto("about:blank")
        self.page.goto(self.address + place)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until nothing is loading."""
        expect(self.page.locator("h1")).to_be_visible()
        expect(self.page.locator(".loading")).to_have_count(0)

    def faults(self) -> list[str]:
        """Return what axe-core finds wrong for people who use other means than a screen and a mouse."""
        found: dict[str, Any] = Axe().run(self.page).response
        assert len(found["passes"]) > 5  # it has looked
        return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found["violations"]]

    def is_too_wide(self) -> bool:
        """Tell whether one has to scroll sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))

    def photograph(self, name: str) -> None:
        """Write the picture for the docs, if RULEDEX_SCREENSHOTS asks for it."""
        if os.environ.get("RULEDEX_SCREENSHOTS") == "1":
            path = IMAGES / f"page-{name}.png"
            self.page.screenshot(path=path)
            assert path.stat().st_size < MOST_IMAGE_BYTES, path


@contextmanager
def open_tab(browser: Browser, address: str, token: str | None, **options: Any) -> Iterator[Tab]:
    """Open a tab with a storage of its own. At the end it must have nothing to complain of that is not expected."""
    context = browser.new_context(**({"viewport": WIDE, "color_scheme": "light"} | options))
    if token is not None:
        # An empty page, from which the tab starts, has no storage.
        context.add_init_script(f"location.protocol !== 'about:' && sessionStorage.setItem('ruledex-token', '{token}')")
    context.set_default_timeout(PATIENCE)
    tab = Tab(context.new_page(), address)
    try:
        yield tab
        told = [one for one in tab.complaints if not any(part in one for part in tab.expected)]
        assert told == [], told
    finally:
        context.close()
