"""The benchmarks' own arithmetic, and one small run of each script."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from table import every_row

from bench_runs import bench, done
from hindsight_evals.benchmarks import distraction, locomo_table, summaries
from hindsight_evals.benchmarks.locomo import ablation, coverage, dataset, logistic, table
from hindsight_evals.datasets.locomo import Category
from hindsight_integrations import HindsightConfig

PAINTING = {"what": "Ann painted a lake in Porto", "sources": ["D1:1"], "occurred_start": "2023-05-07"}
GUITAR = {"what": "Ben sold his guitar to buy a violin", "sources": ["D2:1", "D2:2"]}
CONVERSATION = {
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {
                "speaker": "Ann",
                "dia_id": "D1:1",
                "text": "I painted a lake yesterday.",
                "blip_caption": "a blue lake",
            },
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely! I baked bread."},
        ],
        "session_2_date_time": "9:05 am on 1 June, 2023",
        "session_2": [
            {"speaker": "Ben", "dia_id": "D2:1", "text": "I sold my guitar."},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "Now I can afford the violin."},
        ],
        "session_3_date_time": "9:05 am on 3 June, 2023",
    },
    "qa": [
        {"question": "What did Ann paint?", "answer": "a lake", "evidence": ["D1:1"], "category": 4},
        {
            "question": "What did Ben sell for a violin?",
            "answer": "guitar",
            "evidence": ["D2:1; D2:2"],
            "category": 1,
        },
        {"question": "Who flew to Mars?", "answer": "", "evidence": ["D9:9"], "category": 5},
        {"question": "What did Ben bake?", "answer": "bread", "evidence": ["D1:02"], "category": 4},
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one tiny conversation and its extracted facts."""
    (tmp_path / "conv-1.json").write_text(json.dumps(CONVERSATION))
    lines = [{"session": 1, "facts": [PAINTING]}, {"session": 2, "facts": [GUITAR]}]
    (tmp_path / "conv-1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    corrected = [{"question": "What did Ben sell for a violin?", "correct_evidence": ["D2:2"]}]
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "conv-1.json").write_text(json.dumps(corrected))
    return tmp_path


@every_row(
    ("returned", "share"),
    [([], 0.0), ([("D1:1",)], 0.5), ([("D1:1", "D7:7"), ("D1:1",)], 0.5), ([("D1:2", "D1:1")], 1.0)],
)
def test_coverage_is_the_share_of_evidence_turns_returned(
    returned: list[tuple[str, ...]], share: float
) -> None:
    """If one of two evidence turns is returned twice, the coverage is one half."""
    assert coverage.coverage(frozenset({"D1:1", "D1:2"}), returned) == share


def test_a_conversation_is_read_with_its_times_and_photos(data: Path) -> None:
    """Turns must be in order with their session's time and with their photos' captions, so that they can be found."""
    conversation = dataset.load_conversation(data / "conv-1.json")
    first, second = conversation.sessions[0].messages
    assert first.text == "I painted a lake yesterday. [shares a photo: a blue lake]"
    assert (first.id, first.speaker, first.timestamp) == (
        "D1:1",
        "Ann",
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    )
    assert second.timestamp == datetime(2023, 5, 8, 13, 56, 10, tzinfo=UTC)
    assert conversation.asked_at == datetime(2023, 6, 1, 9, 5, tzinfo=UTC)


def test_questions_without_evidence_are_left_out(data: Path) -> None:
    """A question whose evidence consists of turns that do not exist is left out."""
    questions = dataset.load_conversation(data / "conv-1.json").questions
    assert [sorted(question.evidence) for question in questions] == [["D1:1"], ["D2:1", "D2:2"], ["D1:2"]]


def test_a_corrected_key_asks_the_same_questions(data: Path) -> None:
    """Figures by both keys come from one run, so that only the evidence of a corrected question differs."""
    questions = dataset.load_conversation(data / "conv-1.json", audit=data / "audit").questions
    assert [sorted(question.evidence) for question in questions] == [["D1:1"], ["D2:1", "D2:2"], ["D1:2"]]
    assert [sorted(question.audited or ()) for question in questions] == [["D1:1"], ["D2:2"], ["D1:2"]]


