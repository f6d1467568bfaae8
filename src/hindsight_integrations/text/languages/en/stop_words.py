"""English words that tell no two memories apart."""

from __future__ import annotations

# Function words, and verbs and adverbs any sentence may have: they tell no two memories apart.
_FUNCTION_WORDS = """
    a about again all also although am an and any are as at be been being but by can could did do does doing
    done for from get gets getting got had has have having he her hers him his how i if in into is it its
    just lately let made make me mine more most much my no not now of off on once one only or other our out
    over own really s she so some still such t than that the their them then there these they this those to
    too up us very was we were what when where which while who whom why will with would you your yours
"""
_PLACES = frozenset({"list", "lists", "field", "section"})  # where something is kept, not what it is

STOP_WORDS = frozenset(_FUNCTION_WORDS.split()) | _PLACES
