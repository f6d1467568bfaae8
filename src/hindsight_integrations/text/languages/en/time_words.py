"""English words of time, as data.

Fragments are regular expressions; the grammar ignores case and lets any white space stand for a blank.
"""

from __future__ import annotations

from hindsight_integrations.text.languages.shared_rules import EARLY, LATE, MID
from hindsight_integrations.text.times.calendar import MONDAY, SUNDAY, Unit, easter
from hindsight_integrations.text.times.grammar import YEAR, Decoys, Which, Words, any_of
from hindsight_integrations.text.times.meanings import (
    THANKSGIVING,
    fixed,
    moved,
    named,
    nth,
)

_NAMES = named(
    (fixed(12, 31), "new year's eve, nye"),
    (fixed(1, 1), "new year's day, new year's, new year"),
    (nth(1, MONDAY, 3), "martin luther king day, martin luther king jr. day, mlk day, mlk"),
    (fixed(2, 14), "valentine's day, valentine's"),
    (nth(2, MONDAY, 3), "presidents' day, president's day"),
    (fixed(3, 17), "st patrick's day, st paddy's day"),
    (fixed(4, 1), "april fools' day, april fool's day"),
    (moved(easter, -47), "mardi gras, shrove tuesday"),
    (moved(easter, -46), "ash wednesday"),
    (moved(easter, -7), "palm sunday"),
    (moved(easter, -3), "maundy thursday"),
    (moved(easter, -2), "good friday"),
    (easter, "easter sunday, easter day, easter"),
    (moved(easter, 1), "easter monday"),
    (moved(easter, 39), "ascension day"),
    (moved(easter, 49), "pentecost"),
    (moved(easter, 50), "whit monday"),
    (fixed(4, 22), "earth day"),
    (fixed(5, 1), "may day"),
    (fixed(5, 5), "cinco de mayo"),
    (nth(5, SUNDAY, 2), "mother's day"),
    (nth(5, MONDAY, -1), "memorial day"),
    (nth(6, SUNDAY, 3), "father's day"),
    (fixed(6, 19), "juneteenth"),
    (fixed(7, 1), "canada day"),
    (fixed(7, 4), "independence day, fourth of july, 4th of july, july 4th, july 4"),
    (fixed(7, 14), "bastille day"),
    (nth(9, MONDAY, 1), "labor day, labour day"),
    (nth(10, MONDAY, 2), "columbus day, indigenous people's day"),
    (fixed(10, 31), "halloween"),
    (fixed(11, 5), "guy fawkes night, bonfire night"),
    (fixed(11, 11), "veteran's day, remembrance day"),
    (THANKSGIVING, "thanksgiving day, thanksgiving"),
    (moved(THANKSGIVING, 1), "black friday"),
    (moved(THANKSGIVING, 4), "cyber monday"),
    (fixed(12, 24), "christmas eve"),
    (fixed(12, 25), "christmas day, christmas"),
    (fixed(12, 26), "boxing day"),
)  # fmt: skip


def _spellings(name: str) -> set[str]:
    """A name with and without its apostrophe, and with what may stand for one of its words."""
    names = {name, name.replace("'", ""), name.replace("'s", "s'"), name.replace("s'", "s")}
    for long, short in (("christmas", "xmas"), ("st ", "st. "), ("st ", "saint "), ("jr. ", "")):
        names |= {other.replace(long, short) for other in names if other.startswith(long) or long == "jr. "}
    return names


HOLIDAYS = {spelling: day for name, day in _NAMES.items() for spelling in _spellings(name)}


