"""Mental models: how standing questions are answered, when their answers are out of date, and which are near a question."""
