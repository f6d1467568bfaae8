"""A memory behind `hindsight-memory serve`, seen by its clients."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import TextNode
from llama_index.core.storage.chat_store import SimpleChatStore
from served import served

from hindsight_integrations import (
    AccessDenied,
    AsyncHindsight,
    AsyncMemoryBank,
    BankForgotten,
    BankNotFound,
    BankProfile,
    BankReference,
    EngineClosed,
    ExtractedFact,
    Hindsight,
    InvalidRequest,
    Message,
    TagLeaf,
    TagNot,
    TagOr,
    bank_at,
    wire,
)
from hindsight_integrations.engine import remote
from hindsight_integrations.engine.engine import Engine
from hindsight_integrations.errors import LedgerUnreachable
from hindsight_integrations.langgraph import MemoryState, create_recall_node, create_retain_node
from hindsight_integrations.llamaindex import HindsightMemory
from hindsight_integrations.model.reflections import ReflectEventKind
from hindsight_integrations.server.access import Access, Tokens
from hindsight_integrations.server.app import check_host
from hindsight_integrations.server.gate import Limits

LISBON, ANSWER = "Alice moved to Lisbon in May 2024.", "Where does Alice live?"
ALL, TEAM = "a-token-for-all-banks", "a-token-for-the-team"
TOKENS = Tokens({ALL: Access(("*",)), TEAM: Access(("team-*", "alice"))})
BANKS = "/v1/default/banks"


@pytest.fixture
def url(light: Hindsight) -> Iterator[str]:
    """A server without tokens."""
    with served(light) as address:
        yield address


@pytest.fixture
def there(url: str) -> Iterator[Hindsight]:
    """A client of that server."""
    with Hindsight.connect(url) as hindsight:
        yield hindsight


@pytest.fixture
def guarded(light: Hindsight) -> Iterator[str]:
    """A server with tokens."""
    with served(light, tokens=TOKENS) as address:
        yield address


def test_a_client_and_the_engine_see_one_memory(light: Hindsight, there: Hindsight) -> None:
    """One recalls what the other retains, with equal results: units, scores, ranks, trace and query."""
    there.bank("alice").retain(
        [Message(LISBON, id="1"), Message("I paid 12 euro for lunch.", id="2")], thread="t"
    )
    tags = TagOr((TagLeaf(("a",)), TagNot(TagLeaf(("b",)))))
    options: dict[str, Any] = {"trace": True, "tag_groups": [tags], "include_chunks": True}
    here = light.bank("alice").recall(ANSWER, **options)
    remote_result = there.bank("alice").recall(ANSWER, **options)
    assert remote_result.units == here.units
    assert remote_result.query == here.query
    assert remote_result.chunks == here.chunks
    assert there.bank("alice").profile.get() == light.bank("alice").profile.get()
    assert there.doctor().banks == light.doctor().banks


def test_async_clients_do_the_same(url: str) -> None:
    """The async API works in an event loop, streams and iterates."""

    async def talk() -> list[object]:
        async with AsyncHindsight.connect(url) as hindsight:
            bank = await hindsight.bank("alice")
            await bank.retain(LISBON)
            kinds = [event.kind async for event in bank.reflect_stream(ANSWER)]
            return [kinds[-1], [unit.text async for unit in bank.iterate_units()], await hindsight.banks()]

    assert asyncio.run(talk()) == [ReflectEventKind.REFLECTION, [LISBON], ["alice"]]


def test_every_method_of_an_engine_and_of_a_bank_is_the_servers(there: Hindsight) -> None:
    """No public method of a client's engine or bank is the local one, which would look for a ledger."""
    local = {
        f"{kind.__name__}.{name}"
        for kind, base in ((type(there.asynchronous), Engine), (remote.RemoteBank, AsyncMemoryBank))
        for name in dir(base)
        if not name.startswith("_") and name != "namespace" and getattr(kind, name) is getattr(base, name)
    }
    assert local == {
        "_ConnectedHindsight.close",
        "RemoteBank.iterate_units",
    }  # these call the server's methods


