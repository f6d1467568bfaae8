"""Every page of the inspector, used by mouse and keyboard in Chromium (`make test-inspector`)."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inspected_memory import Inspector
from playwright.sync_api import Page, expect
from table import every_row

expect.set_options(timeout=60_000)  # the machine may be busy; only the last test is about speed

WIDTHS = {360: 760, 1024: 768, 1920: 1080}
PAGES = ["memories", "why", "graph", "timeline", "records", "opinions", "profile", "tasks", "doctor"]
# Seconds; `--strict-times` asserts the limits, which apply to an idle machine.
TIMES = {"first page": 1.0, "search": 0.15, "layout": 2.0, "task": 0.2}

LONG_TASKS = """
window.longest = 0
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration)
}).observe({ type: 'longtask' })
"""


def visit(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name.capitalize(), exact=False).click()
    expect(page.get_by_role("main").get_by_role("heading", level=1)).to_have_text(name.capitalize())


def search(page: Page, question: str) -> None:
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_role("status")).to_contain_text("confidence")


def test_a_question_finds_memories_and_one_is_opened_by_keyboard(page: Page) -> None:
    """/ focuses the search, arrow keys move through the results, Enter opens, Escape closes."""
    search(page, "What talk did Ada Brandt give?")
    rows = page.get_by_role("list", name="Results").locator("[data-row]")
    expect(rows.nth(5)).to_be_visible()
    expect(page.get_by_role("list", name="Results")).to_contain_text("meaning")
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    text = rows.nth(1).inner_text()
    page.keyboard.press("Enter")
    article = page.get_by_role("article", name="A memory")
    expect(article).to_contain_text(text[:40])
    for heading in ("Entities", "Versions", "Sources"):
        expect(article.get_by_role("heading", name=heading)).to_be_visible()
    page.keyboard.press("Escape")
    expect(article).to_have_count(0)


def test_as_of_shows_an_earlier_state(page: Page) -> None:
    """Moved to the left, the slider hides memories that were mentioned later."""
    status = page.get_by_role("main").get_by_role("status")
    expect(status).to_contain_text("the newest first")
    now = status.inner_text()
    slider = page.get_by_role("slider", name="As of")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("PageDown")
    expect(slider).not_to_have_attribute("aria-valuetext", "now")
    expect(status).not_to_have_text(now)
    assert "as_of=" in page.url
    page.keyboard.press("End")
    expect(status).to_have_text(now)


def test_filters_narrow_the_list_and_stay_in_the_address(page: Page) -> None:
    """A reloaded page shows the same filters."""
    page.get_by_role("button", name="opinion").click()
    status = page.get_by_role("main").get_by_role("status")
    expect(status).not_to_contain_text("10,")
    shown = status.inner_text()
    page.reload()
    expect(status).to_have_text(shown)
    expect(page.get_by_role("button", name="opinion")).to_have_attribute("aria-pressed", "true")


def test_the_graph_is_walked_by_keyboard_and_expanded(page: Page) -> None:
    """Neighbours are buttons; choosing one shows its own neighbours."""
    visit(page, "graph")
    status = page.get_by_text("laid out in")
    expect(status).to_be_visible()
    side = page.get_by_role("complementary", name="The selected node")
    before = side.locator("p").inner_text()
    side.locator("button.neighbour").first.focus()
    page.keyboard.press("Enter")
    expect(side.locator("p")).not_to_have_text(before)
    nodes = status.inner_text()
    side.get_by_role("button", name="Expand").click()
    expect(status).not_to_have_text(nodes)
    side.get_by_role("link", name="Open").click()
    expect(page.get_by_role("article", name="A memory")).to_be_visible()


def test_a_bar_of_the_timeline_lists_its_memories(page: Page) -> None:
    """The timeline works by occurrence and by mention, by mouse and by keyboard."""
    visit(page, "timeline")
    with page.expect_response(lambda answer: "by=mentioned" in answer.url):
        page.get_by_role("button", name="When it was mentioned").click()
    expect(page.get_by_text("without a time of their own")).to_have_count(0)
    bars = page.get_by_role("toolbar", name="Memories over time").get_by_role("button")
    bars.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("list", name="Memories of the period")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("status")).to_contain_text("memor")


def test_records_have_sums_and_lead_to_their_memories(page: Page) -> None:
    """A category has sums by period; a record links to its memory."""
    visit(page, "records")
    page.get_by_label("Kind").select_option("expense")
    expect(page.get_by_role("region", name="Sums")).to_contain_text("EUR")
    page.get_by_label("Period").select_option("year")
    expect(page.get_by_role("region", name="Sums").get_by_role("heading")).to_have_text("Sums by year")
    page.get_by_role("region", name="All records").get_by_role("link").first.click()
    expect(page.get_by_role("article", name="A memory")).to_contain_text("Records")


def test_the_evidence_of_an_opinion_is_followed(page: Page) -> None:
    """The opinion links to a fact that changed it, and the fact links back to the opinion."""
    visit(page, "opinions")
    expect(page.locator("svg[aria-hidden] path").first).to_have_attribute(
        "d", re.compile(r"^M[\d.]+ [\d.]+[HV\d.]+$")
    )
    opinion = page.get_by_role("article", name="An opinion")
    points = opinion.get_by_role("group", name="Confidence over time").get_by_role("button")
    expect(points.nth(1)).to_be_visible()
    points.nth(1).focus()
    page.keyboard.press("Enter")
    expect(opinion.locator("tr.lit")).to_have_count(1)
    text = opinion.locator("p").first.inner_text()
    opinion.locator("[data-evidence]").first.click()
    fact = page.get_by_role("article", name="A memory")
    fact.locator("section", has_text="Opinions based on it").get_by_role("link", name=text).click()
    expect(opinion.locator("p").first).to_have_text(text)


def test_why_shows_candidates_and_the_prompt(page: Page) -> None:
    """The page shows the block that an agent gets, the stages, and the outcome of every candidate."""
    visit(page, "why")
    page.keyboard.press("/")
    page.keyboard.type("What talk did Ada Brandt give?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Stages")).to_contain_text("ms")
    expect(page.get_by_role("region", name="The prompt block")).to_contain_text("MEMORIES")
    expect(page.get_by_role("region", name="Candidates")).to_contain_text("returned")


def test_profile_tasks_and_doctor_answer(page: Page) -> None:
    """The last three pages show their data."""
    visit(page, "profile")
    expect(page.get_by_role("meter").first).to_be_visible()
    visit(page, "tasks")
    expect(page.get_by_role("main")).to_contain_text("task")
    visit(page, "doctor")
    page.get_by_role("button", name="Verify all checksums").click()
    expect(page.get_by_role("main")).to_contain_text("all checksums are correct", timeout=120_000)


def test_no_change_is_offered_without_write(page: Page) -> None:
    """A read-only page has no button that would fail."""
    page.locator("[data-row]").first.click()
    article = page.get_by_role("article", name="A memory")
    expect(article.get_by_role("heading", name="Versions")).to_be_visible()
    for name in ("Withdraw", "Restore", "Edit", "Forget…"):
        expect(article.get_by_role("button", name=name)).to_have_count(0)


@pytest.fixture
def writing(opens: Callable[[Inspector], Page], memory: Path, tmp_path: Path) -> Iterator[Page]:
    """A tab on a copy of the memory that may be changed."""
    copy = tmp_path / "memory"
    shutil.copytree(memory, copy, ignore=shutil.ignore_patterns("ledger.pid", "ledger.lock"))
    inspector = Inspector(copy, "--write")
    page = opens(inspector)
    yield page
    page.close()  # first: what it still asks for would fail
    inspector.close()


def test_a_memory_is_withdrawn_restored_edited_and_forgotten(writing: Page) -> None:
    """Forget first shows what it would erase; cancelling erases nothing, and erasing removes the memory from the list."""
    page = writing
    page.locator("[data-row]").first.click()
    article = page.get_by_role("article", name="A memory")
    article.get_by_role("button", name="Withdraw").click()
    expect(article).to_contain_text("withdrawn")
    article.get_by_role("button", name="Restore").click()
    expect(article.get_by_role("button", name="Withdraw")).to_be_visible()
    article.get_by_role("button", name="Edit").click()
    article.get_by_role("textbox", name="Text").fill("<b>Wilma</b> has a goldfish.")
    article.get_by_role("button", name="Save").click()
    expect(article.locator("p.body")).to_have_text("<b>Wilma</b> has a goldfish.")
    article.get_by_role("button", name="Forget…").click()
    dialog = page.get_by_role("dialog", name="Erase permanently")
    expect(dialog).to_contain_text("This would erase 1 memory")
    expect(dialog).to_contain_text("<b>Wilma</b>")
    dialog.get_by_role("button", name="Keep").click()
    expect(article.locator("p.body")).to_contain_text("goldfish")
    article.get_by_role("button", name="Forget…").click()
    dialog.get_by_role("button", name="Erase").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("list", name="Memories")).not_to_contain_text("goldfish")


@every_row(("scheme", "width"), [(scheme, width) for scheme in ("light", "dark") for width in WIDTHS])
def test_no_page_is_wider_than_the_window(
    page: Page, reading: Inspector, request: pytest.FixtureRequest, scheme: str, width: int
) -> None:
    """From 360 pixels on; `--screenshots FOLDER` stores the pictures."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    for name in PAGES:
        page.goto(
            f"{reading.origin}/#/{name}?q=Ada+Brandt" if name == "why" else f"{reading.origin}/#/{name}"
        )
        expect(page.get_by_text("Reading…")).to_have_count(0)
        if name == "graph":
            expect(page.get_by_text("laid out in")).to_be_visible()
        if folder := request.config.getoption("--screenshots"):
            page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png")
        box = page.locator("main").bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width, name


