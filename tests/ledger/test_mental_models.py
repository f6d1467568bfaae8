"""Contract of mental models and directives."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import (
    BANK,
    at,
    make_event,
    make_item,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_support import CLOSED, RESTORED, commit

from hindsight_integrations.errors import BankNotFound, InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.mental_models import (
    Directive,
    MentalModel,
    ModelAnswer,
    ModelState,
    RefreshTrigger,
    RefreshWrite,
)
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.units import FactType
from hindsight_integrations.testing.doubles import FrozenClock

MOST = 5


def standing(name: str, *, auto: bool = False) -> MentalModel:
    """Build a mental model without an answer."""
    trigger = RefreshTrigger.AUTO if auto else RefreshTrigger.MANUAL
    return MentalModel(f"id of {name}", name, f"What of {name}?", ("t",), trigger, 100, at(1))


def answer(
    ledger: Ledger, model: MentalModel, text: str, *based_on: str, read: tuple[str, ...] = ()
) -> RefreshWrite:
    """Store an answer based on the bank's current content."""
    revision = ledger.revision(BANK)
    made = ModelAnswer(text, extractive=False, based_on=based_on, refreshed_at=at(2))
    write = RefreshWrite(model.id, revision, made, read)
    commit(ledger, replace(make_write_set(revision), refreshed=write))
    return write


def waiting(ledger: Ledger) -> list[str]:
    """Return the keys of the waiting refresh tasks."""
    kinds = [task for task in ledger.tasks.of_bank(BANK) if task.kind is TaskKind.REFRESH_MODEL]
    return [task.key for task in kinds if task.state is not TaskState.DONE]


