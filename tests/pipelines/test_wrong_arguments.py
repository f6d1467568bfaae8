"""Every argument of every public method with invalid values: an error with a remedy, or the call works.

The sync API is generated from the async one, so only one is tested. A method or argument missing from the
table fails a test here.
"""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from served import served
from table import every_row

from hindsight_integrations import (
    BankProfile,
    BigFive,
    Disposition,
    Document,
    Hindsight,
    HindsightConfig,
    HindsightError,
    Interval,
    InvalidRequest,
    MemoryBank,
    Message,
    MinScores,
    RecallOptions,
    ReflectOptions,
    RetainItem,
    StorageError,
    TagAnd,
    TagLeaf,
    TagNot,
    TagOr,
)
from hindsight_integrations.langgraph import HindsightRetriever as LangChainRetriever
from hindsight_integrations.langgraph import create_recall_node
from hindsight_integrations.llamaindex import HindsightQueryEngine, HindsightRetriever
from hindsight_integrations.model.options import RECALL_DEFAULTS, REFLECT_DEFAULTS
from hindsight_integrations.sync import (
    Archive,
    Directives,
    Entities,
    Items,
    Maintenance,
    MentalModels,
    Opinions,
    Profile,
    Records,
    ReflectStages,
    Tasks,
    Threads,
)
from hindsight_integrations.testing.doubles import HashEmbedder

BEGINNING, END = datetime.min, datetime.max  # noqa: DTZ901 - naive ones are what is tried
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))

WRONG: list[Callable[[], Any]] = [
    *(lambda value=value: value for value in (
        None, True, 0, 5, -1, 10**400, 10**5000, 2**63, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "\x00",
        "x" * 200_000, b"bytes", [], [None], [5], ["x"], ["\ud800"], [[]], [10**5000], (), (1,), (1, 2), (None, None),
        ("2024", "2025"), ("2025", "2024"), {}, {"a": 1}, {1: 2}, {"a": None}, {"a": 10**5000}, {"\ud800": "\ud800"},
        {1, 2}, object(), [object()], Ellipsis, 1j, Exception, BEGINNING, END, datetime.max.replace(tzinfo=WEST),
        datetime.min.replace(tzinfo=EAST),
    )),
    lambda: iter([1]),
]  # fmt: skip
"""Wrong values, each made anew: an iterator is used up."""

UNIT = "the id of a memory"  # placeholder for an object that a test creates
NOTHING: Any = None
LIST: Any = ["a"]

ANSWERED: Any = {
    "query": "plums", "asked_at": "2024-05-01T00:00:00Z", "operation": "", "revision": 1, "candidates": [], "moves": [],
    "reflection": {"text": "Plums.", "opinions": [], "calls": 0, "tokens_in": 0, "tokens_out": 0},
}  # fmt: skip

Calls = dict[str, Callable[[Any, Any], object]]


def options(verb: str, names: str, /, **fixed: Any) -> Calls:
    """A call for each option of a method of the bank, with defaults for the others; a dot leads into a namespace."""

    def call_of(name: str) -> Callable[[Any, Any], object]:
        def call(bank: Any, value: Any) -> object:
            face = bank
            for part in verb.split("."):
                face = getattr(face, part)
            found = face(**{**fixed, name: value})
            return list(found) if isinstance(found, Iterator) else found

        return call

    return {f"{verb}({name})": call_of(name) for name in names.split()}


FILTERS = "entity types window as_of tags tags_match tag_groups metadata include_invalidated"
RECORDS = "kind category unit window as_of tags tags_match tag_groups"
SELECTORS = "unit units document entity names window everything thread message text before"