VERBAL_LAST = (
    r"\b(?:did|do|does|will|would|can|could|should|to|not|\w+n't)\b(?!.*\b(?:in|over|during|the|for)\s*$)"
)
FUTURE = (
    r"\b(?:will|won't|shall|going to|(?:am|are|is) going|(?:is|are) (?:on|set for)|gonna|plan|plans|planning"
    r"|scheduled|booked for|upcoming|due|looking forward|can't wait|hope to|hoping to|about to|moved to|move it to"
    r"|rescheduled|see you)\b|\w'll\b|'(?:m|re|s) going"
)
# A question speaks of the future only if its words leave no other reading; "Will" inside a sentence is a man.
ASKS_AHEAD = (
    r"(?:^\s*(?:[A-Z]\w*\s+)?|\b)will\b|^\s*(?:And |So |But )?Will\b|\b[Ww]on't\b|\b[Ss]hall\b|\w'll\b|\bgoing to\b"
    r"|\bgonna\b|\bupcoming\b|\b(?:planned|scheduled|booked|due|set) (?:for|on|in|to)\b"
    r"|(?:\b[Ii]s|\b[Aa]re|'s|'re)\s(?:my|our|the|your)\splans? for\b"
    r"|\b[Aa]re\s(?:we|they|you)\s(?:meeting|seeing|starting|hosting|driving|celebrating)\b"
    r"|\b(?:[Ii]s|[Aa]re|[Aa]m|'s|'re|'m)\s(?:\w+\s){0,3}?(?:coming|arriving|leaving|visiting|flying|moving|happening)\b"
)
ASKS_BACK = r"\b(?:was|were|had|did|wasn't|weren't|hadn't|didn't|have been|has been)\b"

# A statement tells of the past with one of these; participles of what is arranged ("booked", "scheduled") say when it will be.
PAST = (
    r"\b(?:(?!(?:need|indeed|hundred|speed|feed|seed|breed|exceed|proceed|succeed|bed|red|wed|embed|shred|hatred|sacred|naked|kindred|booked|scheduled"
    r"|planned|reserved|arranged|invited|expected|supposed|required|married|retired|interested|tired|excited|worried|bored|divorced|named|called)\b)[a-z]{2,}ed"
    r"|was|were|had|did|didn't|wasn't|weren't|hadn't|been|went|gone|came|saw|seen|met|bought|got|gotten|made|took|taken|gave|given|said|told|found|left|felt|kept|began|begun|ran|wrote"
    r"|written|brought|thought|lost|spent|paid|sold|sent|built|won|ate|eaten|drank|drove|driven|flew|flown|rode|ridden|slept|spoke|spoken|stood|swam|sang|rang"
    r"|wore|woke|broke|broken|chose|chosen|fell|fallen|forgot|forgotten|grew|grown|heard|held|hid|knew|known|led|lent|rose|sat|shook|shot|showed|stole|stolen|struck|swore"
    r"|taught|tore|torn|threw|thrown|understood|wept|withdrew|became|caught|dealt|drew|drawn|dug|fed|fought|froze|frozen|hung|laid|lay|learnt|meant|sank|sought|stuck|swept|swung|won)\b"
)
PRESENT = (
    r"\b(?:is|are|am|isn't|aren't|need|needs|have to|has to|must|want|wants|takes? place|starts?|begins?|ends?|leaves?|goes|comes|fly|flies|opens?|closes?|expires?|arrives?"
    r"|turns?|falls|has|please|let's|remind|can|should|would like)\b|(?<=\w)'(?:s|re|m)\b"
)
AIM = r"\b(?:for|by|about|until)\b"
CLAUSE = r"[,;:]|\b(?:that|because|but|so|and|which|who)\b"

_SUBJECT = r"(?:i|we|you|he|she|they|it|(?-i:[A-Z][a-z]+)|(?:my|our|the|his|her|their)\s+\w+)"
_COMING = (  # in the present progressive these announce
    r"(?:off\s+to|going(?!\s+(?:over|through|back|by|on|crazy|mad|well)\b)|seeing|meeting|flying|leaving|visiting|travell?ing|driving"
    r"|hosting|starting|moving|coming|arriving|attending|throwing|presenting|celebrating|having(?!\s+(?:an?\s+look|trouble|problems|issues|second)\b)|getting\s+married|picking\s+up)"
)
ANNOUNCES = (
    rf"(?:^|[,;:]\s*|-\s+|\b(?:and|but|so|since|because)\s+){_SUBJECT}"
    rf"(?:(?:'m|'re|'s|\s+am|\s+are|\s+is)\s+(?:\w+ly\s+|also\s+|all\s+)?{_COMING}|'ll|\s+(?-i:will)|(?:'m|'re|'s)\s+gonna)\b"
    r"(?:(?!\b(?:since|that|which|who|where|when|i|we|you|he|she|they)\b|,\s*(?:and\s+|but\s+|so\s+)?(?:wh|how|did|do|is|was|can|could|remind|tell)).)*"
)
_BE_UP = r"(?:i|we|you|he|she|they|everyone|(?-i:[A-Z][a-z]+)|(?:the|my|our|your)\s+(?:kids?|boys?|girls?|guys|team|family|dogs?|cats?|parents|folks|neighbou?rs|sister|brother|son|daughter|friends?))"
PHRASAL = (
    r"\b(?:(?:(?:get|gets|got|gotten|getting|(?<!there\s)been|show\w*|turn\w*|sign\w*|own\w*)(?:\s+(?:all|back))?"
    rf"|what(?:'s|'re|\s+(?:is|are|was|were))\s+{_BE_UP})\s+up\s+to"
    r"|(?:stop|stopped|stopping|drop|dropped|dropping|swing|swung|who\s+(?:came|passed|walked|drove|went))\s+by|by(?=\s+on\s)"
    r"|(?:look|looked|looking|named|take|took|taking|chase|chased|ask|asked)\s+after|the\s+till)"
    r"\s+(?:(?:on|in|about|around|sometime|sometime\s+in)\s+)?$"
)

