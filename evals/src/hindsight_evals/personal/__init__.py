"""Two simulated lives, with requests whose answers need lasting facts; their author had not seen the code.

Each has 330 statements, 30 requests, 10 messages of small talk and 40 questions about things that were never
mentioned. `galway` was used during the development of core memory, `montevideo` was not.
"""