VERBS: Calls = {
    **options("retain", "context timestamp thread document_id entities tags metadata facts append about_agent "
              "on_model_failure background extraction_timeout_s", content="Some text."),
    **options("retain", "content"),
    **options("threads.follow", "messages", thread="t"),
    **options("threads.follow", "thread namespace on_fork roles context tags metadata on_model_failure background "
              "extraction_timeout_s extract remember", messages=[{"role": "user", "content": "Some text.", "id": "m9"}], thread="t"),
    **options("items.get", "keys"),
    **options("items.get", "refresh", keys=[(("a",), "k")]),
    **options("items.write", "writes"),
    **options("items.search", "prefix query limit offset refresh"),
    **options("items.search", "where"),
    **options("items.namespaces", "prefix"),
    **options("items.forget", "namespace key", namespace=("nothing",)),
    **options("items.expire", ""),
    **options("retain_many", "items"),
    **options("retain_many", "progress batch_size", items=[RetainItem("Some text.")]),
    **options("recall", "query"),
    **options("recall", "max_tokens budget types tags tags_match tag_groups metadata embedding window as_of query_timestamp "
              "include_invalidated k min_scores include_entities max_entity_tokens include_chunks max_chunk_tokens "
              "include_source_facts max_source_fact_tokens include_records max_record_tokens "
              "text relevance order trace include_core speaker", query="plums"),
    **options("reflect", "query"),
    **options("reflect", "strategy budget max_tokens max_answer_tokens response_schema tools context form_opinions operation "
              "tags tags_match tag_groups window as_of query_timestamp", query="plums"),
    **options("reflect_stream", "query"),
    **options("reflect_stream", "strategy budget max_tokens max_answer_tokens response_schema tools context form_opinions operation "
              "tags tags_match tag_groups window as_of query_timestamp", query="plums"),
    **options("reflect_stages.recall", "query"),
    **options("reflect_stages.recall", "options", query="plums"),
    **options("reflect_stages.think", "underway options", underway={}),
    **options("reflect_stages.call_tool", "underway options", underway={}),
    **options("reflect_stages.answer", "underway options", underway={}),
    **options("reflect_stages.assess", "given options", given={}),
    **options("reflect_stages.commit", "given approved options", given=ANSWERED),
    **options("with_profile", "profile"),
    **options("get", "unit_id"),
    **options("document_items", "unit_id"),
    **options("document_items", "as_of", unit_id=UNIT),
    **options("sources", "unit_id"),
    **options("neighbours", "unit_id"),
    **options("neighbours", "entity limit", unit_id=None),
    **options("history", "unit_id"),
    **options("withdraw", "unit_id"),
    **options("withdraw", "reason", unit_id=UNIT),
    **options("restore", "unit_id"),
    **options("edit", "unit_id", tags=["x"]),
    **options("edit", "text occurred tags metadata", unit_id=UNIT),
    **options("forget", SELECTORS, dry_run=True),
    **options("forget", "dry_run", window=("1800", "1801")),
    **options("forget", "tags", before="1800-01-01", dry_run=True),
    **options("units", f"{FILTERS} newest_first limit offset cursor"),
    **options("iterate_units", FILTERS),
    **options("records.list", f"{RECORDS} include_invalidated"),
    **options("records.aggregate", "how"),
    **options("records.aggregate", RECORDS, how="sum"),
    **options("records.categories", "kind"),
    **options("records.merge", "kind", keep="coffee", merge="tea"),
    **options("records.merge", "keep", kind="expense", merge="tea"),
    **options("records.merge", "merge", kind="expense", keep="coffee"),
    **options("records.split", "kind", name="coffee", spellings=["x"]),
    **options("records.split", "name", kind="expense", spellings=["x"]),
    **options("records.split", "spellings", kind="expense", name="coffee"),
    **options("profile.get", "as_of"),
    **options("profile.set", "profile"),
    **options("profile.set", "since", profile=BankProfile("Ada")),
    **options("profile.restore", "number"),
    **options("profile.merge_background", "text"),
    **options("opinions.list", "entity tags tags_match include_closed as_of as_of_revision"),
    **options("opinions.get", "opinion_id"),
    **options("opinions.get", "as_of as_of_revision", opinion_id=UNIT),
    **options("opinions.history", "opinion_id"),
    **options("opinions.history", "as_of as_of_revision", opinion_id=UNIT),
    **options("opinions.trajectory", "opinion_id"),
    **options("opinions.forget", "opinion_id"),
    **options("mental_models.create", "name", question="What of plums?"),
    **options("mental_models.create", "question", name="plums"),
    **options("mental_models.create", "tags trigger max_tokens", name="plums", question="What of plums?"),
    **options("mental_models.get", "name"),
    **options("mental_models.refresh", "name"),
    **options("mental_models.delete", "name"),
    **options("directives.add", "text"),
    **options("directives.add", "tags", text="Be brief."),
    **options("directives.remove", "directive_id"),
    **options("entities.list", "prefix limit"),
    **options("entities.observations", "name"),
    **options("entities.merge", "keep", merge="Bob"),
    **options("entities.merge", "merge", keep="Bob"),
    **options("entities.split", "name", names=["x"]),
    **options("entities.split", "names", name="Alice Chen"),
    **options("entities.alias", "name", alias="Zed"),
    **options("entities.alias", "alias", name="Alice Chen"),
    **options("entities.undo", "change_id"),
    **options("archive.export", "target"),
    **options("archive.load", "source"),
    **options("maintenance.edits", "unit_id"),
}  # fmt: skip


