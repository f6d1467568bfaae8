"""What every Ledger promises of amendments and single vectors (ports/validity_log.py)."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.ports.validity_log import Amendment
from hindsight_integrations.testing.builders import at, make_event, make_units, make_vector, make_write_set
from hindsight_integrations.testing.ledger_support import AMENDED, CLOSED, NO_IDS, LedgerFixtures


class LedgerValidityContract(LedgerFixtures):
    """Promises of ValidityLog."""

    def test_amendments_are_found_by_the_unit_they_amend(self, ledger: Ledger, bank: str) -> None:
        """A unit partly taken back is known as such, with who took it back and since when; closings are not meant."""
        events = [
            make_event("u1", AMENDED, 5, by_unit="u3", reason="one"),
            make_event("u1", AMENDED, 4, by_unit="u2", reason="two"),
            make_event("u1", AMENDED, 6, by_unit="u2", reason="three"),
            make_event("u2", CLOSED, 6, by_unit="u3"),
        ]
        ledger.commit(
            make_write_set(0, bank=bank, units=make_units("u1", "u2", "u3", bank=bank), events=events)
        )
        rows = ledger.row_ids(bank, ["u1", "u2", "u3"])
        assert ledger.amended(bank).tolist() == [rows["u1"]]
        assert ledger.amendments(bank, np.array(sorted(rows.values()), np.int64)) == [
            Amendment(rows["u1"], rows["u2"], at(4)),
            Amendment(rows["u1"], rows["u3"], at(5)),
        ]
        assert ledger.amendments(bank, NO_IDS) == []

    def test_vectors_are_read_by_unit(self, ledger: Ledger, bank: str) -> None:
        """Retraction compares exactly the vectors that were stored; unknown units have none."""
        ledger.commit(make_write_set(0, bank=bank, units=make_units("u1", "u2", bank=bank)))
        row = ledger.row_ids(bank, ["u1"])["u1"]
        found = ledger.vectors_of(bank, np.array([row, 10**6], np.int64))
        assert list(found) == [row]
        np.testing.assert_array_equal(found[row], make_vector("u1"))