# After a number these make it a quantity, not a year.
_COUNTED = (
    r"people|persons?|items?|files?|words?|lines?|pages?|pieces?|steps?|rows?|points?|records?|messages?|users?"
    r"|dollars?|euros?|pounds?|bucks|cents|usd|eur|gbp|francs?|yen|lbs?|tons?|tonnes?|miles?|km|kilomet\w+|m|cm|mm|met(?:er|re)s?"
    r"|feet|foot|ft|inch(?:es)?|yards?|acres?|kg|g|grams?|calories|kcal|cal|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms"
    r"|mb|gb|kb|tb|bytes?|tokens?|percent|votes?|units?|seats?|tickets?|plants?|copies|times|degrees|watts?|volts?|rpm"
    r"|hz|mhz|requests?|connections?|ports?|guests?|sectors?|students?|members?|customers?|employees|soldiers|visitors"
    r"|followers|likes|views|subscribers|liters?|litres?|ml|sheets?|bricks?|stairs|characters|samples|vs|bce?|b\.c\."
    r"|square|cubic|small|large|other|more|different|new|old|separate"
)
_NOT_COUNTING = (
    r"(?!(?:most|some|many|all|the|how|in|for|of|by|with|on|at|to|and|did|was|were|per|each|every|my|our|any|no|who"
    r"|what|with|or|two|three|a|an|when|where|that|is|are|do|does|has|had|have)\b)"
)
QUANTITY = rf"\s+(?:{_NOT_COUNTING}[a-z]+\s+)?(?:{_COUNTED})\b|\s?[\u20ac$\u00a3%]"
THINGS_OF_YEAR = (  # "the 2019 laptop" is a model, "the 2012 edition" a thing one has
    r"\s+(?:[a-z-]+\s+){0,2}?(?:models?|laptop|computer|pc|imac|macbook|ipad|iphone|phone|tablet|tv|television|monitor|printer|camera"
    r"|car|van|truck|suv|sedan|coupe|convertible|hatchback|minivan|pickup|rv|camper|motorcycle|motorbike|bike|bicycle|scooter|boat"
    r"|train|bus|ferry|flight|departure|tram|sailing|mustang|impala|camaro|corvette|beetle|golf|wrangler|accord|honda|toyota|ford|subaru|tesla|bmw|audi|volvo|mazda|nissan|kia|jeep|civic|corolla|prius|camry|outback"
    r"|wine|vintage|barolo|rioja|chianti|malbec|riesling|bordeaux|merlot|cabernet|pinot|whisky|whiskey|bottle|coin|stamp|penny|dime"
    r"|version|standard|specification|spec|edition|remake|movie|film|song|album|single|novel|book|comic|musical|play|game|overture"
    r"|act|law|directive|statute|constitution|block|guitar|piano|watch|chip|processor|generation|limit|mark|kcal|calorie"
    r"|budgeted|word|page|piece|mile|meter|metre|euro|dollar|pound|person|room|unit|number|code|port|mah|watt|volt|lumen|baud)\b"
)
# In front of the number that ends a question these make it the number of a thing.
_THINGS_WITH_NUMBERS = (
    r"ports?|jobs?|prs?|buffers?|rooms?|errors?|gates?|rfc|vlan|flights?|models?|versions?|numbers?|no|nr|track|movie|films?|pages?"
    r"|lines?|chapters?|levels?|ids?|tickets?|orders?|invoices?|codes?|pins?|zip|units?|box|bus|trains?|trams?|routes?|street"
    r"|road|highway|interstate|exit|channel|apartment|apt|flat|suite|seat|tables?|hall|platform|verse|psalm|episode|season"
    r"|release|builds?|patch|steps?|tasks?|issues?|bugs?|requests?|incidents?|alerts?|nodes?|servers?|hosts?|shards?|partition|pid|process"
    r"|threads?|keys?|users?|accounts?|customers?|receipts?|check|cheque|policy|claims?|files?|records?|rows?|columns?|cells?|entry"
    r"|items?|products?|batch|drawer|bin|shelf|rack|aisle|house|building|warehouse|lot|part|serial|sku|commit|case|section"
    r"|article|rule|form|locker|extension|phone|password|song|album|book|novel|game|musical|show|painting|poem|title|called"
    r"|named|sector|block|address|asteroid|euro|expo|agenda|vision|windows|office|excel|studio|fifa|madden|cyberpunk"
    r"|runner|outlook|exchange|photoshop|size|weighs?|costs?|about|than|to|with|by|is|was|are|were|the|an?|and|or|of|only"
    r"|hit|level|group|team|unit|squad|section|error|warning|exception|status|return(?:s|ed)?|equals?|over|under|above|below|nearly|almost|exactly"
    r"|times|plus|minus|least|most|until|more|less|has|have|had|be|been|do|does|did|for|at|on|from"
)
NUMBERED = rf"\b(?:{_THINGS_WITH_NUMBERS})\.?:?\s+$"