class TestMentalModels:
    """Mental models keep their questions; their texts end with their grounds."""

    @pytest.fixture
    def model(self, ledger: Ledger, bank: str) -> MentalModel:
        """A model in a bank with facts u1, u2, u3; its answer is based on the first two, and its author also saw the third."""
        commit(ledger, make_write_set(units=make_units("u1", "u2", "u3")))
        ledger.mental_models.create(bank, standing("plums"), most=MOST)
        answer(ledger, standing("plums"), "Two plums.", "u1", "u2", read=("u1", "u3"))
        return self.only(ledger)

    def only(self, ledger: Ledger) -> MentalModel:
        """Return the bank's only model."""
        (found,) = ledger.mental_models.all(BANK)
        return found

    def test_a_question_is_kept_and_answered(self, ledger: Ledger, bank: str) -> None:
        """A model is read back as created; an answer has its grounds, and neither raises the revision."""
        commit(ledger, make_write_set(units=make_units("u1", "u2", "u3")))
        before = ledger.revision(bank)
        for name in ("plums", "apples"):
            ledger.mental_models.create(bank, standing(name), most=MOST)
        assert ledger.mental_models.all(bank) == [standing("apples"), standing("plums")]
        assert ledger.mental_models.all(bank)[0].state is ModelState.NEW
        answer(ledger, standing("plums"), "Two plums.", "u2", "u1", read=("u3",))
        made = ledger.mental_models.all(bank)[1]
        assert (made.text, made.based_on, made.refreshed_at) == ("Two plums.", ("u1", "u2"), at(2))
        assert (made.revision, made.checked_to, made.state) == (before, before, ModelState.CURRENT)
        assert ledger.revision(bank) == before
        known = ledger.mental_models.all(bank)
        with ledger.snapshot(bank) as snapshot:
            assert snapshot.mental_models.all(bank) == known

    def test_nothing_known_is_an_answer(self, ledger: Ledger, model: MentalModel) -> None:
        """An empty answer replaces the previous one and has no grounds."""
        answer(ledger, model, "")
        assert self.only(ledger).state is ModelState.NOTHING_KNOWN
        assert self.only(ledger).based_on == ()

    def test_names_are_unique_and_their_number_has_a_limit(self, ledger: Ledger, bank: str) -> None:
        """A duplicate name, or one model too many, is rejected; banks are independent."""
        ledger.mental_models.create(bank, standing("plums"), most=2)
        with pytest.raises(InvalidRequest, match="a mental model named 'plums' exists already"):
            ledger.mental_models.create(bank, replace(standing("plums"), id="another"), most=2)
        ledger.mental_models.create(bank, standing("apples"), most=2)
        with pytest.raises(InvalidRequest, match="the bank has 2"):
            ledger.mental_models.create(bank, standing("pears"), most=2)
        assert [each.name for each in ledger.mental_models.all(bank)] == ["apples", "plums"]
        ledger.create_bank("other")
        ledger.mental_models.create("other", standing("plums"), most=2)
        with pytest.raises(BankNotFound):
            ledger.mental_models.all("nobody")

    def test_one_that_is_deleted_is_gone_with_its_task(self, ledger: Ledger, bank: str) -> None:
        """Deleting a model frees its name and removes its task; deleting it again does nothing."""
        ledger.mental_models.create(bank, standing("plums", auto=True), most=MOST)
        assert waiting(ledger) == ["id of plums"]
        assert ledger.mental_models.delete(bank, "id of plums")
        assert not ledger.mental_models.delete(bank, "id of plums")
        assert (ledger.mental_models.all(bank), waiting(ledger)) == ([], [])
        ledger.mental_models.create(bank, replace(standing("plums"), id="another"), most=MOST)

    @pytest.mark.usefixtures("model")
    def test_a_text_ends_when_what_it_stands_on_is_withdrawn(self, ledger: Ledger, bank: str) -> None:
        """Closing a ground ends the text until the next answer; closing a fact that was only shown does not."""
        shown = make_event("u3", CLOSED)
        commit(ledger, make_write_set(ledger.revision(bank), events=[shown]))
        assert self.only(ledger).state is ModelState.CURRENT
        commit(ledger, make_write_set(ledger.revision(bank), events=[make_event("u1", CLOSED)]))
        found = self.only(ledger)
        assert (found.state, found.text, found.based_on) == (ModelState.WITHDRAWN, "", ())
        # restored, the fact is valid, but the text is not known to be
        commit(ledger, make_write_set(ledger.revision(bank), events=[make_event("u1", RESTORED, 9)]))
        assert self.only(ledger).state is ModelState.WITHDRAWN
        answer(ledger, found, "One plum.", "u2")
        assert self.only(ledger).text == "One plum."

    @pytest.mark.parametrize("change", ["added", "ended", "restored", "corrected"])
    def test_a_text_ends_when_an_item_of_what_it_stands_on_changes(
        self, ledger: Ledger, bank: str, change: str
    ) -> None:
        """A text based on a document ends when one of its items changes."""
        items = [make_item("i1", "u1", 1), make_item("i2", "u1", 2)]
        events = [make_event("i2", CLOSED, 1)]
        units = [*make_units("u1", "u2"), *map(with_vector, items)]
        commit(ledger, make_write_set(units=units, events=events))
        ledger.mental_models.create(bank, standing("plums"), most=MOST)
        answer(ledger, standing("plums"), "Two plums.", "u1", read=("u2",))
        assert self.only(ledger).state is ModelState.CURRENT
        revision = ledger.revision(bank)
        if change == "added":
            commit(ledger, make_write_set(revision, units=[with_vector(make_item("i3", "u1", 3))]))
        elif change == "ended":
            commit(ledger, make_write_set(revision, events=[make_event("i1", CLOSED, 2)]))
        elif change == "restored":
            commit(ledger, make_write_set(revision, events=[make_event("i2", RESTORED, 2)]))
        else:
            edited = replace(items[0], text="plums")
            ledger.units.edit(bank, UnitEdit(edited, None, None, ("text",)), at(3))
        assert self.only(ledger).state is ModelState.WITHDRAWN
        changed = ledger.mental_models.changed_facts(bank, revision, 10)
        assert list(ledger.units.unit_ids(bank, changed).values()) == ["u1"]
        late = RefreshWrite("id of plums", revision, ModelAnswer("Late.", False, ("u1",), at(4)))
        with pytest.raises(RevisionConflict):
            commit(ledger, replace(make_write_set(ledger.revision(bank)), refreshed=late))

    def test_an_erased_item_takes_the_text_along(self, ledger: Ledger, bank: str) -> None:
        """Erasing an item ends every text whose author was shown its document."""
        units = [*make_units("u1", "u2"), with_vector(make_item("i1", "u1", 1))]
        commit(ledger, make_write_set(units=units))
        ledger.mental_models.create(bank, standing("plums"), most=MOST)
        answer(ledger, standing("plums"), "Two plums.", "u2", read=("u1",))
        assert ledger.erasure.erase(bank, Erasure(unit="i1")).counts["mental_models"] == 1
        assert (self.only(ledger).state, self.only(ledger).text) == (ModelState.WITHDRAWN, "")

    @pytest.mark.usefixtures("model")
    def test_a_text_ends_when_what_it_stands_on_is_corrected(self, ledger: Ledger, bank: str) -> None:
        """Editing a ground ends the text."""
        edited = make_unit("u2", "fact u2, corrected", hours=1)
        ledger.units.edit(bank, UnitEdit(edited, with_vector(edited).vector, None, ("text",)), at(3))
        assert self.only(ledger).state is ModelState.WITHDRAWN

    @pytest.mark.parametrize("unit", ["u1", "u3"])
    @pytest.mark.usefixtures("model")
    def test_an_erased_fact_takes_the_text_along(self, ledger: Ledger, bank: str, unit: str) -> None:
        """Erasing a fact ends texts based on it or whose author was shown it; the question stays."""
        foreseen = ledger.erasure.erase(bank, Erasure(unit=unit), dry_run=True)
        assert foreseen.counts["mental_models"] == 1
        assert self.only(ledger).text == "Two plums."
        assert ledger.erasure.erase(bank, Erasure(unit=unit)).counts["mental_models"] == 1
        found = self.only(ledger)
        assert (found.state, found.text, found.question) == (ModelState.WITHDRAWN, "", "What of plums?")
        assert "mental_models" not in ledger.erasure.erase(bank, Erasure(unit="u2")).counts

    def test_everything_forgotten_leaves_questions_and_rules(
        self, ledger: Ledger, bank: str, model: MentalModel
    ) -> None:
        """Forgetting everything keeps questions and directives, like the profile; dropping the bank removes them."""
        rule = Directive("d", "Be brief.", (), at(0))
        ledger.mental_models.add_directive(bank, rule, most=MOST)
        ledger.erasure.erase(bank, Erasure(everything=True))
        assert (self.only(ledger).text, self.only(ledger).question) == ("", model.question)
        assert ledger.mental_models.directives(bank) == [rule]
        ledger.erasure.drop_bank(bank)
        ledger.create_bank(bank)
        assert (ledger.mental_models.all(bank), ledger.mental_models.directives(bank)) == ([], [])

    @pytest.mark.parametrize("what", ["closed", "edited", "erased"])
    def test_an_answer_from_facts_that_changed_meanwhile_is_refused(
        self, ledger: Ledger, bank: str, model: MentalModel, what: str
    ) -> None:
        """An answer based on facts that changed meanwhile is rejected, and the previous state stays."""
        revision = ledger.revision(bank)
        if what == "closed":
            commit(ledger, make_write_set(revision, events=[make_event("u3", CLOSED)]))
        elif what == "edited":
            edited = make_unit("u3", "fact u3, corrected", hours=2)
            ledger.units.edit(bank, UnitEdit(edited, with_vector(edited).vector, None, ("text",)), at(3))
        else:
            ledger.erasure.erase(bank, Erasure(unit="u3"))
        before = self.only(ledger)
        late = RefreshWrite(model.id, revision, ModelAnswer("Late.", False, ("u1",), at(4)), ("u3",))
        with pytest.raises(RevisionConflict):
            commit(ledger, replace(make_write_set(ledger.revision(bank)), refreshed=late))
        assert self.only(ledger) == before

    def test_what_cannot_be_an_answer_is_refused(self, ledger: Ledger, bank: str, model: MentalModel) -> None:
        """An invalid answer rejects the whole write set."""
        opinion = with_vector(make_unit("o1", fact_type=FactType.OPINION))
        commit(ledger, make_write_set(ledger.revision(bank), units=[opinion]))
        for unfit, reason in (
            (RefreshWrite(model.id, 2, ModelAnswer("Text.", False, (), at(4))), "cites no memory"),
            (RefreshWrite(model.id, 2, ModelAnswer("Text.", False, ("o1",), at(4))), "is not a fact"),
            (RefreshWrite("nobody", 2, ModelAnswer("Text.", False, ("u1",), at(4))), "no mental model"),
        ):
            writes = make_write_set(ledger.revision(bank), units=make_units("u9"))
            with pytest.raises(InvalidRequest, match=reason):
                commit(ledger, replace(writes, refreshed=unfit))
        assert self.only(ledger) == model
        assert ledger.units.row_ids(bank, ["u9"]) == {}

    def test_looking_without_a_change_moves_how_far_was_looked(
        self, ledger: Ledger, bank: str, model: MentalModel
    ) -> None:
        """A refresh without a change keeps the answer and records how far facts were considered."""
        commit(ledger, make_write_set(ledger.revision(bank), units=make_units("u4")))
        now = ledger.revision(bank)
        commit(ledger, replace(make_write_set(now), refreshed=RefreshWrite(model.id, now)))
        assert self.only(ledger) == replace(model, checked_to=now)

    @pytest.mark.usefixtures("model")
    def test_changed_facts_come_latest_first(self, ledger: Ledger, bank: str) -> None:
        """New, closed and edited facts after a revision are listed latest first, without opinions and observations."""
        revision = ledger.revision(bank)
        other = with_vector(make_unit("o1", fact_type=FactType.OPINION))
        commit(ledger, make_write_set(revision, units=[*make_units("u4", "u5"), other]))
        commit(ledger, make_write_set(revision + 1, events=[make_event("u1", CLOSED)]))
        names = ledger.units.unit_ids(bank, ledger.mental_models.changed_facts(bank, revision, 10))
        found = [names[row] for row in ledger.mental_models.changed_facts(bank, revision, 10).tolist()]
        assert found == ["u1", "u5", "u4"]
        assert len(ledger.mental_models.changed_facts(bank, revision, 2)) == 2
        assert len(ledger.mental_models.changed_facts(bank, ledger.revision(bank), 10)) == 0

    def test_changes_of_facts_enqueue_those_that_refresh_themselves(
        self, ledger: Ledger, bank: str, clock: FrozenClock
    ) -> None:
        """Changed facts enqueue the models with automatic refresh; opinions and answers do not."""
        ledger.mental_models.create(bank, standing("plums", auto=True), most=MOST)
        ledger.mental_models.create(bank, standing("apples"), most=MOST)
        edited = make_unit("u1", "fact u1, corrected")

        def settled() -> bool:
            """Complete a task if one waits, and return whether one did."""
            clock.advance(at(1) - at(0))
            task = ledger.tasks.lease([TaskKind.REFRESH_MODEL], lasting=at(1) - at(0))
            if task is not None:
                assert task.key == "id of plums"
                done = replace(make_write_set(ledger.revision(bank)), completed_tasks=(task.claim,))
                commit(ledger, done)
            return task is not None

        assert settled()
        commit(ledger, make_write_set(ledger.revision(bank), units=make_units("u1", "u2")))
        assert settled()
        commit(ledger, make_write_set(ledger.revision(bank), events=[make_event("u1", CLOSED)]))
        assert settled()
        ledger.units.edit(bank, UnitEdit(edited, with_vector(edited).vector, None, ("text",)), at(3))
        assert settled()
        ledger.erasure.erase(bank, Erasure(unit="u1"))
        assert settled()
        opinion = with_vector(make_unit("o1", fact_type=FactType.OPINION))
        commit(ledger, make_write_set(ledger.revision(bank), units=[opinion]))
        answer(ledger, standing("plums"), "Two plums.", "u2")
        assert not settled()

    def test_directives_are_kept_in_order_and_once(self, ledger: Ledger, bank: str) -> None:
        """Directives are kept in order; a repeated rule is stored once, unless its tags differ."""
        one, two = Directive("a", "Be brief.", (), at(0)), Directive("b", "Be brief.", ("t",), at(1))
        assert ledger.mental_models.add_directive(bank, one, most=2) == one
        assert ledger.mental_models.add_directive(bank, two, most=2) == two
        assert ledger.mental_models.add_directive(bank, Directive("c", "Be brief.", (), at(2)), most=2) == one
        with pytest.raises(InvalidRequest, match="the bank has 2"):
            ledger.mental_models.add_directive(bank, Directive("d", "Be kind.", (), at(3)), most=2)
        assert ledger.mental_models.directives(bank) == [one, two]
        assert ledger.mental_models.remove_directive(bank, "a")
        assert not ledger.mental_models.remove_directive(bank, "a")
        assert ledger.mental_models.directives(bank) == [two]
        assert ledger.revision(bank) == 0
