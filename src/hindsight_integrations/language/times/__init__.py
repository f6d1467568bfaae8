"""Time expressions: the time of an event in a statement (retain), and the time window of a question (recall)."""
