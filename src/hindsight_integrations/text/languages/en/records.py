"""English words for records: how figures of them are asked for, and what they may be of."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.language import RecordWords, by_form, words_of

_THINGS = by_form(
    {
        "alcohol": "booze, bar, bars, pub, pubs, pints",
        "babysitting": "babysit, babysat, babysitter, minding kids, watching kids, looking after kids, childminding",
        "bakery": "bread, breads, loaf, loaves, baker, bakers, baker's, buns, rolls, croissant, croissants, pastry, pastries, baked goods, bakeries",
        "bank fees": "bank fee, bank charges",
        "beekeeping": "bees, hive, hives",
        "beer": "beers",
        "bills": "bill",
        "blood pressure": "",
        "bonus": "bonuses",
        "books": "book, novel, novels",
        "breakfast": "breakfasts",
        "brunch": "brunches",
        "bus": "buses, bus ticket, bus tickets, bus fare, bus fares",
        "calories": "calorie, kcal",
        "camping": "campsite",
        "car": "cars, car repair, car repairs, garage, mechanic, workshop, car service, garage bills",
        "charity": "good causes, donated, donate, donating, donation, donations, charities, gave away",
        "chess": "",
        "childcare": "nursery, daycare",
        "children": "kids, kid",
        "choir": "choir practice, choir rehearsal, rehearsal, rehearsals, singing, sang",
        "cigarettes": "cigarette, smokes, smoked, smoking, tobacco",
        "cinema": "movie, movies, film, films, cinema ticket, cinema tickets, movie ticket, movie tickets, pictures, flicks, cinema trip",
        "cleaning": "cleaner, cleaning lady",
        "climbing": "climb, climbed, bouldering",
        "clothes": "clothing, apparel, outfit, outfits, wardrobe, shirts, shirt, jeans, dresses, clothe",
        "coffee": "caffeine, latte, lattes, cappuccino, cappuccinos, flat white, flat whites, coffee shop, coffee shops, cafes, cafe, espressos, coffees, cup of coffee, cups of coffee, café, espresso",
        "commission": "commissions",
        "concert": "concerts, concert ticket, concert tickets, gig, gigs",
        "cosmetics": "toiletries, make-up, makeup, skincare",
        "cycling": "cycle, cycled, bike, biked, biking, bike ride, bike rides, bicycle, ride, rides, rode, pedalled, pedaled",
        "dancing": "dance, danced, dance class",
        "dentist": "dentists, dental",
        "dessert": "desserts",
        "dinner": "dinners, supper, suppers",
        "dividends": "dividend",
        "doctor": "doctors, medical, gp",
        "drinks": "drink, drinks out",
        "electricity": "power, electric, power bill",
        "electronics": "gadgets",
        "entertainment": "",
        "fast food": "",
        "fines": "fine, speeding ticket, speeding tickets, parking ticket, parking tickets",
        "fishing": "fished",
        "flights": "flight, airfare, plane tickets",
        "flowers": "flower, bouquet, bouquets, florist",
        "food": "foods, food and drink",
        "football": "soccer",
        "freelance": "freelancing, freelance work",
        "fruit": "fruits",
        "fuel": "gas, petrol, gasoline, diesel, tank, filled up, fill up, filling up, refuel, refuelled, refueled, gas station, fueling",
        "furniture": "",
        "games": "game, video games",
        "garden": "gardening, plants, garden centre, seeds, gardening stuff",
        "gifts": "gift, present, presents, gifting",
        "golf": "",
        "groceries": "grocery, supermarket, supermarkets, food shopping, grocery shopping, supermarket shopping, weekly shop",
        "guitar": "",
        "gym": "gyms, gym membership, fitness studio, fitness",
        "haircut": "haircuts, hairdresser, hairdressers, barber, barbers, hair, salon, trim",
        "health": "healthcare",
        "heart rate": "pulse",
        "heating": "heat, keep warm, keeping warm, heated",
        "height": "",
        "hiking": "hike, hikes, hiked",
        "hobby": "hobbies",
        "honey": "",
        "hotel": "hotels, accommodation, lodging",
        "household": "",
        "ice cream": "ice creams",
        "insurance": "insurances",
        "interest": "",
        "internet": "broadband, wifi, wi-fi",
        "jewellery": "jewelry",
        "juice": "juices",
        "knitting": "knitted, knit",
        "language lessons": "language course, language class, course, courses",
        "laundry": "launderette, laundromat, dry cleaning, dry cleaner",
        "lottery": "",
        "lunch": "lunches, lunchtime",
        "meals": "meal",
        "meat": "",
        "medicine": "medicines, medication, medications, meds, pills, tablets, prescription, prescriptions, pharmacy, chemist, drugstore, pharmacies, chemist's",
        "meditation": "meditate, meditated, meditating, mindfulness",
        "mood": "",
        "museum": "museums, exhibition, exhibitions",
        "newspapers": "newspaper, magazine, magazines",
        "optician": "glasses frames, contact lenses",
        "pace": "",
        "pages": "page",
        "painting": "painted, paint",
        "parking": "parked, parking meter, car park, garage fees",
        "pension": "",
        "pets": "dog, dogs, cat, cats, dog food, cat food, kibble, pet supplies, litter, pet, pet food",
        "phone": "phone bill, mobile, telephone, cell phone, mobile bill, cell plan",
        "photography": "camera",
        "piano": "",
        "pizza": "pizzas",
        "plank": "",
        "pocket money": "allowance for kids",
        "postage": "stamps, post office, shipping, parcels",
        "practice": "practise, practised, practiced, practising, practicing",
        "push-ups": "pushups, push-up",
        "reading": "novel pages, read",
        "refund": "refunds, refunded",
        "rent": "landlord, landlady",
        "repairs": "repair, repaired, plumber, handyman",
        "restaurant": "restaurants, eat out, ate out, dining out, dined out, dine out, meals out, eating out, dining",
        "rowing": "row, rowed",
        "running": "run, runs, ran, jog, jogs, jogged, jogging, runner",
        "salary": "salaries, wage, wages, paycheck, paychecks, pay cheque, payslip",
        "sales": "sold, selling, sell, flea market",
        "savings": "saved, saving",
        "school": "",
        "score": "scores",
        "screen time": "phone time",
        "shoes": "shoe, sneakers, trainers, boots",
        "ski": "skiing, skied, skis",
        "sleep": "kip, shuteye, slept, sleeping, asleep, nap, naps, shut-eye, night, nights",
        "snacks": "snack",
        "software": "app, apps",
        "speed": "",
        "sports": "sport",
        "stationery": "pens, notebooks",
        "steps": "step, step count, steps walked, pedometer",
        "streaming": "netflix, spotify, streaming services, disney, hulu",
        "studying": "study, studied",
        "subscriptions": "subscribed, subscription",
        "sweets": "candy, chocolate",
        "swimming": "swimming pool, pool, laps, lengths, swim, swam, swims",
        "takeaway": "takeout, take-out, takeaways, take-aways, takeouts, delivered food, food delivery, delivery, deliveries, ordering in, ordered in",
        "tax": "taxes",
        "taxi": "taxis, cab, cabs, uber, ubers, rides home",
        "tea": "teas",
        "temperature": "temperatures",
        "tennis": "",
        "theatre": "theater, play, plays, theatre tickets",
        "therapy": "therapist, counselling, physio, physiotherapy",
        "tickets": "ticket",
        "tips": "tip",
        "toll": "",
        "tolls": "",
        "tools": "tool",
        "toys": "toy",
        "train": "trains, train tickets, train ticket, rail, railway, rail fare",
        "translation": "translations, translating, translate, translated",
        "transport": "transportation, public transport, transit",
        "travel": "travels, trip, trips",
        "tutoring": "tutor, tutored, lessons, private lessons, teaching, taught, tuition, pupils",
        "utilities": "utility",
        "vegetables": "vegetable",
        "vet": "vets, veterinary, veterinarian, animal doctor, dog's doctor, cat's doctor",
        "vocabulary": "new words",
        "walking": "on foot, walk, walked, walks, stroll, strolled, strolls",
        "water": "glasses of water, hydrated, hydration",
        "wedding": "",
        "weight": "lightest, heaviest, weigh, weighed, body weight, scales, scale, heavy",
        "wine": "wines, bottle of wine, bottles of wine, vino",
        "work": "worked, working",
        "workout": "workouts, exercise, exercised, training",
        "writing": "wrote, written",
        "yoga": "yoga class, yoga classes",
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
        r"\b(?:who|whom|whose|where(?! did (?:all )?my money)|when|what (?:kind|sort|type|else|time|brand|hours|colou?r|happened)|how (?:do|does|did|can|could|to|was|were|is|are|come|about)"
        r"|likes?|liked|loves?|prefer(?:s|red)?|favou?rite|called|tell(?! me)|told|say|said|think|thought|meet(?= \w+ (?:at|for|in))|opinion|mean(?= by)|find|found"
        r"|any (?:good|nice)|recipes?|best|inspired|remember|talk\w*|mention\w*)\b"
    ),
    advice=re.compile(
        r"\b(?:should|shall|could|would|might|can i|can you (?:find|recommend|suggest)|recommend\w*|suggest\w*|ideas?|advice|healthy|worth|better|instead of"
        r"|how (?:can|could|to|do you)|why|supposed to|too (?:much|many)(?= *\?? *$)|fair price|do people|does (?:a|an|one|it|the|my|your)|is (?:enough|normal|safe)|per person|can (?:one|a|an|the)|to learn|(?:did|has|have) (?:anna|he|she|they|we)|is it|are there|is there|(?<!what )does|do you (?:like|want|prefer|think|have|recommend))\b"
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