def _run(*shares: float, reranker: str | None = None) -> dict[str, object]:
    """A run over one conversation at 256 tokens: ours as given, plain RRF finds nothing."""
    outcomes = [
        coverage.Outcome(
            coverage.Mode.TURNS, coverage.System(system), 256, "conv-1", number, Category(4), share, 10
        ).as_json()
        for system, factor in (("ours", 1.0), ("rrf", 0.0))
        for number, share in enumerate(factor * value for value in shares)
    ]
    return {"reranker": reranker, "without": [], "outcomes": outcomes}


def test_a_gain_is_told_with_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of four questions improves by half: 12.5 points, and the interval includes 0, because some resamples omit that question."""
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    new.write_text(json.dumps(_run(1.0, 1.0, 0.5, 1.0, reranker="a cross-encoder")))
    old.write_text(json.dumps(_run(0.5, 1.0, 0.5, 1.0)))
    locomo_table.main([str(new), "--against", str(old)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gain", "+12.5"] in lines
    assert ["95", "%", "[+0.0,", "+37.5]"] in lines
    locomo_table.main([str(new), "--against", "rrf"])
    assert "+87.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "advice"),
    [([], "measure both over the same conversations"), (["--key", "audit"], "with --audit DIR")],
)
def test_runs_that_cannot_be_compared_say_what_to_do(tmp_path: Path, options: list[str], advice: str) -> None:
    """A gain over other questions, or with another key, is rejected."""
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    new.write_text(json.dumps(_run(1.0, 0.5)))
    old.write_text(json.dumps(_run(1.0)))
    with pytest.raises(SystemExit, match=advice):
        locomo_table.main([str(new), "--against", str(old), *options])


def test_tables_average_over_questions_and_leave_adversarial_ones_out() -> None:
    """Each question has the same weight, and category 5 is not in the summary of categories 1 to 4."""
    outcomes = [
        coverage.Outcome(
            coverage.Mode.TURNS, coverage.System(system), 256, "conv-1", number, Category(category), share, 10
        )
        for system, shares in (("ours", (1.0, 0.5, 0.0)), ("rrf", (0.5, 0.5, 1.0)))
        for number, (category, share) in enumerate(zip((1, 4, 5), shares, strict=True))
    ]
    part = coverage.Slice(coverage.Mode.TURNS)
    assert part.mean(outcomes, coverage.System.OURS, 256) == 75.0
    assert table.gap(outcomes, part, 256) == 25.0
    assert part.mean(outcomes, coverage.System.OURS, 512) is None


def test_every_part_can_be_silenced() -> None:
    """A part that was renamed or became a setting would stay on, and seem to have no effect."""
    for part in ablation.Part:
        with ablation.without([part]):  # fails for a name that does not exist
            assert part in ablation.SILENCED or hasattr(HindsightConfig().recall, part), part


def test_the_locomo_script_measures_a_tiny_conversation(data: Path) -> None:
    """The script prints both tables, with figures that agree with what must be found."""
    out = data / "out.json"
    command = [
        "locomo_retrieval",
        "--data",
        str(data),
        "--facts",
        str(data),
    ]
    command += ["--embedder", "hash", "--cache", str(data / "cache"), "--out", str(out)]
    command += ["--audit", str(data / "audit"), "--key", "audit", "--text", "compact"]
    printed = done(*command)
    assert "turns | categories 1-4 | 3 questions | corrected key" in printed
    results = {
        (row["mode"], row["categories"], row["system"], row["budget"]): row["percent"]
        for row in json.loads(out.read_text())["results"]
    }
    for system in ("ours", "vector", "bm25", "rrf"):
        assert results["turns", "1-4", system, 4096] == 100.0, system
        # two of the three questions have their turns among a fact's sources; the bread was not extracted
        assert results["facts", "1-4", system, 4096] == pytest.approx(200 / 3), system


def test_the_fusion_script_measures_a_tiny_conversation(data: Path) -> None:
    """The script prints every system's share, the difference with its interval, and checks that retrievals are recalls."""
    out = data / "out.json"
    command = [
        "llamaindex_fusion",
        "--data",
        str(data),
        "--facts",
        str(data),
    ]
    command += [
        "--conversations",
        "conv-1",
        "--embedder",
        "hash",
        "--cache",
        str(data / "cache"),
        "--out",
        str(out),
    ]
    printed = done(*command, timeout=120)
    assert "retriever = recall: 54 of 54" in printed  # 3 questions, 3 sets of options, 3 ways, 2 modes
    shares = json.loads(out.read_text())["shares"]
    turns = {share["arm"]: share["share"] for share in shares if share["mode"] == "turns"}
    fused = ("ours + BM25", "ours + vector", "vector + BM25", "ours + BM25, 4:1", "vector + BM25, 1:1")
    assert turns == dict.fromkeys((*fused, "ours", "vector", "BM25"), 1.0)
    assert printed.count("ours + BM25 against vector + BM25: +0.00 [+0.00, +0.00]") == 4


