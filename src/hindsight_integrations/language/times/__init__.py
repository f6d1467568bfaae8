"""Time expressions: when an event happened (retain), and which time window a question asks for (recall)."""
