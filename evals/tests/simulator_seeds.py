"""Small seed data for tests of the simulator: two phrasings for each operation, one of them held out."""

from __future__ import annotations

from typing import Any

from hindsight_evals.simulator.seeds import Seeds

TOLD: dict[tuple[str, str], tuple[str, str, str]] = {
    ("preference", "add"): ("I {liking} {item}.", "User {liking}s {item}.", ""),
    ("preference", "update"): ("{item}, not {old_item}.", "User {liking}s {item}.", "User {liking}s {old_item}."),
    ("preference", "delete"): ("{item} means nothing to me now.", "User gave up {item}.", "User {liking}s {item}."),
    ("todo", "add"): ("I have to {task}.", "User has to {task}.", ""),
    ("todo", "delete"): ("{task}: off the list.", "User need not {task}.", "User has to {task}."),
    ("calendar_event", "add"): ("{event} is on {day}.", "User has {event} on {day}.", ""),
    ("calendar_event", "update"): ("{event} moved to {day}.", "User has {event} on {day}.", "User has {event} on {old_day}."),
    ("calendar_event", "delete"): ("{event} is off.", "{event} was cancelled.", "User has {event} on {day}."),
    ("food_expense", "add"): ("${amount} for {category}.", "User spent ${amount} on {category}.", ""),
    ("steps", "add"): ("{steps} steps today.", "User walked {steps} steps.", ""),
    ("document", "add"): ("{title}, {field}: {value}.", "The {field} of {title} is {value}.", ""),
    ("document", "update"): ("{title}: {value}, not {old_value}.", "The {field} of {title} is {value}.", "The {field} of {title} is {old_value}."),
    ("document", "delete"): ("Strike {value} from {title}.", "{value} was struck.", "The {field} of {title} is {value}."),
    ("food_budget", "add"): ("At most ${amount} a week for {category}.", "User budgets ${amount} for {category}.", ""),
    ("food_budget", "update"): ("${amount} for {category} from now on.", "User budgets ${amount} for {category}.", "User budgets ${old_amount} for {category}."),
    ("step_target", "add"): ("{steps} steps a day is my goal.", "User aims at {steps} steps.", ""),
    ("step_target", "update"): ("Make it {steps} steps.", "User aims at {steps} steps.", "User aims at {old_steps} steps."),
}  # fmt: skip
ASKED = {
    "remembering": ("todos", "calendar", "goals"),
    "reasoning": ("food_total", "steps_total"),
    "recommending": ("movies", "music"),
}
WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "maple",
    "north",
    "ochre",
    "pearl",
    "quartz",
    "ridge",
    "slate",
    "tulip",
]


def _families() -> list[dict[str, Any]]:
    return [
        {
            "id": f"{memory}-{operation}-{manner}",
            "memory": memory,
            "operation": operation,
            "held_out": manner == "aside",
            "lead_in": ["Anything new?"] if manner == "aside" else [],
            "user": [user, f"By the way: {user}"] if manner == "plain" else [f"Aside: {user}"],
            "reply": ["Noted.", "All right."],
            "fact": [fact],
            "invalidates": [gone] if gone else [],
        }
        for (memory, operation), (user, fact, gone) in TOLD.items()
        for manner in ("plain", "aside")
    ]


def _questions() -> list[dict[str, Any]]:
    return [
        {
            "id": f"{target}-{held_out}",
            "task": task,
            "target": target,
            "held_out": held_out,
            "text": [f"About {target}?"],
        }
        for task, targets in ASKED.items()
        for target in targets
        for held_out in (False, True)
    ]


SEEDS = Seeds.model_validate(
    {
        "personas": [{"id": "baker", "role": "Baker", "tastes": {"movies": ["quiet"]}}],
        "pools": {
            "pools": {
                "movies": {
                    "genres": {
                        "quiet": [f"{w} drama" for w in WORDS],
                        "loud": [f"{w} thriller" for w in WORDS],
                    }
                },
                "music": {"artists": {"old": [f"{w} quartet" for w in WORDS]}},
            },
            "todos": {
                "personal": [f"paint the {w} door" for w in WORDS],
                "work": [f"file the {w} report" for w in WORDS],
            },
            "events": {"personal": [f"{w} fair" for w in WORDS], "work": []},
            "expenses": {
                "coffee": {"from": 2, "to": 6},
                "lunch": {"from": 6, "to": 20},
                "dinner": {"from": 9, "to": 40},
            },
            "documents": {
                "proposal": [
                    {
                        "title": f"Project {w}",
                        "fields": {"members": [f"{x} {w}" for x in WORDS[:4]], "aims": ["speed", "calm"]},
                    }
                    for w in WORDS
                ]
            },
        },
        "families": _families(),
        "neutral": {
            "openings": [["Hello!", "Hi there."], ["Good day.", "Morning."]],
            "closings": [["Anything else?", "No, thanks."], ["Take care.", "Bye."]],
            "exchange": [
                {"topic": w, "lines": [f"What of the {w}?", "I wonder.", "So do I.", "Well."]} for w in WORDS
            ],
        },
        "questions": _questions(),
    }
)
