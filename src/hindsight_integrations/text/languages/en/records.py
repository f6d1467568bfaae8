"""English words for records: how figures of them are asked for, and what they may be of."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_words import RecordWords, by_form, words_of

_THINGS = by_form(
    {
        "bakery": "bakeries, baked goods, pastry, pastries",
        "beer": "beers",
        "bills": "bill",
        "blood pressure": "",
        "bonus": "bonuses",
        "books": "book, novel, novels",
        "bread": "breads, loaf",
        "breakfast": "breakfasts",
        "brunch": "brunches",
        "bus": "buses, bus ticket, bus tickets, bus fare, bus fares",
        "calories": "calorie, kcal",
        "car": "cars",
        "cat": "cat food",
        "charity": "donation, donations, charities",
        "chess": "",
        "childcare": "nursery, daycare, babysitter",
        "cinema": "movie, movies, film, films, cinema ticket, cinema tickets, movie ticket, movie tickets, cinema trip",
        "cleaning": "cleaner",
        "clothes": "clothing, clothe, apparel",
        "coffee": "coffees, cup of coffee, cups of coffee, café, espresso",
        "commission": "commissions",
        "concert": "concerts, concert ticket, concert tickets",
        "cosmetics": "toiletries",
        "cycling": "cycle, cycled, bike, biked, biking, bike ride, bike rides, bicycle, ride, rides, rode",
        "dentist": "dentists, dental",
        "dessert": "desserts",
        "dinner": "dinners, supper, suppers",
        "doctor": "doctors, medical",
        "dog": "dog food",
        "drinks": "drink, alcohol",
        "eating out": "dining out, dining",
        "electricity": "power, electric",
        "electronics": "gadgets",
        "entertainment": "",
        "fast food": "",
        "flights": "flight, airfare, plane tickets",
        "food": "foods, food and drink",
        "freelance": "freelancing, freelance work",
        "fruit": "fruits",
        "fuel": "gas, petrol, gasoline, diesel, tank, filled up, fill up, refuel, refuelled, refueled, gas station",
        "furniture": "",
        "games": "game, video games",
        "garden": "gardening",
        "gifts": "gift, present, presents, gifting",
        "groceries": "grocery, supermarket, food shopping, grocery shopping, supermarket shopping",
        "guitar": "",
        "gym": "gyms, fitness, gym membership",
        "haircut": "haircuts, hairdresser, barber, hair, salon",
        "health": "healthcare",
        "heart rate": "pulse",
        "height": "",
        "hiking": "hike, hikes, hiked",
        "hobby": "hobbies",
        "hotel": "hotels, accommodation, lodging",
        "household": "",
        "ice cream": "ice creams",
        "insurance": "insurances",
        "interest": "",
        "internet": "",
        "juice": "juices",
        "lottery": "",
        "lunch": "lunches",
        "meals": "meal",
        "meat": "",
        "medicine": "medicines, medication, medications, pharmacy, chemist, drugstore, pharmacies, meds",
        "meditation": "meditate, meditated, meditating",
        "mood": "",
        "pace": "",
        "pages": "page",
        "parking": "",
        "pets": "pet, pet food",
        "phone": "phone bill, mobile, telephone",
        "piano": "",
        "pizza": "pizzas",
        "push-ups": "pushups, push-up",
        "reading": "read",
        "refund": "refunds, refunded",
        "rent": "",
        "repairs": "repair, repaired",
        "restaurant": "restaurants",
        "running": "run, runs, ran, jog, jogs, jogged, jogging, runner",
        "salary": "salaries, wage, wages, paycheck, paychecks",
        "savings": "saved, saving",
        "school": "",
        "score": "scores",
        "screen time": "",
        "shoes": "shoe",
        "sleep": "slept, sleeping, asleep, nap, naps, night, nights",
        "snacks": "snack",
        "speed": "",
        "sports": "sport",
        "steps": "step, step count, steps walked",
        "studying": "study, studied",
        "subscriptions": "subscription",
        "sweets": "candy, chocolate",
        "swimming": "swim, swam, swims",
        "takeaway": "takeout, take-out, takeaways, delivery, take-aways, takeouts, delivered food",
        "tax": "taxes",
        "taxi": "taxis, cab, cabs",
        "tea": "teas",
        "temperature": "temperatures",
        "theatre": "theater",
        "tickets": "ticket",
        "tips": "tip",
        "tolls": "toll",
        "tools": "tool",
        "toys": "toy",
        "train": "trains, train tickets, train ticket",
        "translation": "translations, translating, translate",
        "transport": "transportation, public transport, transit",
        "travel": "travels, trip, trips",
        "utilities": "utility",
        "vegetables": "vegetable",
        "vet": "vets, veterinary",
        "walking": "walk, walked, walks",
        "water": "",
        "weight": "weigh, weighed, body weight, scales, heavy",
        "wine": "wines",
        "work": "worked, working",
        "workout": "workouts, exercise, exercised, training",
        "writing": "wrote, written",
        "yoga": "",
    }
)


RECORDS = RecordWords(
    figures=re.compile(
        r"\b(?:how (?:much|many|often|far|long|high|heavy|frequently)|totals?|totall?ed|sum|summed|altogether|all in all|overall|combined|added? up"
        r"|on avera?a?ge|av[ae]rage\w*|avg|the mean|typical(?:ly)?|number of|count|what day|which (?:days?|weeks?|months?)|what (?:week|month)"
        r"|(?:most|least) (?:expensive|money|steps)|dearest|priciest|costliest|cheapest|longest|shortest|biggest|largest|highest|lowest|smallest"
        r"|f[au]rthest|heaviest|lightest|most i|least i|breakdown|comes? to|came to|damage)\b"
    ),
    otherwise=re.compile(
        r"\b(?:who|whom|whose|where(?! did (?:all )?my money)|when|what (?:kind|sort|type|else|time|brand|colou?r|happened)|how (?:do|does|did|can|could|to|was|were|is|are|come|about)"
        r"|likes?|liked|loves?|prefer(?:s|red)?|favou?rite|called|tell|told|say|said|think|thought|meet(?= \w+ (?:at|for|in))|opinion|mean(?= by)|find|found"
        r"|any (?:good|nice)|recipes?|best|inspired|remember|talk\w*|mention\w*)\b"
    ),
    advice=re.compile(
        r"\b(?:should|shall|could|would|might|can i|can you (?:find|recommend|suggest)|recommend\w*|suggest\w*|ideas?|advice|healthy|worth|better|instead of"
        r"|how (?:can|could|to|do you)|why|supposed to|is it|are there|is there|(?<!what )does|do you (?:like|want|prefer|think|have|recommend))\b"
    ),
    lists=re.compile(r"\b(?:list|show|which|what|what's|enumerate|name|give me|tell me|remind me|any|anything|have i|do i have|everything|all|every)\b"),
    yes_or_no=re.compile(r"\W*(?:(?:and|so|but|hey|ok(?:ay)?) )?(?:did|have|has|am|was|were|is|are|do|had|will)\b"),
    which=words_of("what which"),
    goals=re.compile(
        r"\b(?:goals?|targets?|budgets?|limits?|quota|allowance|on track|over(?:do|did|doing|done|spen\w+|shoot|shot)|too (?:much|many|often)|keep(?:ing)? to|stick(?:ing)? to)\b"
    ),
    kinds={
        RecordKind.EXPENSE: re.compile(
            r"\b(?:spen[dt]|spendings?|expenses?|expenditures?|outlays?|paid|pay|costs?|bought|buy|purchased?|purchases|shell(?:ed)? out|blown?|money (?:go|went|gone)|my money|most expensive|priciest|dearest)\b"
        ),
        RecordKind.INCOME: re.compile(r"\b(?:earn|earned|earnings|income|get paid|got paid|money (?:did|have|do) i (?:make|made)|money come in)\b"),
        RecordKind.TASK: re.compile(r"\b(?:tasks?|to-dos?|to ?do list|my todos?|errands|(?:need|have) to do|left to do)\b"),
        RecordKind.EVENT: re.compile(r"\b(?:events?|appointments?|schedule|calendar|diary|planned|coming up)\b"),
        RecordKind.PREFERENCE: re.compile(r"\b(?:preferences|(?:likes and )?dislikes?)\b"),
        RecordKind.GOAL: re.compile(r"\b(?:goals|targets|budgets|limits|objectives)\b"),
    },
    idle=words_of(
        """actually add add-up added altogether amount anything app buying came come comes coming costs covered current currently
        due during enter entered entries ever exactly far go going gone item items keep kept know left like list log
        logged making manage managed myself need note noted ones outstanding paid pay plate please pls plz precisely
        readings recorded right session sessions spend stand stay stayed surrounding take taken taking thing things
        throughout together took toward towards track tracked until went yet"""
    ),
    things=_THINGS,
    periods={
        "day": Granule.DAY, "days": Granule.DAY, "date": Granule.DAY, "dates": Granule.DAY, "daily": Granule.DAY,
        "week": Granule.WEEK, "weeks": Granule.WEEK, "weekly": Granule.WEEK,
        "month": Granule.MONTH, "months": Granule.MONTH, "monthly": Granule.MONTH,
    },
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
)  # fmt: skip