def _memora(folder: Path, *, chats: int) -> Path:
    """A file in Memora's format: chats of six turns between a user and an agent, without questions."""
    folder.mkdir()
    sessions = [
        {
            "session_id": number,
            "session_type": "no_memory",
            "operation": None,
            "operation_details": None,
            "date": "2031-01-05",
            "conversation": [
                {
                    "turn": turn,
                    "speaker": ("user_agent", "ai_agent")[turn % 2],
                    "message": f"Tide {number} {turn}.",
                }
                for turn in range(6)
            ],
        }
        for number in range(chats)
    ]
    written = {"persona": "sailor", "period": "weekly", "sessions": sessions, "evaluation": {"questions": {}}}
    (folder / "weekly-sailor.json").write_text(json.dumps(written))
    return folder


def test_foreign_turns_have_the_names_and_the_days_of_the_conversation(data: Path, tmp_path: Path) -> None:
    """Foreign turns have the speakers' names and days, differ only in content, and are the same in every run."""
    conversation = dataset.load_conversation(data / "conv-1.json")
    sessions = distraction.foreign_sessions
    memora = _memora(tmp_path / "memora", chats=3)
    chats = list(sessions(memora, [conversation], turns=10))
    said = [message for chat in chats for message in chat.messages]
    assert len(said) == 10
    assert {message.speaker for message in said} == {"Ann", "Ben"}
    assert {str(message.timestamp)[:10] for message in said} <= {"2023-05-08", "2023-06-01"}
    assert len({message.id for message in said}) == 10
    assert list(sessions(memora, [conversation], turns=10)) == chats