PERSON = (  # behind "before August" these make August a person
    r"'s\b|\s+(?:\w+ed|left|came|went|was|is|had|has|got|said|told|gave|took|met|bought|sold|made|did|does|can|could"
    r"|will|would|says|and\s+(?-i:[A-Z][a-z]+)\s+(?:go|are|were|do|have))\b"
)
HOLIDAY_THINGS = (  # what hangs on the tree is not a date
    r"\s+(?:tree|cards?|gifts?|presents?|eggs?|bunny|songs?|carols?|markets?|movies?|films?|costumes?|decorations?|lights?"
    r"|cookies?|island|jumper|sweater|resolutions?|turkey|stockings?|crackers?|wreath|cactus|lily|lilies|pudding|cakes?"
    r"|albums?|hams?|baskets?|candy|dinner recipes?|recipes?|ornaments?|list)\b"
)
SEASON_THINGS = (
    r"\s+(?:training|camps?|house|squash|onions?|rolls?|school|olympics?|games|jobs?|internship|coats?|jackets?|boots?"
    r"|ty?ires?|clothes|cleaning|solstice|equinox|sports?|gardens?|water|tide|term|dress(?:es)?|shoes|palace|soldier"
    r"|wheat|leaves|fair|from|into|off|down)\b|\s+of\s+(?!\d)(?!(?:last|this|next)\b)"
)

NAME_AFTER = r"\s+[A-Z][a-z]"
YEAR_AFTER = r"[a-z]{2,},?\s+$"

