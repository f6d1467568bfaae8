"""Times in plain words, as windows: when something happened (retain), and which time a question asks for (recall)."""
