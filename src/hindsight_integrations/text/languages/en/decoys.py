"""Where English words of time mean none: names, titles, numbers, habits, ages, things."""

from __future__ import annotations

from hindsight_integrations.text.time_expressions.words import Decoys

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
