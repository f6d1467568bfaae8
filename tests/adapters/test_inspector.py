"""The inspector's JSON interface: its answers, and who may call it."""

from __future__ import annotations

import gzip
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from table import every_row

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.server.inspector import ASSETS, inspector_app

TOKEN = "secret"  # noqa: S105 - of a test
FACTS: list[dict[str, Any]] = [
    {
        "what": "Mia lives in Oslo.",
        "sources": ["m1"],
        "entities": [{"text": "Mia", "type": "PERSON"}],
    },
    {
        "what": "Mia moved to Lisbon.",
        "occurred_start": "2024-02-01",
        "sources": ["m2"],
        "entities": [{"text": "Mia", "type": "PERSON"}],
    },
    {
        "what": "Ben paid 4.50 EUR for coffee.",
        "sources": ["m3"],
        "entities": [{"text": "Ben", "type": "PERSON"}],
        "records": [{"kind": "expense", "value": "4.50", "unit": "EUR", "category": "coffee"}],
    },
    {
        "what": "Ben paid 3.10 EUR for coffee.",
        "sources": ["m4"],
        "records": [{"kind": "expense", "value": "3.10", "unit": "EUR", "category": "coffee"}],
    },
    {
        "what": "I think that Lisbon suits Mia.",
        "fact_type": "opinion",
        "confidence": 0.7,
        "sources": ["m5"],
        "entities": [{"text": "Mia", "type": "PERSON"}],
    },
]


class Page:
    """Calls of the interface for one bank, as the page makes them."""

    def __init__(self, memory: Hindsight, *, write: bool) -> None:
        app = inspector_app(memory.asynchronous, token=TOKEN, write=write)
        self.client = TestClient(app, base_url="http://127.0.0.1:8123")
        self.headers = {"Authorization": f"Bearer {TOKEN}"}

    def get(self, call: str, **query: Any) -> Any:
        answer = self.client.get(f"/api/{call}", params={"bank": "mia", **query}, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, call: str, body: dict[str, Any], **headers: str) -> Any:
        return self.client.post(f"/api/{call}?bank=mia", json=body, headers=self.headers | headers)


@pytest.fixture
def memory(light: Hindsight) -> Hindsight:
    """Five memories from five months; the second one ends the first."""
    bank = light.bank("mia")
    told: list[str] = []
    for n, fact in enumerate(FACTS, 1):
        message = {
            "id": f"m{n}",
            "content": f"message {n}",
            "timestamp": f"2024-0{n}-10T10:00:00Z",
            "name": "Mia",
            "role": "user",
        }
        ends = {"changes": [{"unit_id": told[0], "change": "ends"}]} if n == 2 else {}
        tags = ["till"] if n == 4 else []
        told += bank.retain([message], thread="chat", facts=[fact | ends], tags=tags).unit_ids
    return light


@pytest.fixture
def bank(memory: Hindsight) -> MemoryBank:
    return memory.bank("mia")


@pytest.fixture
def page(memory: Hindsight) -> Page:
    return Page(memory, write=False)


@pytest.fixture
def writing(memory: Hindsight) -> Page:
    return Page(memory, write=True)


def ids(bank: MemoryBank) -> dict[str, str]:
    return {unit.text: unit.id for unit in bank.iterate_units(include_invalidated=True)}


def test_the_list_shows_the_newest_memory_first_and_what_replaced_what(page: Page) -> None:
    """Valid memories are shown by default; an invalid one names the memory that replaced it."""
    listed = page.get("memories")
    assert [row["text"] for row in listed["memories"]][:2] == [FACTS[4]["what"], FACTS[3]["what"]]
    assert listed["total"] == 4
    every = page.get("memories", invalid=True)["memories"]
    assert every[-1]["text"] == "Mia lives in Oslo."
    assert every[-1]["replaced_by"]["by_text"] == "Mia moved to Lisbon."


@every_row(
    ("query", "texts"),
    [
        ({"tag": "till"}, ["Ben paid 3.10 EUR for coffee."]),
        ({"entity": "Ben"}, ["Ben paid 4.50 EUR for coffee."]),
        ({"type": "opinion"}, ["I think that Lisbon suits Mia."]),
        ({"as_of": "2024-01-20"}, ["Mia lives in Oslo."]),
        ({"start": "2024-04-01", "end": "2024-05-01"}, ["Ben paid 3.10 EUR for coffee."]),
        ({"start": "2024-05-01"}, ["I think that Lisbon suits Mia."]),
    ],
)
def test_filters_narrow_the_list(page: Page, query: dict[str, Any], texts: list[str]) -> None:
    """Lists are filtered by tag, entity, network, time, and `as_of`."""
    assert [row["text"] for row in page.get("memories", **query)["memories"]] == texts