def test_errors_are_those_of_the_method(there: Hindsight) -> None:
    """An error has the class, fields and message that the method raises in process."""
    bank = there.bank("alice")
    with pytest.raises(InvalidRequest, match="Did you mean 'max_tokens'") as unknown:
        bank.recall(ANSWER, max_tokenz=5)  # type: ignore[call-arg] # what is tested
    assert unknown.value.field == "max_tokenz"
    with pytest.raises(InvalidRequest, match="'x' is not in bank 'alice'"):
        bank.get("x")
    with pytest.raises(BankNotFound):
        there.bank("nobody", create=False)
    with pytest.raises(TypeError, match="query"):
        bank.recall()  # type: ignore[call-arg] # what is tested
    ((place, error),) = bank.retain_many([LISBON, ""]).failed
    assert (place, type(error), str(error)) == (1, InvalidRequest, "text: it is empty. Pass some text.")


def test_what_a_server_cannot_do_names_the_alternative(there: Hindsight, tmp_path: Path) -> None:
    """Functions are not sent, and a server writes no files for its clients."""
    bank = there.bank("alice")
    with pytest.raises(InvalidRequest, match=r"progress: .* cannot be sent .*Hindsight\.open"):
        bank.retain_many([LISBON], progress=lambda done, all_items: None)
    with pytest.raises(InvalidRequest, match="response_schema"):
        bank.reflect(ANSWER, response_schema=ExtractedFact)
    with pytest.raises(InvalidRequest, match="hindsight-memory export"):
        bank.archive.export(tmp_path / "file")


def test_a_forgotten_bank_stays_forgotten(there: Hindsight) -> None:
    """An object of a forgotten bank does nothing, even when a new bank has its name."""
    bank = there.bank("alice")
    bank.retain(LISBON)
    there.forget_bank("alice")
    with pytest.raises(BankForgotten):
        bank.count()
    new = there.bank("alice")
    with pytest.raises(BankForgotten):
        bank.retain(LISBON)
    assert new.count() == 0


def test_a_closed_client_is_closed(url: str) -> None:
    """The error of a closed client says so; the server and other clients continue."""
    first, second = Hindsight.connect(url), Hindsight.connect(url)
    bank = first.bank("alice")
    first.close()
    with pytest.raises(EngineClosed):
        bank.count()
    assert second.banks() == ["alice"]
    second.close()


