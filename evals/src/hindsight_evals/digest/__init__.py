"""Questions over records in free wording, written blind in English, German and Spanish, for the record digest (issue 40).

Each file has one person's records and questions; half of the questions have one exact figure (`figure`, `unit`, `category`, and the
window `from` to `to`, inclusive; none for all time), the other half none. `held_out` is for reports, the others may be looked at.
"""
