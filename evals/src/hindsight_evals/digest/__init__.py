"""Questions about records in free wording, in English, German and Spanish, for the record digest (issue 40).

The authors had not seen the code. Each file has one person's records and questions. Half of the questions
have one exact figure (`figure`, `unit`, `category`, and the window `from` to `to`, inclusive; none for all
time), the others have none. `held_out` is only for reports; the other files may be used for development.
"""