def each(label: str, keys: Iterable[str], call: Callable[[str, Any, Any], object]) -> Calls:
    """A call for each of these keys."""
    return {f"{label}{key}": partial(call, key) for key in keys}


def fields(kind: type) -> list[str]:
    return [*inspect.signature(kind).parameters]


FACT = "what when where who why fact_type occurred_start occurred_end entities causal_relations sources invalidates records record"
SAID = [Message("Hello.", "Bob", id="f")]

INSIDE: Calls = {
    "a message of a list": lambda bank, value: bank.retain([value]),
    **each("Message.", fields(Message), lambda key, bank, value: bank.retain([Message(**{"text": "Hi.", key: value})])),
    **each("Document.", fields(Document), lambda key, bank, value: bank.retain(Document(**{"text": "Hi.", key: value}))),
    "a message that is followed": lambda bank, value: bank.threads.follow([value], thread="t", roles=["user", "tool"]),
    **each(
        "followed.", ("role", "content", "id", "name", "tool_call_id", "tool_calls", "status", "timestamp", "additional_kwargs"),
        lambda key, bank, value: bank.threads.follow(
            [{"role": "tool", "content": "Hi.", "tool_call_id": "c1", key: value}], thread="t", roles=["user", "tool"]
        ),
    ),
    **each(
        "call.", ("id", "name", "args", "function"),
        lambda key, bank, value: bank.threads.follow(
            [
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "find", "args": {}, key: value}]},
                {"role": "tool", "content": "Hi.", "tool_call_id": "c1"},
            ],
            thread="t", roles=["user", "tool"],
        ),
    ),
    "a block of content": lambda bank, value: bank.retain([{"role": "user", "content": [value]}]),
    "text of a block": lambda bank, value: bank.retain([{"role": "user", "content": [{"text": value}]}]),
    **each(
        "dict.", ("role", "content", "id", "name", "speaker", "timestamp"),
        lambda key, bank, value: bank.retain([{"role": "user", "content": "Hi.", key: value}]),
    ),
    **each(
        "RetainItem.", fields(RetainItem),
        lambda key, bank, value: raise_failures(bank.retain_many([RetainItem(**{"content": "Hi.", key: value})])),
    ),
    **each("facts[0].", FACT.split(), lambda key, bank, value: bank.retain(SAID, facts=[{"what": "Hi.", key: value}])),
    **each(
        "record.", ("kind", "category", "value", "unit"),
        lambda key, bank, value: bank.retain(SAID, facts=[{"what": "Hi.", "record": {"kind": "k", "value": "1", key: value}}]),
    ),
    **each("min_scores.", fields(MinScores), lambda key, bank, value: bank.recall("plums", min_scores={key: value})),
    **each("MinScores.", fields(MinScores), lambda key, bank, value: bank.recall("plums", min_scores=MinScores(**{key: value}))),
    "window[0]": lambda bank, value: bank.recall("plums", window=(value, "2025")),
    "TagLeaf": lambda bank, value: bank.recall("plums", tag_groups=TagLeaf(value)),
    "TagAnd": lambda bank, value: bank.recall("plums", tag_groups=TagAnd(value)),
    "TagOr": lambda bank, value: bank.recall("plums", tag_groups=TagOr(value)),
    "TagNot": lambda bank, value: bank.recall("plums", tag_groups=TagNot(value)),
    **each("BankProfile.", fields(BankProfile), lambda key, bank, value: bank.profile.set(BankProfile(**{key: value}))),
    **each(
        "Disposition.", fields(Disposition),
        lambda key, bank, value: bank.profile.set(BankProfile(disposition=Disposition(**{key: value}))),
    ),
    **each(
        "BigFive.", fields(BigFive),
        lambda key, bank, value: bank.profile.set(BankProfile(disposition=BigFive(**{key: value}))),
    ),
    "Interval": lambda bank, value: Interval(value, value),
}  # fmt: skip


def raise_failures(result: Any) -> None:
    """Raise the errors of a bulk retain."""
    for _, error in result.failed:
        raise error


@pytest.fixture
def engine(
    opener: Callable[..., Hindsight], light_config: HindsightConfig, monkeypatch: Any, tmp_path: Path
) -> Hindsight:
    monkeypatch.chdir(tmp_path)
    return opener(config=light_config)


def told(engine: Hindsight, name: str) -> MemoryBank:
    """A bank with one memory."""
    bank = engine.bank(name)
    bank.retain([Message("Alice Chen likes plums.", "Bob", id="m1")], entities=["Alice Chen"])
    return bank


