"""Retain a Memora week with the shipped extraction prompt, and compare the resulting memory with the ground truth.

    hindsight-evals bench memora_model --data DIR --answers FOLDER [--name weekly-software_engineer]
    hindsight-evals bench memora_model --data DIR --base-url URL [--model NAME] [--record FOLDER]
    hindsight-evals bench memora_model --data DIR --facts FILE

The sessions are retained in order, so that the memories shown with each come from earlier ones. Printed are:
withdrawn statements with their memories; dropped facts; facts of sessions without anything to remember; all
records; sums, counts, means and goals compared with the truth; presence and absence of the week's values
(Memora 3.5; see below); calls and tokens. The model and the engine never see the truth. `--facts` uses facts
extracted before.

With `--extract turn|idle|session` each session is followed as a thread: `threads.follow` is called after each
exchange of two messages, and `tasks.settle` after each session. `--sessions 3,8,21` retains only these sessions
and counts only their values.

`--answers` is a folder of recordings (docs/models.md, "Record and replay"). A request without an answer is
written there, and the run ends with the name of its file. Answer it, and run again; or use `--wait SECONDS`
to wait for the answer. `--go-on` writes all requests at once. This requires that no memories are shown:
`--go-on --without-memories`.

A value is present if a valid unit from its add or update session contains its tokens (all numbers, and two
thirds of the words, because extraction paraphrases), and that unit has no note that retracts the value.
Otherwise it is absent. Documents are scored by field and list element. Every miss is printed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hindsight_evals.benchmarks.extraction.model import (
    add_model_arguments,
    model_of,
    named_missing,
    with_model_options,
)
from hindsight_evals.benchmarks.memora.bank import (
    LIGHT,
    Facts,
    all_units,
    held,
    retain_session,
    session_messages,
)
from hindsight_evals.benchmarks.memora.state import report_state, report_withdrawals
from hindsight_evals.benchmarks.memora.totals import category_totals, goals_met, question_totals, record_table
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.datasets.memora import MemoraPersona, MemoraSession, read_memora
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, MemoryUnit, RetainResult
from hindsight_integrations.config import Extract, ObservationConfig
from hindsight_integrations.testing import FrozenClock

EXCHANGE = 2  # number of messages per exchange


def main(argv: Sequence[str] | None = None) -> None:
    """Run one week."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of Memora weeks")
    parser.add_argument("--name", default="weekly-software_engineer")
    parser.add_argument("--light", action="store_true", help="numpy and FTS5 instead of Chroma and Lucene")
    parser.add_argument("--facts", type=Path, help="a file of extracted facts, instead of a model")
    parser.add_argument(
        "--extract", type=Extract, help="follow each session as a thread; turn, idle or session"
    )
    parser.add_argument(
        "--sessions", help="ids of the sessions to retain, separated by commas; all of them without it"
    )
    add_model_arguments(parser)
    options = parser.parse_args(argv)
    model = None if options.facts else model_of(options, parser)
    facts = load_facts(options.facts) if options.facts else None
    week = read_memora(options.data / f"{options.name}.json")
    wanted = {int(number) for number in options.sessions.split(",")} if options.sessions else None
    sessions = [each for each in week.sessions if wanted is None or each.session_id in wanted]
    config = HindsightConfig(storage=LIGHT) if options.light else HindsightConfig()
    config = with_model_options(config, options)
    if options.extract:  # `settle` would write observations too, which the model would be asked for
        config = replace(config, observations=ObservationConfig(mode="off"))
    # followed threads wait by the clock, and a run must not depend on how fast the model answers
    clock = FrozenClock(datetime(2030, 1, 1, tzinfo=UTC)) if options.extract else None
    with Hindsight.open(":memory:", model=model, reranker=None, config=config, clock=clock) as engine:
        bank = engine.bank("memora")
        results = retained(bank, sessions, facts, go_on=options.go_on, extract=options.extract)
        units = {unit.id: unit for unit in all_units(bank)}
        texts = {unit.id: unit.text for unit in units.values()}
        report_withdrawals(((number, result) for number, of in results.items() for result in of), texts)
        _report_kept(sessions, results, units)
        _report_records(bank, week, units.values())
        report_state(sessions, held(bank))
    if model is not None:
        print("", *model.report(), sep="\n")


