"""English questions over records: how they are asked, what records may be of, and how they are answered."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_words import (
    AnswerWords,
    Cue,
    ListingWords,
    RecordWords,
    by_form,
    words_of,
)

_POLITE = re.compile(
    r"^(?:(?:hey|hi|ok|okay|so|and|well|please|quick question)\b[,:]? ?)*"
    r"(?:(?:can|could|would) you (?:please |quickly )?(?:tell me|remind me|let me know|say|work out|figure out|calculate)"
    r"|(?:please )?(?:tell me|remind me|let me know)|do you know|i(?:'d| would) like to know|i want to know|i wonder)\b[,:]? ?"
    r"|^(?:can|could|would) you (?:please )?(?=(?:list|show|add|sum|total|count|give)\b)|^(?:please )?give me (?=(?:the|a|my) (?:total|sum|average|number|overall))|^(?:(?:hey|hi|ok|okay|so|and|well|please|quick question)\b[,:]? ?)+",
    re.IGNORECASE,
)
_CONTRACTED = (
    (re.compile(r"\b(what|which|when|how|where)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(i)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(i)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(did|have|do|was|am|are|is|has)n't\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\b(today|yesterday|week|month|year)'s\b(?= [a-z])", re.IGNORECASE), r"\1"),
    (re.compile(r"\bdoes (.+?) cost me\b", re.IGNORECASE), r"do I pay for \1"),
    (re.compile(r"\b(day|week|month)(s?) of (?=this|last|the last|the past|[A-Z])"), r"\1\2 in "),
    (
        re.compile(r"\b(in|during|for) ([A-Z][a-z]+)(?= (?:did|have|had|was|do|i)\b)", re.IGNORECASE),
        r"\1 \2,",
    ),
)


def _rewritten(text: str) -> str:
    """Without politeness and contractions; "which week of May" as "which week in May"."""
    plain = _POLITE.sub("", text)
    for pattern, simple in _CONTRACTED:
        plain = pattern.sub(simple, plain)
    return plain


_PERIOD = "(?:days?|weeks?|months?|dates?)"
_NUMBER_NEXT = r"(?= [$\u20ac\u00a3]?\s?\d)"
_REACH = r"(?:meet|met|meeting|reach|reached|reaching|hit|hitting|achieve|achieved|achieving)"
_WITHIN = r"(?:within|inside|in line with)"
_STAY = r"(?:stay|stayed|staying|keep|kept|keeping|remain|remained)"
_CUES = {
    Cue.HOW_MUCH: r"how much(?: (?:money|cash))?|how high(?= (?:is|was|are|were)\b)"
    r"|what (?:is|was)(?= (?:my|the) (?:[\w-]+ ){0,2}(?:spending|spend|expenditure)\b)",
    Cue.HOW_MANY: r"how many(?! (?:times|days|weeks|months|years)\b)",
    Cue.HOW_OFTEN: r"how often|how many times|how frequently",
    Cue.HOW_FAR: r"how far|what distance",
    Cue.HOW_LONG: r"how long|how much time(?: (?:did|have) i (?:spend|spent))?",
    Cue.WHEN: r"when",
    Cue.WHETHER: r"(?:did|have|am|do|was|had) i|(?:is|are|was|were|has|did|does) my",
    Cue.HOW_DOING: r"how am i doing(?: (?:on|with|against|for))?|how did i do (?:on|with|against)",
    Cue.TOTAL: r"(?:the )?(?:grand |overall )?total(?: amount| sum)?(?: of)?|(?:the )?(?:sum|sum total)(?: of)?|in total"
    r"|totall?ed|altogether|all together|overall|all in all|combined|add up|sum up|in sum",
    Cue.NUMBER: r"(?:the )?(?:total |overall )?(?:number|count) of|count(?= (?:my|the|all|how))",
    Cue.AVERAGE: r"(?:the |an |my )?(?:average|mean)|on average|averaged?|avg",
    Cue.LAST: r"last|latest|most recent|most recently|the last time|newest",
    Cue.LIST: r"(?:give me |show me |make |get me )?(?:a |the )?(?:full |complete |whole )?list(?: out)?(?: of)?(?: all| every)?"
    r"|which(?= (?:runs|rides|walks|hikes|swims|workouts)\b)|what (?:did|have) i spen[dt] (?:my |any )?money on"
    r"|which(?= (?:expenses|spending)\b)"
    r"|show(?: me)?|give me(?: (?:all|every)|(?= my\b))|enumerate|name(?= (?:all|every|my)\b)|itemi[sz]e",
    Cue.DEAREST: r"(?:the |my )?(?:most expensive|priciest|costliest)",
    Cue.MOST: r"(?:the )?(?:most money|most|highest|biggest|largest|greatest|maximum)|(?:my |the )best",
    Cue.LEAST: r"(?:the )?(?:least money|least|fewest|lowest|smallest|minimum)|(?:my |the )worst",
    Cue.WHICH_PERIOD: rf"(?:(?:on|in|during) )?(?:which|what) {_PERIOD}(?: (?:was it|is it|was|is|did i|have i|had))?"
    rf"|what (?:was|is) (?:the|my) {_PERIOD} (?:with|on which|when|that had)(?: i)?",
    Cue.HOW_MANY_PERIODS: rf"(?:(?:on|in|for|during) )?how many (?:of the |different )?{_PERIOD}"
    rf"|(?:the )?number of {_PERIOD}(?: on which| in which| that| when)?",
    Cue.PER_PERIOD: rf"(?:per|each|every|an?|by the) {_PERIOD}|in (?:a|one|any|a single|any one) {_PERIOD}"
    rf"|on (?:a|one|any|a single|any one) {_PERIOD}|daily|weekly|monthly",
    Cue.AT_LEAST: rf"at least{_NUMBER_NEXT}|no (?:less|fewer) than{_NUMBER_NEXT}|a minimum of{_NUMBER_NEXT}",
    Cue.MORE: rf"(?:more than|over|above|exceed(?:ed)?|upwards of){_NUMBER_NEXT}",
    Cue.AT_MOST: rf"(?:at most|no more than|up to|a maximum of|not more than){_NUMBER_NEXT}",
    Cue.LESS: rf"(?:less than|fewer than|under|below){_NUMBER_NEXT}",
    Cue.MISSED: rf"miss|missed|missing|(?:fail|failed|failing) to (?:{_REACH}|{_STAY} {_WITHIN}|keep to|stick to|make)"
    rf"|fall short of|fell short of|fallen short of|not (?:{_REACH}|make|{_STAY} {_WITHIN}|keep to|stick to)",
    Cue.MET: rf"{_REACH}|(?:make|made|making)(?= (?:my|the) (?:[\w-]+ ){{0,3}}(?:goal|target))"
    rf"|(?:{_STAY} )?(?:still )?{_WITHIN}|(?:keep|kept|keeping|stick|stuck|sticking) to|{_STAY} (?:under|below|in)|on(?= budget\b)",
    Cue.OVER: r"(?:go|went|gone|going|come|came|run|ran) (?:over|above|beyond)|over|above|exceed|exceeded|exceeding|surpass"
    r"|surpassed|overspen[dt]|blow|blew|blown|overshoot|overshot|break|broke|broken",
    Cue.UNDER: r"under|below|beneath",
    Cue.FARTHEST: r"(?:the )?(?:farthest|furthest)",
    Cue.PER_RECORD: r"per(?! (?:days?|weeks?|months?|years?)\b)",
    Cue.GOAL: r"(?:goal|target|budget|limit|quota|allowance|cap|objective)(?: goal| target| limit)?",
    Cue.GOALS: r"goals|targets|budgets|limits|objectives",
    Cue.SPEND: r"(?<!to )(?:spend|spent|pay|paid)|(?:shelled|shell) out|dropped(?= on\b)|(?<=how much )(?:on|for)|(?:has |have )?(?:went|gone) (?:on|to|into)",
    Cue.COST: r"cost",
    Cue.BUY: r"(?<!to )(?:buy|bought|purchase|purchased)",
    Cue.EARN: r"earn|earned|get paid",
    Cue.SPENDING: r"spending|spendings|expenses?|expenditures?|costs|outlays?",
    Cue.PURCHASES: r"purchases?|(?:(?<=grocery )|(?<=food ))(?:shops?|shopping)",
    Cue.INCOME: r"income|earnings",
    Cue.TASKS: r"(?:still )?(?:open |pending |outstanding |left )?(?:on )?(?:my )?(?:open |pending |outstanding )?(?:to-dos?|todos?|to do|tasks?)(?: (?:list|items?))?"
    r"(?: are (?:still )?(?:open|on my list))?|(?:on )?(?:my |the )?list of (?:my )?(?:tasks|to-dos|todos)|(?:do i )?(?:still )?(?:need|have) to do",
    Cue.EVENTS: r"events?|appointments?",
    Cue.PREFERENCES: r"preferences",
    Cue.WHAT: r"what|which",
}  # fmt: skip
_FILLER = words_of(
    """i my me mine myself a an the of on for in at to is are was were been did do have had there all so far yet now
    currently up until exactly precisely actually amount recorded log logged track tracked enter entered entries
    note noted take took taken taking get got go went gone make made making which during throughout current present
    please pls plz from keep kept stay stayed buying covered manage managed sessions session thing things right"""
)
_THINGS = by_form(
    {
        "bakery": "bakeries, baked goods, pastry, pastries",
        "bills": "bill",
        "books": "book, novel, novels",
        "bread": "breads, loaf",
        "breakfast": "breakfasts",
        "brunch": "brunches",
        "car": "cars",
        "charity": "donation, donations, charities",
        "cinema": "movie, movies, film, films, cinema ticket, cinema tickets, movie ticket, movie tickets",
        "clothes": "clothing, clothe, apparel",
        "coffee": "coffees, cup of coffee, cups of coffee, café, espresso",
        "concert": "concerts, concert ticket, concert tickets",
        "cosmetics": "toiletries",
        "cycling": "cycle, cycled, bike, biked, biking, bike ride, bike rides, bicycle, ride, rides, rode",
        "dentist": "dentists",
        "dessert": "desserts",
        "dinner": "dinners, supper, suppers",
        "doctor": "doctors, medical",
        "drinks": "drink, alcohol",
        "eating out": "dining out, dining",
        "electricity": "power",
        "electronics": "gadgets",
        "entertainment": "",
        "fast food": "",
        "food": "foods, food and drink",
        "fruit": "fruits",
        "fuel": "gas, petrol, gasoline, diesel",
        "furniture": "",
        "games": "game, video games",
        "garden": "gardening",
        "gifts": "gift, present, presents",
        "groceries": "grocery, supermarket",
        "gym": "gyms, fitness, gym membership",
        "haircut": "haircuts, hairdresser, barber",
        "health": "healthcare",
        "hiking": "hike, hikes, hiked",
        "hobby": "hobbies",
        "hotel": "hotels, accommodation, lodging",
        "household": "",
        "ice cream": "ice creams",
        "insurance": "insurances",
        "internet": "",
        "juice": "juices",
        "lunch": "lunches",
        "meals": "meal",
        "meat": "",
        "medicine": "medicines, medication, medications, pharmacy",
        "meditation": "meditate, meditated, meditating",
        "pages": "page",
        "parking": "",
        "pets": "pet, pet food",
        "phone": "phone bill, mobile, telephone",
        "pizza": "pizzas",
        "reading": "read",
        "rent": "",
        "restaurant": "restaurants",
        "running": "run, runs, ran, jog, jogs, jogged, jogging",
        "salary": "salaries, wage, wages, paycheck, paychecks",
        "school": "",
        "shoes": "shoe",
        "sleep": "slept, sleeping",
        "snacks": "snack",
        "sports": "sport",
        "steps": "step, step count, steps walked",
        "studying": "study, studied",
        "subscriptions": "subscription",
        "sweets": "candy, chocolate",
        "swimming": "swim, swam, swims",
        "takeaway": "takeout, take-out, takeaways, delivery",
        "tax": "taxes",
        "taxi": "taxis, cab, cabs",
        "tea": "teas",
        "theatre": "theater",
        "tickets": "ticket",
        "tips": "tip",
        "tools": "tool",
        "toys": "toy",
        "train": "trains, train tickets, train ticket",
        "transport": "transportation, public transport, transit",
        "travel": "travels, trip, trips",
        "utilities": "utility",
        "vegetables": "vegetable",
        "walking": "walk, walked, walks",
        "water": "",
        "weight": "weigh, weighed, body weight",
        "height": "",
        "temperature": "temperatures",
        "heart rate": "pulse",
        "blood pressure": "",
        "mood": "",
        "speed": "",
        "pace": "",
        "score": "scores",
        "work": "worked, working",
        "workout": "workouts, exercise, exercised, training",
        "yoga": "",
    }
)

_LISTING = ListingWords(
    asking=re.compile(
        r"(?:(?:hey|hi|ok|okay|so|and|well|please)\b[,:]? ?)*(?:(?:can|could|would) you (?:please )?)?(?:what|which|list|show|give|name|remind|tell|enumerate|how much|how many|how far|have i|do i have|am i|is there|are there|anything|any)\b"
    ),
    kinds={
        RecordKind.TASK: re.compile(r"\b(?:chores|errands|to-do list|todo list)\b"),
        RecordKind.EVENT: re.compile(r"\b(?:schedule|calendar|diary|planned|coming up|coming)\b"),
    },
    idle=words_of(
        "a about add add-up added all altogether am anything app are at been came can come comes coming costs "
        "currently do does doing done due entries ever far for from get go going got has have i in is it item "
        "items keep kept know left like list log logged me mine my myself need now of on ones our out "
        "outstanding over paid pay plate please readings recorded right run so some spend stand still "
        "surrounding that the them there things this to together toward towards track up we what which with "
        "work working you"
    ),
)

RECORDS = RecordWords(
    listing=_LISTING,
    opening=re.compile(
        r"(?:how|what|which|when|did|does|has|have|am|do|was|had|is|are|were|list|show|give|name|enumerate|itemi[sz]e|count|add up|sum up"
        r"|total|the total|the number|number of|my (?:total|average|overall)|average|the average|sum of|the sum"
        r"|(?:on|in|during|for) (?:which|what|how many)|on average|in total|overall)\b"
    ),
    sentence=re.compile(
        r"[.!,]|\b(?:i|you|he|she|we|they|it|is|are|was|were|be|have|has|had|do|does|did|that|there|not|no)\b"
    ),
    cues=_CUES,
    periods={
        "day": Granule.DAY, "days": Granule.DAY, "date": Granule.DAY, "dates": Granule.DAY, "daily": Granule.DAY,
        "week": Granule.WEEK, "weeks": Granule.WEEK, "weekly": Granule.WEEK,
        "month": Granule.MONTH, "months": Granule.MONTH, "monthly": Granule.MONTH,
    },
    filler=_FILLER,
    things=_THINGS,
    rewritten=_rewritten,
    habit=re.compile(r"\bdo i\b|^how much (?:on|for)\b|^(?:what|how (?:much|high)) (?:is|are) my (?!total|overall)"),
    at_most=re.compile(
        r"\b(?:at most|no more than|not (?:to )?(?:spend )?more than|less than|fewer than|under|below|within|limit\w*|cap|max(?:imum)?"
        r"|up to|budget\w*|not exceed\w*|cut(?:ting)? (?:down|back)|reduc\w+)\b",
        re.IGNORECASE,
    ),
    at_least=re.compile(
        r"\b(?:at least|no (?:less|fewer) than|more than|min(?:imum)?|or more|reach\w*|hit|achiev\w*)\b", re.IGNORECASE
    ),
    done=re.compile(
        r"\((?:completed|done|finished|removed|deleted|cancell?ed|dropped|no longer[^()]*)\)\s*$"
        r"|^(?:completed|done|finished|removed|cancell?ed):", re.IGNORECASE
    ),
    answers=AnswerWords(
        records=("1 record", "{count} records"),
        kinds={
            "expense": "expenses", "income": "income", "quantity": "measurements", "goal": "goals", "task": "tasks",
            "event": "events", "preference": "preferences", "document_item": "items", "other": "other records",
        },
        whenever="at any time",
        day="{start}",
        days="{start} to {end}",
        list="{subject}, {when}: {items} ({records}).",
        total="{subject}, {when}: {value} in total ({records}).",
        count="{subject}, {when}: {records}.",
        average="{subject}, {when}: {value} a record on average ({records}, {total} in total).",
        average_period="{subject}, {when}: {value} {per} on average, over {periods} with records ({total} in total).",
        latest="{subject}, last on {date}: {value}.",
        goal="{subject}, {when}: {value} against {target}: {standing} ({records}).",
        goal_average="{subject}, {when}: {value} {per} on average against {target}: {standing}"
        " (so in {met} of {periods} with records, {total} in total).",
        most="{subject}, {when}: the most was {value}: {periods}.",
        least="{subject}, {when}: the least was {value}: {periods}. Only times with records count.",
        counted="{subject}, {when}: {target} was {standing} in {count} of {periods} with records.",
        units={"day": ("1 day", "{count} days"), "week": ("1 week", "{count} weeks"), "month": ("1 month", "{count} months")},
        per={"day": "a day", "week": "a week", "month": "a month"},
        standing={
            "met": "met", "missed": "missed", "over": "exceeded", "under": "not reached",
            "kept": "kept", "broken": "exceeded", "kept so far": "kept so far", "missed so far": "not met so far",
        },
        bounds={">=": "at least {value}", ">": "more than {value}", "<=": "at most {value}", "<": "less than {value}"},
        none="{subject}, {when}: nothing is recorded.",
        and_="and",
    ),
)  # fmt: skip