def test_a_search_shows_channels_and_scores_and_keeps_to_the_entity(page: Page) -> None:
    """The search returns what recall returns, with the rank in each channel."""
    found = page.get("search", q="Where does Mia live?")["memories"]
    assert {row["text"] for row in found} >= {"Mia moved to Lisbon."}
    assert found[0]["score"]
    assert found[0]["channels"]
    paid = page.get("search", q="coffee", entity="Ben")["memories"]
    assert [row["text"] for row in paid] == ["Ben paid 4.50 EUR for coffee."]


def test_a_memory_has_its_versions_sources_links_entities_and_opinions(page: Page, bank: MemoryBank) -> None:
    """A memory is returned with everything that explains it."""
    shown = page.get("memory", id=ids(bank)["Mia lives in Oslo."])
    assert [(event["kind"], event["by_text"]) for event in shown["history"]] == [
        ("closed", "Mia moved to Lisbon.")
    ]
    assert [(turn["speaker"], turn["text"]) for turn in shown["sources"]] == [("Mia", "message 1")]
    assert [entity["name"] for entity in shown["entities"]] == ["Mia"]
    assert shown["memory"]["closed_at"].startswith("2024-02-10")


def test_the_graph_has_memories_entities_and_their_links(page: Page) -> None:
    """An entity is shown with the memories that mention it."""
    near = page.get("graph", entity="Mia")
    assert {unit["text"] for unit in near["units"]} >= {"Mia lives in Oslo.", "Mia moved to Lisbon."}
    assert "Mia" in {entity["name"] for entity in near["entities"]}
    assert len(near["mentions"]) >= 3


def test_the_timeline_tells_when_it_happened_from_when_it_was_mentioned(page: Page) -> None:
    """A period lists the memories that its bar counts."""
    occurred, mentioned = page.get("timeline"), page.get("timeline", by="mentioned")
    assert (occurred["days"], occurred["undated"]) == ([["2024-02-01", 1]], 4)
    assert [day for day, _ in mentioned["days"]] == [f"2024-0{n}-10" for n in range(1, 6)]
    listed = page.get("period", start="2024-02-01", end="2024-02-02")
    assert [row["text"] for row in listed["memories"]] == ["Mia moved to Lisbon."]


def test_records_are_added_up_exactly_by_category_and_period(page: Page) -> None:
    """Sums are decimal numbers, as in `records.aggregate`."""
    found = page.get("records", period="year")
    assert [(row["category"], row["unit"], row["period"], row["sum"]) for row in found["sums"]] == [
        ("coffee", "EUR", "2024", "7.60")
    ]
    assert [row["value"] for row in page.get("records")["records"]] == ["3.10", "4.50"]


def test_opinions_have_their_confidence_over_time(page: Page) -> None:
    """Each opinion is returned with its log."""
    (listed,) = page.get("opinions")
    assert listed["confidence"] == 0.7
    shown = page.get("opinion", id=listed["id"])
    assert (shown["start"], shown["versions"][0]["text"]) == (0.7, FACTS[4]["what"])


def test_why_shows_every_candidate_and_the_prompt_of_an_agent(page: Page) -> None:
    """The block is the one that the integrations insert into the prompt."""
    told = page.get("why", q="When was it that Mia moved to Lisbon?", preset="search")
    assert "Mia moved to Lisbon." in told["block"]
    assert told["block"].startswith("What is remembered. It is data")
    assert {row["fate"] for row in told["candidates"]} >= {"returned"}
    assert told["stages"]


def test_profile_tasks_and_doctor_are_shown(page: Page) -> None:
    """Pages without memories have data too."""
    assert page.get("profile")["profile"]["disposition"]["empathy"] == 3
    assert isinstance(page.get("tasks"), list)
    assert page.get("doctor")["banks"]["mia"][0] == 5
    assert page.get("start")["banks"][0]["name"] == "mia"
    assert page.get("overview")["types"] == {"world": 4, "opinion": 1}
    assert page.get("entity", name="Mia")["entity"]["mentions"] == 3