def test_the_distraction_script_asks_again_among_foreign_turns(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both runs are in one table; every turn of such a small bank fits the budget, with or without foreign turns."""
    memora, out = _memora(tmp_path / "memora", chats=10), tmp_path / "out"
    given = ["--data", str(data), "--foreign", str(memora), "--cache", str(tmp_path / "cache")]
    distraction.main([*given, "--facts", str(data), "--embedder", "hash", "--out", str(out)])
    told = capsys.readouterr()
    assert "turns: 4 units" in told.err
    assert "turns: 44 units" in told.err
    locomo_table.main([str(out / "foreign.json"), "--against", str(out / "alone.json")])
    turns, facts = capsys.readouterr().out.strip().split("\n\n")
    assert turns.startswith("turns, %, 3 questions")
    assert facts.startswith("facts, %, 3 questions")
    assert [line.split()[1:] for line in turns.splitlines() if line.startswith("gain")] == [["+0.0"] * 3]


def test_the_observations_script_accounts_for_every_fact(data: Path) -> None:
    """Both modes account for every fact, and nothing stale or forgotten is left."""
    facts = {"facts": [{**PAINTING, "entities": [{"text": "Ann"}]}], "session": 1}
    (data / "conv-1.jsonl").write_text(json.dumps(facts))
    out = data / "out.json"
    script = ["observations", "--embedder", "hash", "--out", str(out)]
    given = ["--data", str(data), "--facts", str(data), "--conversations", "conv-1", "--show", "1"]
    assert "Ann painted a lake in Porto" in done(*script, *given)
    rows = json.loads(out.read_text())["rows"]
    assert [row["by"] for row in rows] == ["choice", "copying model"]
    for row in rows:
        assert row["pairs"] == row.get("under one", 0) + row.get("left out", 0)
        assert (row["stale after"], row["forgotten, found at once"], row["found later"], row["files"]) == (
            0,
            0,
            0,
            0,
        )


def test_the_speed_script_measures_a_tiny_bank(tmp_path: Path) -> None:
    """The script prints the costs of recall, retain and opening, without those of models."""
    out = tmp_path / "out.json"
    command = ["engine_speed", "--sizes", "60", "--queries", "6"]
    command += ["--banks", "2"]
    done(*command, "--out", str(out))
    (found,) = json.loads(out.read_text())["sizes"]
    assert found["facts"] == 60
    assert found["recall"]["total"]["all"]["p50"] > 0
    assert found["recall"]["units_returned"] > 0
    assert found["retain"]["ms_per_fact"] > 0
    assert "embed query" not in found["recall"]
    ratios = found["ratios"]
    assert set(ratios) == {"all", "plain", "name", "time"}
    assert ratios["all"]["whole_recall_ms"]["p50"] > found["recall"]["total"]["all"]["p50"]
    keyword = found["recall"]["keyword"]["all"]["p50"]  # found while the question is embedded
    assert ratios["all"]["whole_recall_ms"]["p50"] >= keyword > 0
    assert ratios["all"]["embedding_and_chroma_ms"]["p50"] > found["bare_chroma_query_ms"]["p50"] > 0
    assert all(ratio["times_bare"]["p50"] > 0 for ratio in ratios.values())
    assert 0 < found["open"]["warm_s"] < found["open"]["cold_s"]
    after = found["open"]["memory_mb"]["after_questions"]
    assert 0 < after["anonymous"] < after["resident"]
    assert found["banks"]["banks"] == 2
    assert found["banks"]["many_ms"]["p50"] > 0


def test_the_turn_script_measures_a_tiny_bank(tmp_path: Path) -> None:
    """The script prints the cost of a turn by stage, next to a bare commit of the same number of rows."""
    out = tmp_path / "out.json"
    command = ["turn_speed", "--sizes", "60,120", "--turns", "4"]
    printed = done(*command, "--out", str(out), timeout=120)
    assert "turn minus bare commit" in printed.splitlines()[-1]
    found = json.loads(out.read_text())
    assert [size["facts"] for size in found["sizes"]] == [60, 120]
    for size in found["sizes"]:
        assert size["turn_ms"]["p50"] > size["stages_ms"]["commit"]["p50"] > 0
        assert size["bare_commit_ms"]["worst"] >= size["bare_commit_ms"]["p50"] > 0
        assert size["stages_ms"]["- publish in Lucene"]["p50"] > 0
        assert size["stages_ms"]["- into Chroma"]["p50"] == 0
        assert size["rows_a_commit"] > 6  # two units, two vectors, their messages, mentions, links


def test_the_embedder_script_measures_a_tiny_conversation(data: Path) -> None:
    """The script prints one row of speed and quality for each requested embedder."""
    command = ["embedders", "--data", str(data)]
    command += ["--conversations", "conv-1", "--embedders", "onnx", "--out", str(data / "rows.json")]
    done(*command)
    (row,) = json.loads((data / "rows.json").read_text())
    assert (row["name"], row["dimension"]) == ("BAAI/bge-small-en-v1.5", 384)
    assert row["speed"]["texts_per_second"] > 0
    assert row["percent"]["vector 2048"] == row["percent"]["ours 2048"] == 100.0


def test_the_abstention_script_measures_a_tiny_conversation(data: Path) -> None:
    """The script prints the constants, and the AUROC of every score next to those in use."""
    adversarial = {"question": "What did Ben paint?", "evidence": ["D1:1"], "category": 5}
    written = {**CONVERSATION, "qa": [*CONVERSATION["qa"], adversarial]}
    (data / "conv-1.json").write_text(json.dumps(written))
    command = ["abstention", "--data", str(data), "--facts", str(data)]
    command += ["--fit", "conv-1", "--embedder", "hash", "--cache", str(data / "cache")]
    printed = done(*command)
    assert printed.startswith("fitted: bias=")
    assert all(name in printed for name in ("conv-1 turns", "conv-1 facts", "first BM25", "confidence"))


def test_auroc_is_the_chance_of_the_right_order() -> None:
    """1 if every answered question has a higher score, one half if scores are meaningless."""
    auroc, truth = logistic.auroc, np.array([True, True, False, False])
    assert auroc(np.array([4.0, 3.0, 2.0, 1.0]), truth) == 1.0
    assert auroc(np.array([1.0, 1.0, 1.0, 1.0]), truth) == 0.5
    assert auroc(np.array([3.0, 1.0, 2.0, 0.0]), truth) == 0.75


def test_the_logistic_fit_finds_the_model_and_no_negative_weight() -> None:
    """With a thousand draws from known odds; a signal with a negative weight is left out."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(4000, 2))
    truth = draw.random(4000) < 1 / (1 + np.exp(-(0.5 + 2 * rows[:, 0] - rows[:, 1])))
    model = logistic.fit(rows, truth, np.ones(4000))
    assert model.weights[0] > 1.0
    assert model.weights[1] == 0.0
    alone = logistic.fit(rows * [1.0, -1.0], truth, np.ones(4000))
    assert (alone.bias, *alone.weights) == pytest.approx((0.5, 2.0, 1.0), abs=0.2)


ONE_BANK = 8  # descriptors of an open bank


def test_the_banks_script_measures_a_few_banks(tmp_path: Path) -> None:
    """The script prints the cost of many banks; every bank answers, and the number of open ones is bounded."""
    out = tmp_path / "out.json"
    command = [
        "many_banks",
        "--banks",
        "24",
        "--open",
        "4",
        "--asked",
        "24",
    ]
    command += [
        "--cycle",
        "8",
        "--times",
        "4",
        "--engines",
        "4",
        "--folder",
        str(tmp_path),
        "--out",
        str(out),
    ]
    done(*command, timeout=300)
    found = json.loads(out.read_text())
    assert found["many"]["disk"]["all"] > found["many"]["disk"]["chroma"] > 0
    for step in ("cycle", "engines"):
        first, *_, last = found[step]["usage"]
        # A leak would add up over dozens of openings; which banks are open now makes a difference of at most
        # one bank.
        assert last["descriptors"] <= first["descriptors"] + ONE_BANK, step
        assert last["anonymous_mb"] <= 1.25 * first["anonymous_mb"], step


def test_the_retain_script_measures_a_small_bank() -> None:
    """With two hundred facts, the benchmark reports every stage and the links."""
    printed = done("retain_speed", "--sizes", "200", "--real", "0")
    assert "200 facts, synthetic" in printed
    assert all(stage in printed for stage in ("resolve entities", "into Chroma", "commit", "links a unit"))


@pytest.mark.parametrize("name", summaries())
def test_every_benchmark_says_how_to_use_it(name: str) -> None:
    """Each name that `bench` lists can be started, and its help shows the command."""
    assert f"hindsight-evals bench {name} " in done(name, "--help")


def test_an_unknown_benchmark_is_refused() -> None:
    """The error for a misspelt name says where the names are listed."""
    refused = bench("engine_sped")
    assert refused.returncode == 1
    assert "there is no benchmark 'engine_sped'" in refused.stdout


def test_shown_memories_of_a_short_life() -> None:
    """Each change in a few simulated days is counted by kind, and more shown memories find at least as many."""
    printed = done("shown_memories", "--days", "6", "--fewest", "1", "--slots", "1,16", "--misses")
    (row,) = (line for line in printed.splitlines() if line.startswith("all "))
    few, many = (float(share.rstrip("%")) for share in row.split()[2:])
    assert few < many
    assert many >= 90
    missed = int(printed.split("missed with 1 slots: ")[1].split(",")[0])
    assert printed.count(" ended by ") == missed > 0
