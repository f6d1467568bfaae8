"""Judging answers: by a rule for each sort of question, or criterion by criterion, by one judge or several."""
