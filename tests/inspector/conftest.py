"""The inspector in Chromium, started from the command line on a bank of 10,000 memories."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import pytest
from inspected_memory import Inspector, cached_memory
from playwright.sync_api import BrowserContext, Page, sync_playwright

# None: the browser that `playwright install` installed
CHROMIUM = which("chromium") or which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--memory", help="inspect this memory, with a bank locomo, instead of a made one")
    parser.addoption("--screenshots", help="keep a picture of every page in this folder")
    parser.addoption(
        "--strict-times", action="store_true", help="assert the times that hold on an idle machine"
    )


@pytest.fixture(scope="session")
def memory(request: pytest.FixtureRequest) -> Path:
    """The memory to inspect; a made one is kept in this environment for the next run."""
    path = request.config.getoption("--memory")
    return Path(path) if path else cached_memory(Path(sys.prefix) / "inspected-memory")


@pytest.fixture(scope="session")
def reading(memory: Path) -> Iterator[Inspector]:
    inspector = Inspector(memory)
    yield inspector
    inspector.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"),
            executable_path=CHROMIUM,
            headless=True,
            args=FLAGS,
            viewport={"width": 1280, "height": 800},
        )
        yield context
        context.close()


Opens = Callable[[Inspector], Page]


@pytest.fixture
def opens(browser: BrowserContext) -> Iterator[Opens]:
    """Opens the printed address in a tab, which must neither report a problem nor send requests to another host."""
    pages: list[Page] = []
    problems: list[str] = []

    def opened(inspector: Inspector) -> Page:
        page = browser.new_page()
        pages.append(page)
        page.on(
            "console",
            lambda message: problems.append(message.text) if message.type in {"error", "warning"} else None,
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(inspector.origin) else problems.append(request.url)
            ),
        )
        page.goto(inspector.address)
        return page

    yield opened
    for page in pages:
        page.close()
    assert problems == []


@pytest.fixture
def page(opens: Opens, reading: Inspector) -> Page:
    return opens(reading)
