"""An archive checked as a whole before a row of it is written: each line by itself, and what lines say of each other."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from hindsight_integrations.errors import ArchiveInvalid
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType
from hindsight_integrations.validation.archive_given import (
    DirectiveLine,
    MentalModelGroundLine,
    MentalModelLine,
)
from hindsight_integrations.validation.archive_lines import (
    LINES,
    BankLine,
    CategoryLine,
    EntityLine,
    EventLine,
    ItemTextLine,
    MessageLine,
    ObservationFactLine,
    ObservationLine,
    ObservedLine,
    ProfileChangeLine,
    RecordLine,
    TaskLine,
    TurnLine,
    UnitLine,
    WaitingTurnLine,
)
from hindsight_integrations.validation.archive_opinions import (
    EvidenceLine,
    GroundLine,
    OpinionLine,
    WordingLine,
)
from hindsight_integrations.validation.archive_profile import NEUTRAL_PROFILE
from hindsight_integrations.validation.archive_values import ArchiveLine, vector_length

LONGEST_SHOWN = 40  # characters of a field's name that an error repeats: the archive may say anything there


class ArchiveCheck:
    """Lines of one archive, in order; remembers what a later line may refer to.

    Attributes:
        bank: the bank's own line; None before it.
        units: how many memories went by.
    """

    def __init__(self) -> None:
        self.bank: BankLine | None = None
        self.units = 0
        self._profile: ProfileChangeLine | None = None
        # Pairs are kept as numbers, not as ids: a bank has many times more links than memories.
        self._numbers: dict[str, dict[object, int]] = {kind: {} for kind in LINES}
        self._records: dict[str, int] = {}
        self._networks: dict[str, str] = {}
        self._observations: set[str] = set()
        self._opinions: dict[str, int] = {}
        self._wordings: dict[str, str] = {}
        self._spellings: set[tuple[str, str]] = set()
        self._keyed: set[tuple[str, str]] = set()
        self._models: set[str] = set()
        self._groundless: set[str] = set()
        self._directives: set[tuple[str, ...]] = set()
        self._pairs: dict[str, set[tuple[object, ...]]] = {kind: set() for kind in LINES}

    def take(self, number: int, kind: str, fields: Mapping[str, object]) -> None:
        """Check one line.

        Args:
            number: of the line, from 1.
            kind: what it is.
            fields: its values, as JSON gives them.

        Raises:
            ArchiveInvalid: it cannot be a line of this archive.
        """
        line = _line(number, kind, fields)
        if (self.bank is None) != isinstance(line, BankLine):
            raise ArchiveInvalid(number, kind, "the first line after the header, and no other, is the bank's")
        self._remember(number, kind, line)
        if isinstance(line, BankLine):
            self.bank = line
        elif isinstance(line, ProfileChangeLine):
            self._check_profile(number, line)
        else:
            self._check(number, kind, line)

    def _check(self, number: int, kind: str, line: ArchiveLine) -> None:
        """What the line says of others."""
        if isinstance(line, UnitLine):
            self._check_unit(number, kind, line)
        elif isinstance(line, CategoryLine | RecordLine):
            self._check_record(number, line)
        elif isinstance(line, TurnLine):
            self._check_turn(number, line)
        elif isinstance(line, TaskLine):
            self._check_task(number, line)
        elif isinstance(line, EventLine | MessageLine):
            self._check_revision(number, kind, line)
        elif isinstance(line, OpinionLine | WordingLine | GroundLine | EvidenceLine):
            self._check_opinion(number, kind, line)
        elif isinstance(line, MentalModelLine | MentalModelGroundLine | DirectiveLine):
            self._check_given(number, line)
        else:
            self._check_observed(number, line)

    def check_whole(self, number: int) -> None:
        """Check what all lines together must say, once the last has gone by.

        Args:
            number: of the line after it.

        Raises:
            ArchiveInvalid: they do not.
        """
        if self.bank is None:
            raise ArchiveInvalid(number, "bank", "there is no line of the bank itself")
        if self.bank.profile != (self._profile.profile if self._profile else NEUTRAL_PROFILE):
            raise ArchiveInvalid(number, "bank.profile", "it is not that of its last change")
        if self._groundless:
            raise ArchiveInvalid(number, "mental_model.text", "a text of an earlier line stands on no memory")
        if not all(self._opinions.values()):
            raise ArchiveInvalid(number, "opinion_wording", "an opinion has no wording")
        opinions = {unit for unit, network in self._networks.items() if network == FactType.OPINION}
        if opinions - self._wordings.keys():
            raise ArchiveInvalid(number, "opinion_wording", "a memory that is an opinion has no such line")

    def _check_profile(self, number: int, line: ProfileChangeLine) -> None:
        """A profile that the bank was given comes after those that it was given before."""
        before, self._profile = self._profile, line
        for field in ("number", "effective_at"):
            if before and getattr(line, field) < getattr(before, field):
                raise ArchiveInvalid(
                    number, f"profile_change.{field}", "it is before that of an earlier line"
                )

    def _remember(self, number: int, kind: str, line: ArchiveLine) -> None:
        """Find what it refers to, and refuse a second line of the same key."""
        values = {field: getattr(line, field) for field in (*line.key, *line.refers)}
        for field, target in line.refers.items():
            if values[field] is None:
                continue
            if values[field] not in self._numbers[target]:
                raise ArchiveInvalid(number, f"{kind}.{field}", f"no {target} of that id stands before it")
            values[field] = self._numbers[target][values[field]]
        if not line.key:
            return
        # What has a key of one field is referred to by its id.
        key = tuple((values if line.key[1:] else vars(line))[field] for field in line.key)
        numbers, pairs = self._numbers[kind], self._pairs[kind]
        if key[0] in numbers or key in pairs:
            where = ", ".join(f"{kind}.{field}" for field in line.key)
            raise ArchiveInvalid(number, where, "an earlier line has the same")
        if len(key) == 1:
            numbers[key[0]] = len(numbers)
        else:
            pairs.add(key)

    def _check_unit(self, number: int, kind: str, line: UnitLine) -> None:
        """A memory, a turn that waits, or a text of an item: they share their ids."""
        if not isinstance(line, WaitingTurnLine | ItemTextLine):
            self._check_vector(number, kind, line.vector)
            self._networks[line.unit_id] = line.fact_type
            self.units += 1
            return
        others = {"unit", "waiting_turn", "item_text"} - {kind}
        if any(line.unit_id in self._numbers[other] for other in others):
            raise ArchiveInvalid(number, f"{kind}.unit_id", "an earlier line has the same")
        if isinstance(line, ItemTextLine) and (line.namespace, line.item_key) not in self._pairs["item"]:
            raise ArchiveInvalid(
                number, "item_text.item_key", "no item of that namespace and key stands before it"
            )
        if line.vector is not None:
            self._check_vector(number, kind, line.vector)

    def _check_turn(self, number: int, line: TurnLine) -> None:
        if line.unit is not None and not any(
            line.unit in self._numbers[kind] for kind in ("unit", "waiting_turn")
        ):
            raise ArchiveInvalid(number, "turn.unit", "no unit of that id stands before it")

    def _check_record(self, number: int, line: CategoryLine | RecordLine) -> None:
        """A category shares no spelling with another of its kind; a record has such a category, and a place of its own."""
        if isinstance(line, CategoryLine):
            spellings = {(line.kind, spelling) for spelling in line.spellings}
            if spellings & self._spellings:
                raise ArchiveInvalid(number, "category.spellings", "an earlier line has one of them")
            self._spellings |= spellings
            return
        if line.category is not None and (line.kind, line.category) not in self._pairs["category"]:
            raise ArchiveInvalid(
                number, "record.category", "no category of that kind and name stands before it"
            )
        if line.ordinal != self._records.get(line.unit, 0):
            raise ArchiveInvalid(number, "record.ordinal", "it does not follow the one before it")
        self._records[line.unit] = line.ordinal + 1

    def _check_task(self, number: int, line: TaskLine) -> None:
        """Of a kind and a key there is one task; those without a key are many."""
        if line.task_key and (line.kind, line.task_key) in self._keyed:
            raise ArchiveInvalid(number, "task.kind, task.task_key", "an earlier line has the same")
        self._keyed.add((line.kind, line.task_key))

    def _check_observed(self, number: int, line: ArchiveLine) -> None:
        """Entities, and what was made of their facts."""
        if isinstance(line, ObservationLine | ObservationFactLine):
            self._check_made(number, line)
        elif isinstance(line, EntityLine | ObservedLine):
            self._check_entity(number, line)

    def _check_made(self, number: int, line: ObservationLine | ObservationFactLine) -> None:
        """An observation is one, and stands on facts."""
        if isinstance(line, ObservationLine):
            if self._networks[line.unit] != FactType.OBSERVATION:
                raise ArchiveInvalid(number, "observation.unit", "the memory is no observation")
            self._observations.add(line.unit)
        elif line.observation not in self._observations:
            reason = "no observation of that id stands before it"
            raise ArchiveInvalid(number, "observation_fact.observation", reason)
        elif self._networks[line.fact] not in OBSERVED_NETWORKS:
            raise ArchiveInvalid(number, "observation_fact.fact", "the memory is no fact")

    def _check_opinion(
        self, number: int, kind: str, line: OpinionLine | WordingLine | GroundLine | EvidenceLine
    ) -> None:
        """Opinions are worded by units of their network, and only facts are evidence of them."""
        if isinstance(line, OpinionLine | WordingLine) and self._networks[line.unit] != FactType.OPINION:
            raise ArchiveInvalid(number, f"{kind}.unit", "the memory is no opinion")
        if isinstance(line, OpinionLine):
            self._opinions[line.unit] = 0
        elif isinstance(line, WordingLine):
            self._check_wording(number, line)
        elif isinstance(line, EvidenceLine):
            self._check_evidence(number, line)
        if not isinstance(line, GroundLine):
            self._check_revision(number, kind, line)

    def _check_wording(self, number: int, line: WordingLine) -> None:
        """The first wording names the opinion, the others follow in their order."""
        if line.number != self._opinions[line.opinion] + 1:
            raise ArchiveInvalid(number, "opinion_wording.number", "it does not follow the one before it")
        if (line.number == 1) != (line.unit == line.opinion):
            raise ArchiveInvalid(
                number, "opinion_wording.unit", "the first wording is what names the opinion"
            )
        self._opinions[line.opinion], self._wordings[line.unit] = line.number, line.opinion

    def _check_evidence(self, number: int, line: EvidenceLine) -> None:
        """It is a fact, judged against a wording of that opinion."""
        if self._networks[line.fact] not in OBSERVED_NETWORKS:
            raise ArchiveInvalid(number, "evidence.fact", "the memory is no fact")
        if self._wordings[line.version] != line.opinion:
            raise ArchiveInvalid(number, "evidence.version", "it is a wording of another opinion")
        if not self._networks.keys() >= set(line.restates):
            raise ArchiveInvalid(number, "evidence.restates", "no unit of one of the ids stands before it")

    def _check_entity(self, number: int, line: EntityLine | ObservedLine) -> None:
        """It was looked at no later than the bank came, and what was left out is there."""
        if isinstance(line, ObservedLine):
            if not self._networks.keys() >= set(line.left_out):
                raise ArchiveInvalid(
                    number, "observed.left_out", "no unit of one of the ids stands before it"
                )
        elif self.bank and (latest := max(line.facts_changed, line.observed_at)) > self.bank.revision:
            reason = f"{latest} is after the bank's own, {self.bank.revision}"
            raise ArchiveInvalid(number, "entity.facts_changed", reason)

    def _check_given(
        self, number: int, line: MentalModelLine | MentalModelGroundLine | DirectiveLine
    ) -> None:
        """Mental models have names of their own, their texts stand on facts; no directive is there twice."""
        if isinstance(line, DirectiveLine):
            given = (line.text, *sorted(line.tags))
            if given in self._directives:
                raise ArchiveInvalid(
                    number, "directive.text", "an earlier line has the same, with the same tags"
                )
            self._directives.add(given)
        elif isinstance(line, MentalModelLine):
            if line.name in self._models:
                raise ArchiveInvalid(number, "mental_model.name", "an earlier line has the same")
            self._models.add(line.name)
            self._groundless |= {line.model_id} if line.text else set()
        elif self._networks[line.unit] not in OBSERVED_NETWORKS:
            raise ArchiveInvalid(number, "mental_model_ground.unit", "the memory is no fact")
        elif line.cited:
            self._groundless.discard(line.model)

    def _check_vector(self, number: int, kind: str, vector: str) -> None:
        embedder = self.bank.embedder if self.bank else None
        if embedder is None:
            raise ArchiveInvalid(number, f"{kind}.vector", "the bank's line does not say who made vectors")
        length = vector_length(vector)
        if length != embedder.dimension:
            raise ArchiveInvalid(
                number, f"{kind}.vector", f"it has {length} numbers, the embedder makes {embedder.dimension}"
            )

    def _check_revision(
        self, number: int, kind: str, line: EventLine | MessageLine | OpinionLine | WordingLine | EvidenceLine
    ) -> None:
        if self.bank and line.revision > self.bank.revision:
            raise ArchiveInvalid(
                number, f"{kind}.revision", f"{line.revision} is after the bank's own, {self.bank.revision}"
            )


def _line(number: int, kind: str, fields: Mapping[str, object]) -> ArchiveLine:
    """The line by itself."""
    if kind not in LINES:
        raise ArchiveInvalid(number, "kind", f"it is unknown; there are {', '.join(LINES)}")
    try:
        return LINES[kind].model_validate(fields)
    except ValidationError as error:
        raise _refusal(number, kind, error) from None


def _refusal(number: int, kind: str, error: ValidationError) -> ArchiveInvalid:
    """What pydantic found first. The value itself is not repeated: it may be memory text."""
    problem = error.errors(include_url=False, include_input=False)[0]
    parts = [
        str(part)
        for part in problem["loc"]
        if isinstance(part, int) or (part.isidentifier() and len(part) <= LONGEST_SHOWN)
    ]
    reason = problem["msg"].removeprefix("Value error, ")
    return ArchiveInvalid(number, ".".join([kind, *parts]), reason[:1].lower() + reason[1:])