@pytest.fixture
def bank(engine: Hindsight) -> MemoryBank:
    return told(engine, "b")


def check(name: str, call: Callable[[Any], object]) -> None:
    """Check that an invalid value gives an error of this package, not a storage error, of at most one screen."""
    for make in WRONG:
        value = make()
        try:
            call(value)
        except OSError:  # a possible path: the operating system says what is wrong
            assert name in ("archive.export(target)", "archive.load(source)", "open(path)")
        except HindsightError as error:
            refused: HindsightError = error
            assert len(str(refused)) < 1_500
            assert name.startswith("open(") or not isinstance(refused, StorageError)


@pytest.mark.promise("Every error says what to do.")
@every_row("name", [*VERBS, *INSIDE])
def test_a_wrong_argument_says_what_to_do_or_works(engine: Hindsight, name: str) -> None:
    """No value makes a method raise anything but an error of this package; the bank still works afterwards."""
    bank = told(engine, f"bank of {name}")
    (unit,) = [unit.id for unit in bank.units().units]
    edit = bank.edit
    call = {**VERBS, **INSIDE}[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(bank),
            "edit",
            lambda _, unit_id, **changes: edit(unit if unit_id == UNIT else unit_id, **changes),
        )
        check(name, lambda value: call(bank, value))
    bank.recall("plums")
    out = io.StringIO()
    assert bank.archive.export(out) == bank.count()


@pytest.mark.parametrize("verb", ["bank", "forget_bank", "copies", "forget_holder"])
def test_a_wrong_bank_says_what_to_do_or_works(engine: Hindsight, verb: str) -> None:
    """Names of banks and ids of holders are validated by the method that takes them."""
    check(verb, getattr(engine, verb))
    check("create", lambda value: engine.bank("c", create=value))


OPENING = [
    "model",
    "embeddings",
    "reranker",
    "config",
    "read_only",
    "worker",
    "accept_loss",
    "clock",
    "time_parser",
    "redact",
    "cache",
]


@every_row("option", ["path", *OPENING])
def test_a_wrong_setting_says_what_to_do_or_works(
    light_config: HindsightConfig, option: str, monkeypatch: Any, tmp_path: Path
) -> None:
    """The error says why the engine cannot be opened."""
    monkeypatch.chdir(tmp_path)
    given = {"path": ":memory:", "config": light_config, "embeddings": HashEmbedder(), "reranker": None}
    check(f"open({option})", lambda value: Hindsight.open(**{**given, option: value}).close())


CONNECTING = ["url", "token", "timeout_s"]


@every_row("option", CONNECTING)
def test_a_wrong_argument_of_connect_says_what_to_do_or_works(engine: Hindsight, option: str) -> None:
    """A client that cannot connect says why, before and after it has reached the server."""
    with served(engine) as url:
        check(
            f"connect({option})",
            lambda value: Hindsight.connect(
                **{"url": url, "token": None, "timeout_s": 60.0, option: value}
            ).close(),
        )


@pytest.mark.promise("Every error says what to do.")
def test_every_method_and_argument_is_tried() -> None:
    """The table above contains every parameter of every public method; a new one must be added."""
    missing = []
    namespaces = {
        "": MemoryBank,
        "entities.": Entities,
        "tasks.": Tasks,
        "threads.": Threads,
        "items.": Items,
        "archive.": Archive,
        "maintenance.": Maintenance,
        "profile.": Profile,
        "records.": Records,
        "opinions.": Opinions,
        "reflect_stages.": ReflectStages,
        "mental_models.": MentalModels,
        "directives.": Directives,
    }
    for prefix, face in namespaces.items():
        for verb, member in inspect.getmembers(face, inspect.isfunction):
            if verb.startswith("_"):
                continue
            names = [name for name in inspect.signature(member).parameters if name not in ("self", "face")]
            missing += [f"{prefix}{verb}({name})" for name in names if f"{prefix}{verb}({name})" not in VERBS]
    assert missing == []
    assert [*inspect.signature(Hindsight.open).parameters] == ["path", *OPENING]
    assert [*inspect.signature(Hindsight.connect).parameters] == CONNECTING


