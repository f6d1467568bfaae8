"""Judging of answers by one or several judges, with a rule for each kind of question or by criteria."""
