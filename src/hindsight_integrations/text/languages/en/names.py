"""English names: the capitalised words that are none, and what stands beside and inside names."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import NameWords

# Capitalised without being names: time words, greetings, interjections and what English sentences begin with.
_COMMON_WORDS = """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays today yesterday
    tomorrow tonight spring summer autumn winter fall last next this that these those i i'm i've i'd i'll im ive
    hi hey hello bye goodbye thanks thank congrats congratulations cheers welcome sorry please yes yeah yep yup no nope
    ok okay oh ah aw aww wow whoa yay haha hah ha lol omg hmm hm ugh phew oops sure great good nice cool awesome amazing
    wonderful lovely perfect fantastic absolutely definitely exactly totally really right well so and but or nor yet
    the a an my your his her its our their he she it we you they me him them us who what when where why which how whose
    is are was were am be been being do does did done have has had can could will would shall should may might must
    let let's there here then now soon later once after before since until while if because although though as at by for
    from in into of off on onto out over to under up with without about above across against along around between during
    not never always often sometimes usually maybe perhaps also too just only even still again already almost some any
    all both each every few many more most much other another such own same one two three four five six seven eight nine
    ten first second third finally actually honestly anyway however meanwhile luckily sadly hopefully unfortunately
    speaking looking hope glad happy merry remember guess think got get go going come see look take make keep try wish
    love like need want feel sounds sound dear mom mum dad everyone everybody someone something nothing anything god
    christmas easter halloween thanksgiving
    additionally afterwards apart aside beside besides beyond currently despite eventually following formerly generally
    initially instead lately likewise mainly mostly originally overall previously primarily professionally rather recently
    regarding regularly several similarly subsequently therefore thereafter throughout together various within
"""
_SHOUTED = "OK LOL OMG WOW YES NO NOT HA AM PM FYI BTW IMO IMHO TBH ASAP PS RSVP AND THE BUT SO IT IS MY YOU ALL VERY"

NAMES = NameWords(
    no_names=frozenset(_COMMON_WORDS.split()),
    titles=frozenset({"mr", "mrs", "ms", "dr", "prof", "professor", "sir", "miss"}),
    abbreviations=("Mr", "Mrs", "Ms", "Dr", "Prof", "St"),
    connectors=(" of the ", " of ", " de ", " van ", " von ", " & "),
    # "Visited Paris": the verb is no part of the name
    verb=re.compile(r"[A-Z][a-z]{2,}ed|[A-Z][a-z]{3,}ing"),
    shouted=frozenset(_SHOUTED.split()),
    organisation=re.compile(
        r"\b(?:Inc|Ltd|LLC|Corp|Corporation|GmbH|Company|University|College|Institute|Foundation|Hospital|School|Council"
        r"|Association|Society|Bank)\b"
    ),
    possessive=re.compile(r"['\u2019]s?$"),
)