_WORKS = (
    r"songs?|novels?|movies?|films?|books?|albums?|tracks?|singles?|musicals?|poems?|paintings?|sitcoms?|ballads?"
    r"|comics?|mangas?|operas?|symphony|bands?|tunes?|hits?|records?|plays?|tv shows?|tv series|series|video games?|board games?"
    r"|titles?|podcasts?|memoirs?|thrillers?|short story|anthem|magazines?|newspapers?|documentar(?:y|ies)"
)
_KIN = (
    r"dogs?|cats?|puppy|kitten|pets?|horses?|parrots?|hamsters?|rabbits?|sisters?|brothers?|friends?|boss|aunt(?:ie)?|uncle|cousins?"
    r"|daughters?|sons?|nieces?|nephews?|girls?|boys?|bab(?:y|ies)|mother|nurse|neighbou?rs?|colleagues?|girlfriend|boyfriend|wife|husband"
    r"|roommates?|classmates?|characters?|actress|actor|singer|model"
)
_CALLED = r"called|named|titled|entitled|nicknamed|dubbed"
DECOYS = Decoys(
    before=(
        r"\b(?:every|each|per|any|happy|merry|good|alternate|class of)\s+(?:other\s+|single\s+|second\s+|the\s+)?$"
    ),
    before_bare=(
        r"\b(?:an?|another|some|many|most|typical|usual|average|normal|casual|taco|lazy|manic|bloody|blue|freaky|super|"
        r"mr|mrs|ms|miss|mx|dr|prof|sir|lady|saint|captain|king|queen|prince|princess|aunt|auntie|uncle|sister|brother"
        r"|ides of|spell|translate|pronounce|how do (?:i|you|we) say|it's|it is|today is|is it)\.?\s+$|^\s*what is\s+$"
    ),
    before_which=r"\b(?:my|your|his|her|its|their)\s+(?:very\s+)?$",
    before_decade=(
        r"\b(?:my|your|his|her|our|their|its|one's)\s+$|\b(?:temperatures?|degrees?|highs?|lows?|fahrenheit|aged?|scores?)\b[^.?!]*$"
    ),
    things_before=rf"\b(?:{_WORKS}|{_KIN})\s+(?:(?:{_CALLED})\s+)?[\"']?$|\b(?:is|was|are|were|got|be|being)\s+(?:{_CALLED})\s+[\"']?$",
    title_before=(
        rf"\b(?:who\s+(?:\w+\s+)?(?:wrote|penned|produced|released|painted)|sings?|sang|sung|directed|composed|recorded|covered|stars?(?:\s+in)?|starred(?:\s+in)?|starring(?:\s+in)?"
        rf"|plays?\s+in|played\s+in|acted\s+in|(?:{_WORKS})(?:\s+(?:{_CALLED}))?|author\s+of|plot\s+of|cast\s+of"
        rf"|ending\s+of|lyrics\s+(?:of|to)|soundtrack\s+(?:of|to)|sequel\s+to|meaning)\s+[\"']?"
        r"(?-i:(?:[A-Z][\w':]*\s+)(?:(?:[A-Z][\w':]*|of|the|in|a|an|to|and|for|on|I'm|I)\s+)*)?$"
    ),
    title_after=(
        r"(?:^\s*(?:is|was|isn't|wasn't)|\b(?:love|like|loved|liked|know|hate))\s+[\"']?\0[\"']?\s+by\s+(?-i:(?:[Tt]he\s+)?[A-Z])"
    ),
    numbered_titles=(
        r"\b(?:[Ww]atch\w*|saw|[Ss]een?|seeing|[Rr]ead|[Rr]eading|[Pp]lay\w*|finish\w*|liked?|loved?|rent\w*|stream\w*|review\w*|rate\w*)\s+"
        r"(?:[A-Z][\w'-]*\s+)+(?:(?:of|the|and|in)\s+)*(?!(?:Cup|Olympics|Open|Marathon|Finals?|Games|Festival|Awards|Bowl|League"
        r"|Championships?|Prix|Tour|Series|Euros?)\s)[A-Z][\w'-]*\s+$"
        r"|\b[Aa]n?\s+(?:[A-Z][\w'-]*\s+)+$"
        r"|^\s*(?:[Dd]id|[Hh]ave|[Hh]as|[Aa]m|[Hh]ad)\s+(?:\w+\s+)(?:ever\s+|already\s+|finish(?:ed)?\s+)?(?:re)?(?:read|reading|watch(?:ed)?)\s+$"
    ),
    copies=r"\b(?:copy|copies|plot|author|paperback|hardback|hardcover|audiobook|narrator)\s+$",
    named_people=(
        r"\b(?:meet|met|meeting|seeing|calling|visiting|seen?|saw|call|called|phone|phoned|email|emailed|text|texted|message|messaged|visit|visited|tell|told|ask|asked"
        r"|give|gave|pay|paid|owe|invite|invited|help|helped|ring|rang|with|to)\s+"
        r"(?!(?:Black|Ruby|Freaky|Manic|Blue|Good|Bloody|Stormy|Palm|Ash|Easter|Super|Cyber|Every|Casual|Taco|Man|Robinson)\s)[A-Z][a-z]+\s+$"
    ),
    range_habits=(
        r"\b(?:open|opens|close[sd]?|works?|working|delivers?|operates?|operating|hours|runs|available|schedule|shifts?|commutes?"
        r"|attends?|teach(?:es)?|serves?)\b|^\s*(?:do|does|is|are)\b"
    ),
    after=(
        r"\.(?:com|org|net|io|ai|app|co|dev|tv|me|uk|de|eu)\b|"
        r"\s+(?:mornings|afternoons|evenings|nights|sisters|brothers|family(?!\s+(?:reunion|trip|holiday|vacation|dinner|gathering|party|visit)\b)|girls|hare)\b"
        r"|\s*:\s*(?-i:(?!Wh|How|Did|Was|Is)[A-Z])"
    ),
    after_bare=(
        r"^,\s+(?:my|our|his|her|their|your|an?|the)\s+(?:[\w'-]+\s+){0,2}?(?!\w*(?:day|date|deadline|night|anniversary)\b)[a-z]+,"
        rf"|^,\s+(?:my|our|his|her|their|your|an?|the)\s+(?:[\w'-]+\s+){{0,2}}?(?:{_KIN}|tabby|terrier|poodle|labrador)\b"
        r"|^\s+(?:roasts?|school|best|brunch(?:es)?|prayers?|blues|madness)\b|^\s+the\s+[a-z]+\s+(?!of\b)[a-z]+"
    ),
    owner_before=r"\b(?:my|our|your|his|her|their)\s+$",
    plural_after=r"(?:\s+[a-z]+){0,2}\s+[a-z]+s\b",
    things_after=rf"^,?\s+(?:(?:is|was|be)\s+)?(?:an?|the)\s+(?:\w+\s+){{0,2}}?(?:{_WORKS})\b|^\s+\((?:the\s+)?(?:{_WORKS})\b",
    habits=r"\b(?:gets? paid|paydays?|every (?:month|week|year)|usually|normally|typically|generally|habitually|tend to|used to|how often (?:do|does|is|are))\b",
    article=r"the\s+",
    name_before=r"(?P<name>[A-Z]\w+)(?:\s+(?:and|of))?\s+$",
    name_after=NAME_AFTER,
    capital=r"(?:(?:of|the)\s+)*(?:[A-Z][a-z]|[0-9]{4}\b|'[0-9])",
    plain_end=r"'s$|\bthe\s+[0-9]{4}$",
    show_before=r"\b[Tt]he\s+$",
    of_figures=r"of [0-9]{4}",
    decade=r"(?<![0-9])'?[0-9]0'?s$",
    question=r"(?:wh(?:at|en|ere|o|om|ose|ich|y)|how|did|do|does|is|are|was|were|have|has|had|can|could|will|would|(?:in|on|at|for) wh)\b",
    title_words=r"\b(?:Before|After|Since|Until|Between|The)\b",
    games=(
        r"\b(?:game|match|team|scored?|points?|touchdowns?|goals?|halftime|quarterback|innings|season|kick\w*|basket\w*"
        r"|football|coach|players?|play|tackles?|fouls?)\b"
    ),
)


