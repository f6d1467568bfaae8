"""Create an engine from settings and arguments. The only module that imports every backend."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Literal, Self, cast
from uuid import uuid4
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.config import (
    EmbedderBackend,
    ExtractionMode,
    HindsightConfig,
    KeywordBackend,
    ModelConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.engine.engine import Engine, Storage
from hindsight_integrations.engine.remote import Connection, RemoteEngine
from hindsight_integrations.errors import InvalidRequest, MissingDependency, is_database, shown
from hindsight_integrations.indexes.bank_view import ScoringVectorIndex
from hindsight_integrations.indexes.projection import Indexes
from hindsight_integrations.indexes.protocols import VectorIndex
from hindsight_integrations.language.packs import languages_of
from hindsight_integrations.ledger.copies import Holder
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.locks import CacheFolder
from hindsight_integrations.ledger.opening import no_index_marks
from hindsight_integrations.ledger.postgresql import checked_address, public_address
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.clock import Clock, SystemClock
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.time import DateOrder, LocalDates, Weekday
from hindsight_integrations.model.watermark import IndexMark
from hindsight_integrations.models.protocols import Embedder, LanguageModel, Reranker, TimeParser
from hindsight_integrations.prompts.rendering import with_schema_in_words
from hindsight_integrations.services import Services
from hindsight_integrations.validation.arguments import checked_path

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

    from hindsight_integrations.indexes.fts5 import Fts5Keywords
    from hindsight_integrations.indexes.lucene import LuceneKeywords

MEMORY: Literal[":memory:"] = ":memory:"
DEFAULT: Literal["default"] = "default"


class AsyncHindsight(Engine):
    """The engine with the async API. It opens banks in one data directory or PostgreSQL database.

    Example:
        ```python
        async with AsyncHindsight.open("memory") as hindsight:
            bank = await hindsight.bank("alice")
            await bank.retain("Alice moved to Lisbon in May 2024.")
            result = await bank.recall("Where does Alice live?")
        ```
    """

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        model: LLM | BaseChatModel | LanguageModel | str | None = None,
        embeddings: BaseEmbedding | Embeddings | Embedder | None = None,
        reranker: Reranker | Literal["default"] | None = DEFAULT,
        config: HindsightConfig | None = None,
        read_only: bool = False,
        worker: bool | Literal["elsewhere"] = False,
        accept_loss: bool = False,
        clock: Clock | None = None,
        time_parser: TimeParser | None = None,
        redact: Callable[[str], str] | None = None,
        cache: str | Path | None = None,
    ) -> Self:
        """Open the memory in a directory or a PostgreSQL database, creating it if needed.

        Args:
            path: the data directory, which only one process can open for writing; ":memory:", which keeps nothing on disk; or
                "postgresql://user:password@host/name", which any number of processes can use (extra `postgres`).
            model: a LlamaIndex LLM, a LangChain chat model, a LanguageModel (`testing.RecordedModel`), or a name for
                LangChain's `init_chat_model` ("openai:gpt-5-mini", "anthropic:claude-sonnet-4-5"); None uses the settings'
                model (HINDSIGHT_MODEL). Without a model, messages are stored verbatim and answers are excerpts.
            embeddings: a LlamaIndex embedding model, a LangChain Embeddings object or an Embedder; None uses the configured
                local embedder (bge-small).
            reranker: "default" uses the MiniLM cross-encoder if its weights are on this machine; None disables reranking.
            config: settings; None reads them from the environment.
            read_only: take no lock and write nothing. Another process may write at the same time.
            worker: where queued tasks (postponed extraction, observations, background merges) run. True: in a thread of this
                engine, until it is closed. False: only when `settle` is called. "elsewhere": in another process, such as
                `hindsight-memory work` while this engine is closed; `doctor` reports this.
            accept_loss: continue although committed memory is missing (the ledger was deleted, damaged or restored from a
                backup older than the indexes), instead of raising LedgerLost. The indexes are then rebuilt.
            clock: source of the current time, for tests and replays.
            time_parser: called for questions in which the built-in grammar recognises no time expression.
            redact: function from a text to the text to store, called with every message, document, supplied fact and edit
                before the model or the ledger sees it. It must be deterministic. Items (`bank.items`, LangGraph's store)
                and the chat history of LlamaIndex's `HindsightMemory` are not redacted.
            cache: a folder for index files of banks in a PostgreSQL database, so that a new process need not rebuild them.
                Several processes may use the same folder. It may be deleted when none of them runs; then call `forget_holder`.
                None, and `read_only`, keep the indexes in memory.

        Raises:
            InvalidRequest: path, model or embeddings are invalid; the settings name an unknown time zone or language; or the
                worker could not run any task.
            LedgerBusy: another process or engine has the directory open for writing.
            LedgerUnreachable: the database server does not answer.
            LedgerLost: committed memory is missing, and `accept_loss` is False.
            MissingDependency: a configured backend is not installed.
            SchemaMismatch: the directory was written by a development version or a newer version.
        """
        from hindsight_integrations.models.tokens import default_token_counter

        settings = config or HindsightConfig.from_env()
        if not isinstance(settings, HindsightConfig):
            raise InvalidRequest(
                "config", f"{type(settings).__name__} is not a HindsightConfig", "Pass a HindsightConfig."
            )
        zone = _zone(settings.time_zone)  # validate before opening anything
        languages = languages_of(settings.languages)
        mode = _worker_mode(worker, path, read_only=read_only)
        chosen = _language_model(settings.model if model is None else model, settings)
        _check_extraction(chosen, settings)
        embedder = _embedder(embeddings, settings)
        ledger, storage = _store(
            path,
            settings,
            clock or SystemClock(),
            read_only=read_only,
            accept_loss=accept_loss,
            cache=_cache(cache, path, read_only=read_only),
        )
        writers = settings.storage.connections if is_database(path) else 1
        workers = Workers(settings.storage.reader_threads, writers)
        services = Services(
            ledger=ledger,
            model=chosen,
            embedder=embedder,
            reranker=_reranker(reranker, settings),
            tokens=default_token_counter(),
            time_parser=time_parser,
            clock=ledger.clock,
            workers=workers,
            config=settings,
            languages=languages,
            dates=_dates(settings, zone),
            redact=_redact(redact),
            read_only=read_only,
            place=_place(path),
            worker=mode,
        )
        return cls(services, storage, workers)

    @classmethod
    def connect(cls, url: str, *, token: str | None = None, timeout_s: float = 300.0) -> AsyncHindsight:
        """Use the memory of a `hindsight-memory serve` process, so that several processes can share one data directory.

        The engine and its banks have the same methods, results and errors as with `open`, and integrations accept them.
        Functions cannot be sent, so `tools`, `response_schema` and `progress` raise errors. Archives cannot be exported or
        loaded through a server. The server's own model, settings and redaction apply.

        Args:
            url: the server's address, "http://localhost:8888".
            token: one of the server's tokens; None if it has none.
            timeout_s: maximum seconds to wait for the answer to a call.

        Raises:
            InvalidRequest: the address, the token or the time limit is invalid.
            LedgerUnreachable: no server answers at this address. Later calls raise it too if the server cannot be reached or
                is busy; reads are first retried a few times.
            AccessDenied: the token is missing or unknown. Later calls raise it for banks that the token does not grant access to.
        """
        return _ConnectedHindsight(Connection(url, token, timeout_s))


class _ConnectedHindsight(RemoteEngine, AsyncHindsight):
    """An engine in another process, for code that accepts an AsyncHindsight."""


def _redact(redact: Callable[[str], str] | None) -> Callable[[str], str] | None:
    if redact is not None and not callable(redact):
        raise InvalidRequest(
            "redact", f"{shown(redact)} is not callable", "Pass a function from text to text, or None."
        )
    return redact


def _place(path: str | Path) -> str:
    if path in (MEMORY, Path(MEMORY)):
        return f"{MEMORY}{uuid4().hex}"
    if is_database(path):
        return public_address(checked_address(str(path)))
    return str(checked_path(path, "path").resolve())


def _cache(cache: str | Path | None, path: str | Path, *, read_only: bool) -> Path | None:
    if cache is None:
        return None
    if not is_database(path):
        raise InvalidRequest("cache", "a data directory contains its own indexes", "Omit it.")
    if read_only:
        raise InvalidRequest(
            "cache", "a read-only engine cannot confirm erasures of its files", "Omit cache or read_only."
        )
    return checked_path(cache, "cache")


def _store(
    path: str | Path,
    config: HindsightConfig,
    clock: Clock,
    *,
    read_only: bool,
    accept_loss: bool,
    cache: Path | None,
) -> tuple[Ledger, Storage]:
    from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
    from hindsight_integrations.models.named_models import erase_chats

    on_server, in_memory = is_database(path), path in (MEMORY, Path(MEMORY))
    data = None if on_server or in_memory else checked_path(path, "path")
    ledger = Ledger.open(
        path if data is None else data,
        read_only=read_only,
        accept_loss=accept_loss,
        index_marks=no_index_marks if data is None else partial(_index_marks, data),
        clock=clock,
        connections=config.storage.connections,
        observing=config.observations.delay,
        refreshing=config.mental_models.delay,
        reinforcing=config.opinions.delay,
    )
    with ExitStack() as undo:
        undo.callback(ledger.close)
        own = CacheFolder(cache) if cache else None
        if own:
            undo.callback(own.release)
        # In memory if read-only, because Chroma loses vectors without an error if processes share a folder.
        folder = own.path if own else None if read_only else data
        kind = VectorBackend(config.storage.vectors) if folder or in_memory else VectorBackend.EXACT
        open_vectors, close_vectors = _vectors(folder, kind)
        keywords = _keywords(folder, config.storage)
        if own:
            own.keep_only({VectorBackend.EXACT, kind, keywords.folder_name})
        undo.pop_all()
    holder = _holder(own) if on_server and not read_only else None

    def open_indexes(bank: BankHeader) -> Indexes:
        vectors, scorer = open_vectors(bank)
        return Indexes(vectors, scorer, keywords.open(bank.key), RustworkxMemoryGraph())

    def forget_chats(bank: str) -> None:
        if data is not None and not read_only:
            erase_chats(data, bank)

    def close() -> None:
        # Callbacks run in reverse order, so the locks are released last; if one fails, the others still run.
        with ExitStack() as closing:
            if own:
                closing.callback(own.release)
            for release in (ledger.close, keywords.close, close_vectors):
                closing.callback(release)

    names = {
        "ledger": "PostgreSQL" if on_server else "SQLite",
        "vectors": str(kind),
        "keywords": keywords.index_name,
        "graph": "rustworkx",
        "path": _place(path) if on_server else str(path if data is None else data),
    }
    return ledger, Storage(open_indexes, forget_chats, names, close, holder)


def _holder(folder: CacheFolder | None) -> Holder:
    host = gethostname()
    process = f"{host}:{os.getpid()}"
    if folder is None:
        return Holder(uuid4().hex[:16], f"memory of {process}", process, in_memory=True)
    return Holder(folder.id, f"{host}:{folder.path.resolve()}", process, in_memory=False)


def _index_marks(data: Path) -> list[IndexMark]:
    from hindsight_integrations.indexes.chroma import chroma_marks
    from hindsight_integrations.indexes.store_pool import keyword_marks

    return [*chroma_marks(data), *keyword_marks(data)]


def _vectors(
    folder: Path | None, kind: VectorBackend
) -> tuple[Callable[[BankHeader], tuple[VectorIndex, ScoringVectorIndex]], Callable[[], None]]:
    """Return two functions: one opens a bank's vector index and its in-memory scorer, the other closes all indexes."""
    from hindsight_integrations.indexes.exact import ExactVectorIndex, MappedVectors

    files = MappedVectors(folder) if folder else None

    def open_scorer(bank: BankHeader) -> ScoringVectorIndex:
        return files.open(bank.key, bank=bank.name) if files else ExactVectorIndex(bank.name)

    if kind == VectorBackend.EXACT:

        def open_exact(bank: BankHeader) -> tuple[VectorIndex, ScoringVectorIndex]:
            index = open_scorer(bank)
            return index, index

        return open_exact, lambda: None
    from hindsight_integrations.indexes.chroma import ChromaVectors

    chroma = ChromaVectors(folder)
    return (lambda bank: (chroma.open(bank.key, bank=bank.name), open_scorer(bank))), chroma.close


def _keywords(folder: Path | None, config: StorageConfig) -> LuceneKeywords | Fts5Keywords:
    """Create the keyword index: Lucene if configured or if a JVM is installed, otherwise SQLite's FTS5."""
    from hindsight_integrations.indexes.lucene import java_available

    # one more, because a write may exceed the limit by one bank
    kind, stores = KeywordBackend(config.keywords), config.open_banks + 1
    if kind == KeywordBackend.LUCENE or (kind == KeywordBackend.AUTO and java_available()):
        from hindsight_integrations.indexes.lucene import LuceneKeywords

        return LuceneKeywords(folder or MEMORY, open_stores=stores)
    from hindsight_integrations.indexes.fts5 import Fts5Keywords

    return Fts5Keywords(folder or MEMORY, open_stores=stores)


def _worker_mode(worker: object, path: str | Path, *, read_only: bool) -> WorkerMode:
    if worker is False:
        return WorkerMode.NONE
    if worker == WorkerMode.ELSEWHERE:
        if path in (MEMORY, Path(MEMORY)):
            raise InvalidRequest(
                "worker", "another process cannot reach an in-memory bank", "Use worker=True."
            )
        return WorkerMode.ELSEWHERE
    if worker is not True:
        raise InvalidRequest("worker", f"{shown(worker)} is not valid", "Use True, False or 'elsewhere'.")
    if read_only:
        raise InvalidRequest("worker", "a read-only engine cannot run tasks", "Omit worker or read_only.")
    return WorkerMode.OWN


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidRequest(
            "time_zone", f"{name!r} is not a known time zone", "Use an IANA name: 'Europe/Lisbon'."
        ) from error


def _dates(config: HindsightConfig, zone: ZoneInfo) -> LocalDates:
    order = config.date_order
    return LocalDates(zone, None if order is None else DateOrder(order), Weekday(config.week_starts))


def _language_model(
    model: LLM | BaseChatModel | LanguageModel | str | None, config: HindsightConfig
) -> LanguageModel | None:
    if model is None:
        return None
    from hindsight_integrations.models.named_models import language_model

    return language_model(model, in_words=with_schema_in_words, timeout_s=config.model_timeout_s)


def _check_extraction(model: LanguageModel | None, config: HindsightConfig) -> None:
    mode = ExtractionMode(config.retain.extraction)
    if model is None and mode not in (ExtractionMode.AUTO, ExtractionMode.VERBATIM):
        raise InvalidRequest(
            "extraction", f"{mode} extraction needs a model", "Pass `model=`, or use verbatim extraction."
        )


def _embedder(embeddings: BaseEmbedding | Embeddings | Embedder | None, config: HindsightConfig) -> Embedder:
    if embeddings is None:
        return local_embedder(config.models)
    from hindsight_integrations.models.vendor_errors import Vendor, vendor_of_embeddings

    match vendor_of_embeddings(embeddings):
        case Vendor.OURS:
            return cast("Embedder", embeddings)
        case Vendor.LLAMAINDEX:
            from hindsight_integrations.models.llamaindex import llamaindex_embedder

            return llamaindex_embedder(cast("BaseEmbedding", embeddings))
        case Vendor.LANGCHAIN:
            from hindsight_integrations.models.langchain import langchain_embedder

            return langchain_embedder(cast("Embeddings", embeddings))


def local_embedder(models: ModelConfig) -> Embedder:
    """Create the configured local embedder.

    Raises:
        MissingDependency: its weights or its runtime are not installed.
    """
    folder, offline = models.embedder_path, models.offline
    match EmbedderBackend(models.embedder):
        case EmbedderBackend.ONNX:
            from hindsight_integrations.models.onnx import OnnxEmbedder

            return OnnxEmbedder(folder=folder, offline=offline)
        case EmbedderBackend.STATIC:
            from hindsight_integrations.models.static import StaticEmbedder

            return StaticEmbedder(folder=folder, offline=offline)
        case EmbedderBackend.SENTENCE_TRANSFORMERS:
            from hindsight_integrations.models.sentence_transformers import (
                SentenceTransformersEmbedder,
            )

            return SentenceTransformersEmbedder(folder=folder, offline=offline)


def _reranker(reranker: Reranker | Literal["default"] | None, config: HindsightConfig) -> Reranker | None:
    """Return the given reranker; for "default", the cross-encoder if its weights are present. Downloads nothing."""
    if reranker != DEFAULT:
        return reranker
    from hindsight_integrations.models.onnx import MS_MARCO_MINILM_L12, OnnxCrossEncoder, RememberingReranker
    from hindsight_integrations.models.weights import resolve_weights

    folder = config.models.reranker_path
    try:
        resolve_weights(MS_MARCO_MINILM_L12, folder=folder, offline=True)
    except MissingDependency:
        return None
    return RememberingReranker(OnnxCrossEncoder(folder=folder, offline=True))