def test_a_server_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is no server, or another program answers, the error names the address."""
    monkeypatch.setattr(remote, "ATTEMPTS", 1)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(LedgerUnreachable, match=f"127.0.0.1:{unused.getsockname()[1]} cannot be reached"):
            Hindsight.connect(f"http://127.0.0.1:{unused.getsockname()[1]}")
    with pytest.raises(InvalidRequest, match="is not an HTTP address"):
        Hindsight.connect("./memory")


def test_profiles_and_framework_objects_are_sent(there: Hindsight) -> None:
    """`with_profile`, LangChain's messages, and LlamaIndex's nodes work as in the same process."""
    bank = there.bank("alice")
    messages = [HumanMessage(LISBON, id="1"), AIMessage("Noted.", id="2")]
    assert bank.threads.follow(messages, thread="t").created > 0
    edited = [HumanMessage("Alice moved to Porto in May 2024.", id="1")]
    assert bank.threads.follow(edited, thread="t").superseded
    assert (
        bank.retain([TextNode(text="Bob lives in Porto."), TextNode(text="Eve lives in Rome.")]).created == 2
    )
    assert bank.with_profile(BankProfile(name="Max")).reflect(ANSWER).text


def test_items_are_filtered_by_the_clients_function(there: Hindsight) -> None:
    """A filter of items runs in the client, before the limit."""
    from hindsight_integrations import ItemPut

    items = there.bank("alice").items
    items.write([ItemPut(("notes",), str(number), {"even": number % 2 == 0}) for number in range(6)])
    found = items.search(("notes",), where=lambda value: bool(value["even"]), limit=2, offset=1)
    assert [each.item.value for each in found] == [{"even": True}, {"even": True}]


def test_langgraph_nodes_take_a_client(there: Hindsight) -> None:
    """A graph whose nodes use a server remembers across threads, with invoke and ainvoke."""
    graph = StateGraph(MemoryState, input_schema=MessagesState)
    graph.add_node("recall", create_recall_node(there))
    graph.add_node(
        "answer",
        lambda state: {"messages": [AIMessage("; ".join(m["text"] for m in state["memories"]) or "Noted.")]},
    )
    graph.add_node("retain", create_retain_node(there, roles=("user",)))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "retain")
    agent = graph.compile()

    def run(thread: str) -> Any:
        return {"configurable": {"user_id": "alice", "thread_id": thread}}

    agent.invoke({"messages": [HumanMessage(LISBON)]}, run("monday"))
    answers = [
        agent.invoke({"messages": [HumanMessage(ANSWER)]}, run("friday")),
        asyncio.run(agent.ainvoke({"messages": [HumanMessage(ANSWER)]}, run("sunday"))),
    ]
    assert all("Lisbon" in answer["messages"][-1].text for answer in answers)


def test_llamaindex_memory_takes_a_client_and_finds_it_again(there: Hindsight, url: str) -> None:
    """A chat memory needs a chat store, and is restored from its dict in a connected process."""
    bank = there.bank("alice")
    with pytest.raises(InvalidRequest, match="chat_store"):
        HindsightMemory(bank=bank)
    memory = HindsightMemory(bank=bank, chat_store=SimpleChatStore())
    memory.put(ChatMessage(role="user", content=LISBON))
    restored = HindsightMemory.from_dict(memory.to_dict())
    assert "Lisbon" in str(restored.get(ANSWER)[0].content)
    assert bank_at(BankReference(url, "alice")).name == "alice"


def test_a_token_admits_to_its_banks_only(guarded: str) -> None:
    """A token gives access to its banks; others can be neither listed, read, created nor erased."""
    with Hindsight.connect(guarded, token=ALL) as owner, Hindsight.connect(guarded, token=TEAM) as team:
        owner.bank("bob").retain("Bob's secret.")
        team.bank("team-1").retain(LISBON)
        assert team.banks() == ["team-1"]
        assert owner.banks() == ["bob", "team-1"]
        calls: list[Callable[[], object]] = [
            lambda: team.bank("bob"),
            lambda: team.bank("new"),
            lambda: team.forget_bank("bob"),
            team.doctor,
            team.settle,
        ]
        for call in calls:
            with pytest.raises(AccessDenied):
                call()
        with pytest.raises(BankNotFound) as missing:
            team.bank("alice", create=False)
        assert missing.value.known == ("team-1",)
        assert owner.bank("bob").count() == 1


def test_without_a_token_nothing_is_answered(guarded: str) -> None:
    """A wrong or missing token is rejected on every path except health and version."""
    for token in (None, "a-token-for-nobody", "x"):
        with pytest.raises(AccessDenied, match="token"):
            Hindsight.connect(guarded, token=token)
    with httpx.Client(base_url=guarded) as client:
        refused = [
            client.get(BANKS),
            client.get("/openapi.json"),
            client.post(remote.CALL_PATH, json={"method": "info"}),
        ]
        assert [answer.status_code for answer in refused] == [401, 401, 401]
        assert client.get("/health").json()["status"] == "healthy"
        assert "Bob" not in client.get("/version").text


def test_the_routes_of_the_hindsight_server_keep_to_the_token(guarded: str) -> None:
    """Ids of other banks, and ids that try to leave the path, are rejected before a bank is looked up."""
    headers = {"Authorization": f"Bearer {TEAM}"}
    with httpx.Client(base_url=guarded, headers=headers) as client:
        for bank in ("bob", "..%2Fbob", "team", "Alice", "alice%00"):
            answer = client.post(f"{BANKS}/{bank}/memories/recall", json={"query": ANSWER})
            assert answer.status_code in (403, 404), bank
        assert client.post(f"{BANKS}/alice/memories/recall", json={"query": ANSWER}).json()["results"] == []


def test_memories_are_listed_in_pages(there: Hindsight, url: str) -> None:
    """Newest first, each memory on one page; filters by text, document and state have a total of their own."""
    bank = there.bank("alice")
    for day in range(1, 8):
        bank.retain(f"Alice ran {day} km.", timestamp=f"2024-05-0{day}", document_id=f"day-{day}")
    bank.withdraw(bank.units(limit=1).units[0].id)
    with httpx.Client(base_url=url) as client:

        def listed(**query: Any) -> tuple[list[str], int]:
            answer = client.get(f"{BANKS}/alice/memories/list", params={"limit": 4, **query}).json()
            return [item["text"] for item in answer["items"]], answer["total"]

        assert listed() == ([f"Alice ran {day} km." for day in (7, 6, 5, 4)], 6)
        assert listed(offset=4) == ([f"Alice ran {day} km." for day in (3, 2)], 6)
        assert listed(offset=6) == ([], 6)
        assert listed(q="ALICE", offset=4) == ([f"Alice ran {day} km." for day in (3, 2)], 6)
        assert listed(document_id="day-3") == (["Alice ran 3 km."], 1)
        assert listed(state="invalidated") == (["Alice ran 1 km."], 1)


def test_a_server_without_tokens_answers_only_to_this_machine(url: str) -> None:
    """Pages of other sites cannot reach it through the user's browser, and it does not listen on other addresses."""
    with httpx.Client(base_url=url) as client:
        assert client.get(BANKS, headers={"Host": "attacker.example"}).status_code == 403
        assert client.get(BANKS, headers={"Origin": "http://attacker.example"}).status_code == 403
        assert client.get(BANKS, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert client.get(BANKS, headers={"Host": "[::1"}).status_code == 400
        assert client.get(BANKS, headers={"Origin": "http://["}).status_code == 400
        assert client.get(BANKS).status_code == 200
    for host in ("0.0.0.0", "192.168.1.5", "example.com", "::"):  # noqa: S104 - refused
        with pytest.raises(InvalidRequest, match="tokens"):
            check_host(host, None)
        check_host(host, TOKENS)
    for host in ("127.0.0.1", "localhost", "::1"):
        check_host(host, None)


def test_large_and_slow_requests_are_refused(light: Hindsight) -> None:
    """A body over the limit, announced or not, is rejected; the server does not wait for a client that stops sending."""
    with served(light, limits=Limits(body=1000, body_s=0.2)) as url:
        with httpx.Client(base_url=url) as client:
            announced = client.post(remote.CALL_PATH, content=b"x" * 1001)
            chunked = client.post(remote.CALL_PATH, content=iter([b"x" * 600] * 2))
            assert [announced.status_code, chunked.status_code] == [413, 413]
        with (
            pytest.raises(InvalidRequest, match="more than 1,000 bytes"),
            Hindsight.connect(url) as hindsight,
        ):
            hindsight.bank("alice").retain("x" * 1001)
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as slow:
            slow.sendall(
                b"POST /hindsight/v1/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
            )
            assert b" 408 " in slow.recv(100)


def test_a_busy_server_asks_clients_to_wait(light: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above its limit a server answers 429 with Retry-After; `connect` repeats the call, and nothing is lost."""
    monkeypatch.setattr(remote, "LONGEST_WAIT", 0.05)
    entered, leave = threading.Event(), threading.Event()
    real = light.asynchronous.doctor

    async def held(**options: Any) -> Any:
        entered.set()
        await asyncio.to_thread(leave.wait)
        return await real(**options)

    monkeypatch.setattr(light.asynchronous, "doctor", held)
    with (
        served(light, limits=Limits(running=1)) as url,
        Hindsight.connect(url) as hindsight,
        ThreadPoolExecutor(2) as pool,
    ):
        waiting = pool.submit(hindsight.doctor)
        assert entered.wait(10)
        answer = httpx.get(url + BANKS)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
        with pytest.raises(LedgerUnreachable, match="at its limit of requests"):
            hindsight.banks()
        leave.set()
        assert waiting.result(10).banks == {}
        assert hindsight.banks() == []


def test_a_call_without_end_is_cancelled(light: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call over the time limit is answered with 504, and the server continues."""

    async def endless(**options: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(light.asynchronous, "doctor", endless)
    with served(light, limits=Limits(answer_s=2)) as url, Hindsight.connect(url) as hindsight:
        with pytest.raises(LedgerUnreachable, match=r"504 .*took longer than 2 s"):
            hindsight.doctor()
        assert hindsight.banks() == []


HOSTILE = [
    '{"$":"os.system","value":"x"}',
    '{"$":"model.requests.Message","text":"x","more":1}',
    '{"$":"model.requests.shown"}',
    '{"$":"error","name":"shown","args":[],"fields":{}}',
    '{"$":"model.time.Interval","start":1,"end":2}',
    '{"$":["model"]}',
    '{"$":"datetime","value":"yesterday"}',
    '{"$":"message","value":{"type":"nobody","data":{}}}',
    "[" * 100_000,
    "{",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_body_creates_nothing(text: str) -> None:
    """A value that is not one of the package's model is an InvalidRequest, whatever type it names."""
    with pytest.raises(InvalidRequest):
        wire.read(text)


def test_a_token_file_is_checked(tmp_path: Path) -> None:
    """A file without a table, with a short token or without banks is rejected, and no error contains a token."""
    file = tmp_path / "tokens.toml"
    file.write_text('[tokens]\n"0123456789abcdef" = ["alice", "team-*"]\n')
    access = Tokens.read(file).access("Bearer 0123456789abcdef")
    assert [access.includes(bank) for bank in ("alice", "alicia", "team-7", "team", "*")] == [
        True,
        False,
        True,
        False,
        False,
    ]
    for text in ("x", "[tokens]", '[tokens]\nshort = ["*"]', '[tokens]\n"0123456789abcdef" = "*"'):
        file.write_text(text)
        with pytest.raises(InvalidRequest) as refused:
            Tokens.read(file)
        assert "0123456789abcdef" not in str(refused.value)


JUNK = (
    None,
    10**400,
    {"a": [1]},
    [{"$": "model.items.ItemPut", "namespace": 5, "key": [], "value": "x"}],
    {"$": "model.requests.RetainItem", "content": {}, "tags": 5, "facts": 5},
    [{"role": 7, "content": "x", "id": {}}],
)


def test_no_argument_of_a_call_breaks_the_server(url: str) -> None:
    """A wrong value for any parameter of any method is answered with a status below 500."""
    broken: dict[str, str] = {}
    with httpx.Client(base_url=url) as client:
        client.put(f"{BANKS}/alice", json={})
        for namespace, methods in remote.METHODS.items():
            for name, method in methods.items():
                called = f"{namespace}.{name}".strip(".")
                parameters = inspect.signature(method).parameters
                needed = {
                    n: "x" for n, each in parameters.items() if each.default is each.empty and n != "self"
                }
                needed.pop("options", None)
                for parameter, junk in product(parameters.keys() - {"self", "options"}, JUNK):
                    body = {"method": called, "bank": "alice", "arguments": {**needed, parameter: junk}}
                    answer = client.post(remote.CALL_PATH, json=body)
                    if answer.status_code >= 500:
                        broken[f"{called}({parameter}={junk!r:.60})"] = answer.text[:200]
    assert broken == {}