_MONTHS = {
    "january": 1, "jan": 1, "february": 2, "feb": 2, "febuary": 2, "march": 3, "mar": 3, "april": 4, "apr": 4,
    "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9,
    "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}  # fmt: skip
_WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "wensday": 2, "wednsday": 2, "thrusday": 3, "mon": 0, "tues": 1, "tue": 1, "weds": 2, "wed": 2, "thurs": 3,
    "thur": 3, "thu": 3, "fri": 4, "sat": 5, "sun": 6,
}  # fmt: skip
_UNITS = {
    "minute": Unit.MINUTE, "min": Unit.MINUTE, "hour": Unit.HOUR, "hr": Unit.HOUR, "day": Unit.DAY,
    "night": Unit.DAY, "week": Unit.WEEK, "wk": Unit.WEEK, "weekend": Unit.WEEKEND, "wkend": Unit.WEEKEND,
    "fortnight": Unit.WEEK, "month": Unit.MONTH, "mth": Unit.MONTH, "quarter": Unit.QUARTER, "qtr": Unit.QUARTER,
    "year": Unit.YEAR, "yr": Unit.YEAR, "decade": Unit.DECADE,
}  # fmt: skip
_PLURALS = {f"{name}s": unit for name, unit in _UNITS.items()} | {
    "mos": Unit.MONTH,
    "centuries": Unit.CENTURY,
}
_SMALL = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_NUMBERS = _SMALL | _TENS | {
    "a": 1, "an": 1, "ten": 10, "eleven": 11, "twelve": 12, "a dozen": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "a hundred": 100,
    "one hundred": 100, "half a dozen": 6,
    **{f"{tens} {one}": _TENS[tens] + _SMALL[one] for tens in _TENS for one in _SMALL},
    **{f"{tens}-{one}": _TENS[tens] + _SMALL[one] for tens in _TENS for one in _SMALL},
}  # fmt: skip
_DAYS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth",
    "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first",
)  # fmt: skip
_DAY_NUMBERS = {name: number for number, name in enumerate(_DAYS, start=1)}
_DAY_NUMBERS |= {name.replace("-", " "): number for name, number in _DAY_NUMBERS.items()}
_ORDINALS = {
    "first": 1, "1st": 1, "opening": 1, "second": 2, "2nd": 2, "latter": 2, "third": 3, "3rd": 3, "fourth": 4,
    "4th": 4, "fifth": 5, "5th": 5, "last": -1, "final": -1,
}  # fmt: skip
# (first, last, of): "early" is a third; "the beginning" and "the end" of a year are quarters [tests/unit/time_table].
_PORTIONS = {
    "early": EARLY, "early part of": EARLY, "mid": MID, "middle of": MID, "late": LATE, "latter part of": LATE,
    "later part of": LATE, "beginning of": EARLY, "start of": EARLY, "end of": LATE, "close of": LATE,
}  # fmt: skip
_YEAR_PORTIONS = {
    "beginning of": (0, 1, 4), "start of": (0, 1, 4), "end of": (3, 4, 4), "close of": (3, 4, 4),
}  # fmt: skip
# Hours of the day, end possibly on the next one. Customary, no source.
_DAY_PARTS = {
    "morning": (5, 12), "noon": (11, 14), "midday": (11, 14), "lunchtime": (11, 14), "lunch time": (11, 14),
    "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30), "nite": (18, 30),
}  # fmt: skip
_WHICH = {
    "last": Which.LAST, "previous": Which.LAST, "prior": Which.LAST, "this past": Which.LAST, "past": Which.LAST,
    "this last": Which.LAST, "most recent": Which.LAST, "this": Which.THIS, "this current": Which.THIS,
    "the current": Which.THIS, "current": Which.THIS, "next": Which.NEXT,
    "coming": Which.NEXT, "upcoming": Which.NEXT, "this coming": Which.NEXT, "this upcoming": Which.NEXT,
    "this next": Which.NEXT,
}  # fmt: skip
_NEAR = {
    "today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "the day before yesterday": -2,
    "day after tomorrow": 2, "the day after tomorrow": 2, "tommorow": 1, "tommorrow": 1, "tomorow": 1, "tmrw": 1,
    "tmr": 1, "yday": -1, "2day": 0, "2morrow": 1,
}  # fmt: skip
_TAIL_YEARS = {
    "last year": -1, "the previous year": -1, "the past year": -1, "this past year": -1, "this year": 0,
    "the current year": 0, "the same year": 0, "next year": 1, "the coming year": 1, "the year before last": -2,
    "the year after next": 2,
}  # fmt: skip
_COUNT = "|".join(("[0-9]{1,2}", *_SMALL, "an?", "ten"))
# What names the year: "2023", ", 2023", "of 2023", "'23", "-2023", "last year", "of next year", "two years ago".
_TAIL = (
    rf",? ?(?:of |in |in the year |back in )?{YEAR}|[-/]{YEAR}|,? ?(?:of |in )?'[0-9]{{2}}"
    rf"|,? (?:of |in )?(?:{any_of(_TAIL_YEARS)})|,? (?:{_COUNT}) (?:years?|yrs?) (?:ago|back)"
)