@pytest.mark.promise("Every error says what to do.")
@every_row(
    ("call", "message"),
    [
        (lambda bank: bank.retain("x", thread=None), "thread: it is NoneType, not text"),
        (lambda bank: bank.retain("x", metadata=["a"]), "metadata: it is list, not a mapping"),
        (lambda bank: bank.retain("x", metadata="a"), "metadata: it is str, not a mapping"),
        (lambda bank: bank.retain("x", entities=5), "entities: it is int, not a list"),
        (lambda bank: bank.retain("x", entities="Alice"), "entities: 'Alice' is a single str"),
        (lambda bank: bank.entities.list(5), "prefix: it is int, not text"),
        (lambda bank: bank.retain([Message(NOTHING)]), "text of message 0: it is NoneType, not text"),
        (lambda bank: bank.retain([Message("x", id=LIST)]), "id of message 0: it is list, not an id"),
        (lambda bank: bank.get(["a"]), "unit_id: it is list, not an id"),
        (lambda bank: bank.forget(unit=["a"]), "unit: it is list, not an id"),
        (lambda bank: bank.recall("x", min_scores={"semantic": 10**400}), "min_scores.semantic: 1000.* is not a number from -1"),
        (lambda bank: bank.recall("x", window=(1,)), r"window: \(1,\) is not \(start, end\)"),
        (lambda bank: bank.archive.export("a\ud800"), "target: it is not a valid file name"),
        (lambda bank: Hindsight.connect("localhost:8888"), "url: 'localhost:8888' is not an HTTP address. Pass the \"http://HOST:PORT\""),
        (lambda bank: Hindsight.connect("http://localhost:port"), "url: .* is not an HTTP address"),
        (lambda bank: Hindsight.connect("http://localhost", token="é"), "token: it contains characters other than visible ASCII"),  # noqa: S106 - the mistake
        (lambda bank: Hindsight.connect("http://localhost", timeout_s=0), "timeout_s: 0 is not a time limit in seconds"),
        (lambda bank: Hindsight.open("a\ud800"), "path: it is not a valid file name"),
        (lambda bank: bank.profile.set(5), "profile: it is int. Pass a BankProfile"),
        (lambda bank: bank.entities.undo("x"), "change_id: 'x' is not a whole number"),
        (lambda bank: bank.retain_many(5), "items: it is int, not a list"),
        (lambda bank: bank.recall("x", max_token=5), r"max_token: unknown option. Did you mean 'max_tokens'\?"),
        (lambda bank: bank.reflect("x", bugdet="low"), r"bugdet: unknown option. Did you mean 'budget'\?"),
        (lambda bank: list(bank.reflect_stream("x", stratgy="single")), r"stratgy: unknown option. Did you mean 'strategy'\?"),
        (lambda bank: bank.reflect_stages.recall("x", tag=["a"]), r"tag: unknown option. Did you mean 'tags'\?"),
        (lambda bank: create_recall_node(bank, order_by="time"), r"order_by: unknown option. Did you mean 'order'\?"),  # type: ignore[call-arg] # the mistake
        (lambda bank: create_recall_node(bank, embedding=[1.0]), "embedding: unknown option"),
        (lambda bank: HindsightRetriever(bank, tag=["a"]), r"tag: unknown option. Did you mean 'tags'\?"),  # type: ignore[call-arg] # the mistake
        (lambda bank: HindsightQueryEngine(bank, buget="low"), r"buget: unknown option. Did you mean 'budget'\?"),  # type: ignore[call-arg] # the mistake
        (lambda bank: LangChainRetriever(bank=bank).invoke("x", kk=5), r"kk: unknown option. Did you mean 'k'\?"),
    ],
)  # fmt: skip
def test_an_error_names_the_argument(bank: MemoryBank, call: Callable[[Any], object], message: str) -> None:
    """The error names the argument, the fault, and what to pass instead."""
    before = bank.count()
    with pytest.raises(InvalidRequest, match=message):
        call(bank)
    assert bank.count() == before


def test_a_text_without_an_end_holds_nobody_up(bank: MemoryBank) -> None:
    """A message of one endless word or sentence is retained in seconds: it is not searched for cues."""
    for text in ("x" * 300_000, "word " * 60_000):
        assert bank.retain([Message(text, "Bob")]).created == len(text) // 2_000


@pytest.mark.parametrize(
    ("options", "defaults"), [(RecallOptions, RECALL_DEFAULTS), (ReflectOptions, REFLECT_DEFAULTS)]
)
def test_every_option_has_a_default_and_a_description(options: type, defaults: dict[str, Any]) -> None:
    """The option types and the table of their defaults have the same names, and `help` describes each."""
    assert [*options.__annotations__] == [*defaults]
    described = re.findall(r"^    (\w+): ", inspect.getdoc(options) or "", re.MULTILINE)
    assert described == [*defaults]
