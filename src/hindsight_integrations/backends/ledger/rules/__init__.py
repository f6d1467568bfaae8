"""Rules every ledger keeps, whatever it stores in: pure, and shared by all of them."""