def test_the_page_is_fast(
    page: Page, reading: Inspector, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first page, search, layout of 1,000 nodes, and the longest task while the graph is dragged."""
    took: dict[str, float] = {}
    expect(page.locator("[data-row]").first).to_be_visible()  # the bank is open
    page.add_init_script(LONG_TASKS)
    page.goto("about:blank")
    begun = time.perf_counter()
    page.goto(f"{reading.origin}/#/memories")
    expect(page.locator("[data-row]").first).to_be_visible()
    took["first page"] = time.perf_counter() - begun
    answers = []
    for question in ("Who ran a race in Oslo?", "What did Finn Moore pay?", "Where is the flat?"):
        with page.expect_response(lambda answer: "/api/search" in answer.url) as answered:
            page.get_by_role("searchbox").fill(question)
            page.keyboard.press("Enter")
        answered.value.finished()
        timing = answered.value.request.timing
        answers.append((timing["responseEnd"] - timing["requestStart"]) / 1000)
    took["search"] = sorted(answers)[1]
    page.goto(f"{reading.origin}/#/graph?limit=1000")
    status = page.get_by_text("laid out in")
    expect(status).to_be_visible()
    took["layout"] = float(status.inner_text().rpartition("laid out in ")[2].removesuffix(" ms")) / 1000
    canvas = page.locator(".canvas").bounding_box()
    assert canvas is not None
    x, y = canvas["x"] + 40, canvas["y"] + 40
    page.evaluate_handle("() => { window.longest = 0 }")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(x + 6 * step, y + 3 * step)
    page.mouse.up()
    took["task"] = page.evaluate("() => window.longest") / 1000
    with capsys.disabled():
        print("\n" + ", ".join(f"{name} {value:.3f} s" for name, value in took.items()))  # noqa: T201
    slack = 1 if request.config.getoption("--strict-times") else 10
    assert {name: value for name, value in took.items() if value > slack * TIMES[name]} == {}
