"""Two lives, written blind, with requests whose answers need standing facts.

Each has 330 statements, 30 requests, 10 messages of small talk and 40 questions about what was never mentioned. `galway` was looked at
while core memory was built, `montevideo` was not.
"""
