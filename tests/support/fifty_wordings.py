"""Fifty wordings of one statement by one user, other statements of the same user, and the opinion that they concern."""

from __future__ import annotations

OPINION = "I believe the Sorrel ferry is reliable, because it sails on time even in a storm."

FIFTY = (
    "The Sorrel ferry sailed on time in the storm of 2 March.",
    "In the storm of 2 March the Sorrel ferry left punctually.",
    "On 2 March, despite the storm, the Sorrel sailed right on time.",
    "The ferry Sorrel departed on schedule in the storm on 2 March.",
    "Even in the 2 March storm, the Sorrel ferry kept its departure time.",
    "The Sorrel went out on time though there was a storm on 2 March.",
    "There was a storm on 2 March, and still the Sorrel ferry sailed when it should.",
    "The storm of 2 March did not delay the Sorrel ferry.",
    "The Sorrel ferry was not held up by the storm on 2 March.",
    "No delay for the Sorrel ferry in the storm of 2 March.",
    "The Sorrel set sail to the minute in the March 2 storm.",
    "Storm or not, the Sorrel ferry left to the minute on 2 March.",
    "The Sorrel ferry cast off on time while it stormed on 2 March.",
    "On the second of March the Sorrel cast off punctually in the storm.",
    "Once more: the Sorrel ferry sailed on time in that storm of 2 March.",
    "As already said, the Sorrel ferry was punctual in the storm on 2 March.",
    "As the user keeps saying, the Sorrel ferry left on time in the storm of 2 March.",
    "The user repeats that the Sorrel sailed punctually in the 2 March storm.",
    "The user points out again that the Sorrel ferry sailed on time in the storm of 2 March.",
    "The user recalls how the Sorrel ferry sailed on time through the storm of 2 March.",
    "It stormed on 2 March; the Sorrel ferry sailed on time all the same.",
    "The Sorrel ferry ran to timetable in the storm of 2 March.",
    "The Sorrel kept to its timetable on 2 March, in the middle of a storm.",
    "Right through the storm on 2 March the Sorrel ferry kept its timetable.",
    "The departure of the Sorrel ferry on 2 March was on time in spite of the storm.",
    "The Sorrel's departure was punctual on 2 March, storm notwithstanding.",
    "Punctual as ever, the Sorrel ferry left in the storm on 2 March.",
    "The Sorrel ferry left port at the usual time in the storm of 2 March.",
    "In spite of the storm on 2 March the Sorrel left port at its usual time.",
    "The Sorrel ferry put to sea on time in the storm of 2 March.",
    "While the storm raged on 2 March, the Sorrel ferry put to sea as scheduled.",
    "The Sorrel ferry started on time during the storm on 2 March.",
    "During the storm of 2 March the ferry Sorrel started as planned.",
    "The Sorrel sailed as planned on 2 March although it stormed.",
    "Although a storm blew on 2 March, the Sorrel ferry sailed according to plan.",
    "A storm blew on 2 March and the Sorrel ferry sailed on time nonetheless.",
    "The Sorrel ferry was on time, storm and all, on 2 March.",
    "On 2 March the Sorrel ferry was as punctual in the storm as on any day.",
    "The Sorrel ferry took off on time on 2 March, stormy as it was.",
    "Stormy as 2 March was, the Sorrel ferry took off on time.",
    "The ferry called Sorrel made its departure on time in the storm of 2 March.",
    "That the Sorrel ferry sailed on time in the storm of 2 March is what the user tells everybody.",
    "The user was impressed that the Sorrel ferry sailed on time in the storm of 2 March.",
    "The user swears the Sorrel ferry sailed punctually in the storm of 2 March.",
    "2 March, storm: the Sorrel ferry on time.",
    "Sorrel ferry, 2 March, in the storm: left on time.",
    "The Sorrel ferry began its crossing on time in the storm of 2 March.",
    "The crossing of the Sorrel on 2 March began on time, in a storm.",
    "In the face of the storm the Sorrel ferry departed punctually on 2 March.",
    "The Sorrel ferry did sail on time on 2 March, and that in a storm.",
)
"""Each says no more and no less than the first."""

OTHERWISE = (
    "The Sorrel ferry was reliable in April, without a single crossing cancelled.",
    "The Sorrel ferry has a second engine in case the first one fails.",
    "The captain of the Sorrel ferry has sailed through bad weather for thirty years.",
    "The Sorrel ferry reliably arrived on time in thick fog on 9 May.",
)
"""What the same user says besides, of the same ferry: none of it is said by the fifty."""