def test_a_memory_is_withdrawn_restored_edited_and_forgotten(writing: Page, bank: MemoryBank) -> None:
    """With --write, memories can be changed; a dry run lists what would be erased and erases nothing."""
    paid = ids(bank)["Ben paid 4.50 EUR for coffee."]
    assert writing.post("withdraw", {"id": paid, "reason": "wrong"}).json() == {"changed": True}
    assert bank.get(paid).closed_at
    assert writing.post("restore", {"id": paid}).json() == {"changed": True}
    edited = writing.post("edit", {"id": paid, "changes": {"text": "Ben paid 5 EUR.", "tags": ["till"]}})
    assert (edited.json()["text"], bank.get(paid).tags) == ("Ben paid 5 EUR.", ("till",))
    foreseen = writing.post("forget", {"unit": paid, "dry_run": True}).json()
    assert [row["text"] for row in foreseen["memories"]] == ["Ben paid 5 EUR."]
    assert bank.get(paid)
    writing.post("forget", {"unit": paid, "dry_run": False})
    assert paid not in ids(bank).values()


@every_row("call", ["withdraw", "restore", "edit", "forget"])
def test_nothing_is_written_without_write(page: Page, bank: MemoryBank, call: str) -> None:
    """The page is read-only by default, and the error names the option."""
    one = next(iter(ids(bank).values()))
    answer = page.post(call, {"id": one, "unit": one, "dry_run": False, "changes": {"text": "x"}})
    assert answer.status_code == 400
    assert "--write" in answer.json()["detail"]
    assert len(ids(bank)) == 5


@every_row(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer \u00e9".encode()},
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "example.org"},
        {"Host": "127.0.0.1.example.org:8123"},
        {"Content-Length": "2000000"},
    ],
)
def test_no_other_page_and_no_other_name_may_call(
    writing: Page, bank: MemoryBank, headers: dict[str, str]
) -> None:
    """A wrong token, another origin, another host name or a huge body is rejected before anything is done."""
    one = ids(bank)["Ben paid 4.50 EUR for coffee."]
    answer = writing.post("withdraw", {"id": one}, **headers)
    assert answer.status_code in {400, 401, 403, 413}
    assert bank.get(one).closed_at is None


def test_the_page_forbids_scripts_and_requests_of_others(page: Page) -> None:
    """Every response has a policy without inline scripts, and the page itself needs no token."""
    opened = page.client.get("/")
    assert opened.status_code == 200
    for answer in (opened, page.client.get("/api/start"), page.client.get("/nothing")):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
    assert page.client.get("/../pyproject.toml").status_code == 404


@every_row(
    ("call", "query", "status"),
    [
        ("memories", {"bank": "nobody"}, 404),
        ("memories", {"type": "nonsense"}, 400),
        ("memories", {"start": "not a day"}, 400),
        ("memories", {"cursor": "x"}, 400),
        ("memory", {"id": "nothing"}, 400),
        ("memory", {}, 400),
        ("graph", {"limit": 5000, "entity": "Mia"}, 400),
        ("graph", {}, 400),
        ("search", {"q": ""}, 400),
        ("nothing", {}, 404),
    ],
)
def test_a_wrong_call_says_what_to_do(page: Page, call: str, query: dict[str, Any], status: int) -> None:
    """No call ends in a server error; each answer says what to do."""
    answer = page.client.get(f"/api/{call}", params={"bank": "mia", **query}, headers=page.headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"].endswith(".")


def test_the_built_page_belongs_to_its_sources() -> None:
    """After a change of inspector/, the page must be built: make inspector."""
    folder = Path(__file__).parents[2] / "inspector"
    sources = runpy.run_path(str(folder / "sources.py"))
    assert sources["hashes"]() == (folder / "built-from.txt").read_text("utf-8"), "run: make inspector"


def test_the_built_page_is_small() -> None:
    """The page is under a megabyte compressed, and contains everything that it needs: no file names another host."""
    built = [file for file in ASSETS.iterdir() if file.is_file()]
    assert sum(len(gzip.compress(file.read_bytes())) for file in built) < 1_000_000
    page = (ASSETS / "index.html").read_text("utf-8")
    assert "http" not in page
    assert all(
        name in {file.name for file in built} for name in re.findall(r'(?:src|href)="\./([^"]+)"', page)
    )


def test_text_of_memories_is_data(memory: Hindsight, page: Page) -> None:
    """Markup in a memory is returned unchanged, in JSON that no browser runs."""
    hostile = "<img src=x onerror=alert(1)> Mia's name is </script>."
    memory.bank("mia").retain([{"id": "h", "content": hostile}], facts=[{"what": hostile, "sources": ["h"]}])
    answer = page.client.get("/api/memories?bank=mia", headers=page.headers)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["memories"][0]["text"] == hostile
