"""Contract of opinions whose grounds are erased or edited, and of archived opinions."""

from __future__ import annotations

import pytest
from archived import without_numbers
from builders import (
    BANK,
)
from ledger_forgotten_opinions import ERASURES, edited, enqueued, facts
from ledger_opinions import (
    CONTRADICT,
    add,
    close,
    evidence,
    form,
    formation,
    log_of,
    opinion_unit,
    reword,
    valid,
    writing,
)
from ledger_support import changes, commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.opinions import OpinionsWrite, confidence_of


class TestForgottenOpinions:
    """No opinion or confidence reveals or counts erased facts, and archives contain opinions completely."""

    @pytest.fixture
    def believed(self, ledger: Ledger, bank: str) -> Ledger:
        """An opinion based on f1, with f2 as evidence."""
        assert bank == BANK
        facts(ledger)
        form(ledger, "o", "f1")
        add(ledger, evidence("o", "f2"))
        return ledger

    @pytest.mark.parametrize("way", ERASURES)
    def test_an_erased_fact_is_no_evidence_and_no_ground(self, believed: Ledger, way: str) -> None:
        """Erasing a fact removes its evidence row and opinions worded from it, and restores the confidence without it."""
        add(believed, evidence("o", "f3", CONTRADICT, hours=7))
        form(believed, "p", "f3", "f4")
        form(believed, "q", "p")
        receipt = believed.erasure.erase(BANK, ERASURES[way]())
        assert set(receipt.unit_ids) == {"f3", "p", "q"}
        assert (receipt.counts["opinions"], receipt.counts["evidence"]) == (2, 1)
        (log,) = believed.opinions.get(BANK)
        assert [row.unit_id for row in log.evidence] == ["f2"]
        assert confidence_of(log) == 0.85
        assert changes(believed, since=receipt.revision - 1).removed.size == 3

    def test_a_dry_run_foresees_it_and_changes_nothing(self, believed: Ledger) -> None:
        """A dry run lists opinions worded from the fact, and changes nothing."""
        form(believed, "p", "f3")
        before = believed.opinions.get(BANK), believed.revision(BANK)
        assert set(believed.erasure.erase(BANK, Erasure(unit="f3"), dry_run=True).unit_ids) == {"f3", "p"}
        assert (believed.opinions.get(BANK), believed.revision(BANK)) == before

    def test_a_wording_worded_from_an_erased_fact_gives_way_to_the_one_before(self, believed: Ledger) -> None:
        """The opinion returns to its earlier wording, and evidence assessed against the erased wording is assessed again."""
        add(believed, evidence("o", "f3", CONTRADICT, hours=7))
        reword(believed, "o", "o2", "f3")
        reword(believed, "o", "o3", "f4", closing="o2", hours=9)
        add(believed, evidence("o", "f4", version="o3", hours=10))
        rows = believed.units.row_ids(BANK, ["o", "f4"])
        commit(believed, writing(believed, OpinionsWrite(assessed={"o": believed.revision(BANK)})))
        receipt = believed.erasure.erase(BANK, Erasure(unit="f3"))
        assert set(receipt.unit_ids) == {"f3", "o2", "o3"}
        log = log_of(believed)
        assert [(each.unit_id, each.closed_at) for each in log.versions] == [("o", None)]
        assert [row.unit_id for row in log.evidence] == ["f2"]
        assert rows["f4"] in believed.opinions.facts_since(BANK, log.assessed_to)
        assert believed.units.validity(BANK, "o") == []
        assert rows["o"] in changes(believed, since=receipt.revision - 1).columns.ids
        assert enqueued(believed)

    def test_a_wording_that_comes_back_without_a_valid_ground_is_closed(self, believed: Ledger) -> None:
        """A restored wording whose own ground was withdrawn is closed."""
        reword(believed, "o", "o2", "f3")
        close(believed, "f1")
        assert valid(believed, "o", "o2") == [False, True]
        believed.erasure.erase(BANK, Erasure(unit="f3"))
        assert valid(believed, "o") == [False]

    def test_whoever_forgets_an_opinion_forgets_all_of_it(self, believed: Ledger) -> None:
        """Forgetting any wording of an opinion erases all its wordings and evidence; the facts stay."""
        reword(believed, "o", "o2", "f3")
        assert set(believed.erasure.erase(BANK, Erasure(unit="o2")).unit_ids) == {"o", "o2"}
        assert believed.opinions.get(BANK) == []
        assert len(believed.units.row_ids(BANK, ["f1", "f2", "f3", "f4"])) == 4

    def test_reasons_that_a_model_gave_who_had_read_it_are_blanked(self, believed: Ledger) -> None:
        """Reasons written by a model that had read the erased fact are blanked; their rows and other opinions stay."""
        opinions = tuple(formation(unit, "f4") for unit in ("p", "q"))
        commit(believed, writing(believed, OpinionsWrite(opinions), opinion_unit("p"), opinion_unit("q")))
        add(believed, evidence("o", "f3"), evidence("p", "f1"))
        add(believed, evidence("q", "f1"))
        believed.erasure.erase(BANK, Erasure(unit="f3"))
        reasons = {log.id: [row.reason for row in log.evidence] for log in believed.opinions.get(BANK)}
        assert reasons == {"o": [""], "p": [""], "q": ["seen f1"]}
        assert [log.reasoning for log in believed.opinions.get(BANK)] == ["because"] * 3
        believed.erasure.erase(BANK, Erasure(unit="q"))
        assert [(log.id, log.reasoning) for log in believed.opinions.get(BANK)] == [
            ("o", "because"),
            ("p", ""),
        ]

    def test_a_corrected_fact_is_judged_again(self, believed: Ledger) -> None:
        """An edited fact's evidence row is removed and assessed again; other edits change nothing."""
        edited(believed, "f2", tags=("x",))
        assert confidence_of(log_of(believed)) == 0.85
        commit(believed, writing(believed, OpinionsWrite(assessed={"o": believed.revision(BANK)})))
        edited(believed, "f2", text="other words")
        log = log_of(believed)
        assert (log.evidence, confidence_of(log)) == ((), 0.7)
        assert believed.opinions.facts_since(BANK, log.assessed_to).tolist() == list(
            believed.units.row_ids(BANK, ["f2"]).values()
        )
        assert enqueued(believed)

    def test_a_corrected_opinion_is_judged_again(self, believed: Ledger) -> None:
        """Evidence assessed against an opinion's old wording is assessed again after an edit."""
        commit(believed, writing(believed, OpinionsWrite(assessed={"o": believed.revision(BANK)})))
        edited(believed, "o", text="other words")
        assert confidence_of(log_of(believed)) == 0.7
        (row,) = believed.units.row_ids(BANK, ["f2"]).values()
        assert row in believed.opinions.facts_since(BANK, log_of(believed).assessed_to)

    def test_a_forgotten_bank_leaves_no_opinion(self, believed: Ledger) -> None:
        """Erasing everything or dropping the bank leaves no opinions, evidence or operations."""
        commit(believed, writing(believed, OpinionsWrite(operation="run")))
        believed.erasure.erase(BANK, Erasure(everything=True))
        assert (believed.opinions.get(BANK), believed.opinions.formed_by(BANK, "run")) == ([], None)
        believed.erasure.drop_bank(BANK)
        believed.create_bank(BANK)
        facts(believed)
        form(believed, "o", "f1")
        assert log_of(believed).evidence == ()

    def test_opinions_are_archived(self, believed: Ledger) -> None:
        """Formation, wordings, grounds, evidence and operations survive an archive with the same ids and revisions."""
        add(believed, evidence("o", "f3", CONTRADICT, hours=7, restates=("f2",)))
        reword(believed, "o", "o2", "f3")
        close(believed, "f2")
        form(believed, "p", "f4")
        close(believed, "f4")
        commit(believed, writing(believed, OpinionsWrite(operation="run")))
        rows = list(believed.archive.rows(BANK))
        believed.create_bank("copy")
        believed.archive.restore("copy", iter(rows))
        assert believed.opinions.get("copy") == believed.opinions.get(BANK)
        assert believed.opinions.formed_by("copy", "run") == ()
        assert without_numbers(believed.archive.rows("copy")) == without_numbers(rows)
        (log,) = believed.opinions.get("copy", ["o"])
        for revision in range(believed.revision(BANK) + 1):
            assert confidence_of(log, as_of_revision=revision) == confidence_of(
                log_of(believed), as_of_revision=revision
            )