def retained(
    bank: MemoryBank,
    sessions: Iterable[MemoraSession],
    facts: Facts | None,
    *,
    go_on: bool,
    extract: Extract | None = None,
) -> dict[int, list[RetainResult]]:
    """Retain the sessions, or follow them as threads, one call per exchange.

    Returns:
        The results by session; sessions without an answer are left out.
    """
    results = {}
    for session in sessions:
        number = session.session_id
        with named_missing(f"session {number}", go_on=go_on):
            if extract is None:
                given = None if facts is None else facts.get(number, ())
                results[number] = [retain_session(bank, session, given)]
            else:
                results[number] = _followed(bank, session, extract)
    return results


def _followed(bank: MemoryBank, session: MemoraSession, extract: Extract) -> list[RetainResult]:
    """Follow a session as a thread, and extract what waits at its end."""
    messages = session_messages(session)
    ends = [*range(EXCHANGE, len(messages), EXCHANGE), len(messages)]
    thread = f"S{session.session_id}"
    results = [bank.threads.follow(messages[:end], thread=thread, extract=extract) for end in ends]
    if failed := bank.tasks.settle().failed:
        raise SystemExit(f"session {session.session_id}: {failed}")
    return results


def _report_kept(
    sessions: Sequence[MemoraSession],
    results: Mapping[int, Sequence[RetainResult]],
    units: Mapping[str, MemoryUnit],
) -> None:
    """Print what was not kept, what was kept of sessions without memory, and the number of facts."""
    print("\ndropped")
    for number, result in ((number, result) for number, of in results.items() for result in of):
        for dropped in (*result.dropped, *result.settled.dropped):
            print(f"S{number} {dropped.reason}: {dropped.what!r}")
        for waiting in result.parked:
            print(f"S{number} parked, passage {waiting.chunk}: {waiting.reason}")
    print("\nfacts of sessions with nothing to remember")
    idle = [session.session_id for session in sessions if not _has_memory(session)]
    idle = [number for number in idle if number in results]
    facts = {number: [unit for unit in units.values() if _stems_from(unit, number)] for number in idle}
    for number, kept in facts.items():
        for unit in kept:
            print(f"S{number} {unit.fact_type}: {unit.text}")
    count = sum(map(len, facts.values()))
    print(f"{count} in {len(idle)} sessions: {count / max(len(idle), 1):.2f} a session")
    types = Counter(str(unit.fact_type) for unit in units.values())
    print(f"facts in all: {len(units)} ({', '.join(f'{kind} {n}' for kind, n in types.most_common())})")
    if unanswered := [session.session_id for session in sessions if session.session_id not in results]:
        print(f"sessions without an answer: {unanswered}")


def _stems_from(unit: MemoryUnit, number: int) -> bool:
    """Whether the first source of a unit is a message of this session."""
    return bool(unit.sources) and unit.sources[0].startswith(f"S{number}:")


def _has_memory(session: MemoraSession) -> bool:
    """Return whether a session has something to remember: an operation, or a turn that shares a memory."""
    return session.operation is not None or any(turn.share_memory for turn in session.conversation)


def _report_records(bank: MemoryBank, week: MemoraPersona, units: Iterable[MemoryUnit]) -> None:
    print("\nrecords of valid memories: kind, category, unit, how many, total")
    print(*record_table([unit for unit in units if unit.closed_at is None]), sep="\n")
    print("\nquestions", *question_totals(bank, week), *goals_met(bank, week), sep="\n")
    totals = category_totals(bank, week)
    print("\nby kind and category", *totals, sep="\n")
    print(f"exact: {sum(total.exact for total in totals)} of {len(totals)}")


if __name__ == "__main__":
    main()