_SHORT_UNITS = {
    "h": Unit.HOUR, "hr": Unit.HOUR, "hrs": Unit.HOUR, "d": Unit.DAY, "w": Unit.WEEK, "wk": Unit.WEEK,
    "wks": Unit.WEEK, "mo": Unit.MONTH, "mos": Unit.MONTH, "y": Unit.YEAR, "yr": Unit.YEAR, "yrs": Unit.YEAR,
    "min": Unit.MINUTE, "mins": Unit.MINUTE,
}  # fmt: skip
_DECADES = {
    "twenties": 1920, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960, "seventies": 1970,
    "eighties": 1980, "nineties": 1990, "noughties": 2000,
}  # fmt: skip

WORDS = Words(
    months=_MONTHS,
    clear_months=frozenset(
        {"january", "february", "febuary", "july", "september", "october", "november", "december"}
    ),
    name_months=frozenset({"april", "may", "june", "august", "jan", "mar", "apr", "jun", "aug"}),
    verb_months=frozenset({"may", "march", "mar"}),
    weekdays=_WEEKDAYS,
    clear_weekdays=frozenset(
        word for word in _WEEKDAYS if word.endswith("day") or word in {"tues", "weds", "thurs", "thur"}
    ),
    units=_UNITS | _PLURALS | {"mo": Unit.MONTH, "century": Unit.CENTURY},
    plurals=frozenset(_PLURALS),
    multiples={"fortnight": 2, "fortnights": 2},
    short_units=_SHORT_UNITS,
    numbers=_NUMBERS,
    # How far "a couple" and "a few" reach when they are "ago" [customary]; "several" continues the series.
    vague={"couple": (1, 3), "few": (2, 5), "several": (3, 7)},
    amount="(?:a |the )?(?:couple|few|several)(?: of)?",
    ordinals=_ORDINALS,
    day_suffix="st|nd|rd|th",
    day_numbers=_DAY_NUMBERS,
    seasons={
        "spring": 3, "springtime": 3, "summer": 6, "summertime": 6, "autumn": 9, "fall": 9, "winter": 12,
        "wintertime": 12,
    },
    decades=_DECADES,
    portions=_PORTIONS,
    year_portions=_YEAR_PORTIONS,
    day_parts=_DAY_PARTS,
    which=_WHICH,
    coming=frozenset(name for name in _WHICH if name.endswith("coming")),
    near=_NEAR,
    near_parts={
        "this": 0, "today": 0, "last": -1, "yesterday": -1, "tomorrow": 1, "tmrw": 1, "tommorow": 1, "tomorow": 1,
    },
    before=frozenset({"before", "prior to", "preceding", "leading up to", "ahead of", "up to"}),
    behind=frozenset({"after", "following", "from"}),
    earlier=frozenset({"earlier", "so far", "thus far", "to date"}),
    pieces={"half": 2, "third": 3, "quarter": 4},
    holidays=HOLIDAYS,
    tail=_TAIL,
    tail_years=_TAIL_YEARS,
    years_ago=rf"\b({_COUNT}) (?:years?|yrs?) (?:ago|back)",
    connector=(
        r"\s*,?\s*(?:and|to|through to|through|thru|up to|up until|until|till|til|&|-|\.\.\.?)\s*"
        r"(?:(?:on|in|about|around)\s+)?(?=[\w'])"
    ),
    now=r"(?:right\s+)?now\b|(?:the\s+)?present\b(?:\s+day\b)?|date\b",
    future=FUTURE,
    asks_ahead=ASKS_AHEAD,
    asks_back=ASKS_BACK,
    announces=ANNOUNCES,
    past=PAST,
    present=PRESENT,
    aim=AIM,
    clause=CLAUSE,
    verbal_last=VERBAL_LAST,
    phrasal=PHRASAL,
    things_of_year=THINGS_OF_YEAR,
    month_introducers=frozenset({
        "in", "during", "throughout", "since", "until", "till", "back in", "over", "my", "our", "the", "their", "your",
        *(f"{done} {into}" for done in ("planned", "scheduled", "booked", "set", "due") for into in ("for", "in")),
    }),
    person_after=PERSON,
    no_year=r",? ?[0-9]{4}(?![0-9:])",
    holiday_things=HOLIDAY_THINGS,
    season_things=SEASON_THINGS,
    quantity_after=QUANTITY,
    numbered_before=NUMBERED,
    year_after=YEAR_AFTER,
    name_goes_on=NAME_AFTER,
    part_names=dict.fromkeys(("tonight", "tonite", "2nite"), (0, 18, 30)),
    whatever=frozenset(
        ["happened", "happen", "happening", "happens", "going", "new", "up", "else", "did", "do", "does", "done", "doing", "went", "tell", "show", "remember", "remind", "said", "say", "anything", "everything", "something", "things", "stuff", "events"]
    ),
    decoys=DECOYS,
)  # fmt: skip
