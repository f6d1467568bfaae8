"""English: how people describe themselves, in the first person."""

from __future__ import annotations

import re

from hindsight_integrations.text.attributes import Attribute, by_word
from hindsight_integrations.text.language import DescriptionWords

_ANY = re.IGNORECASE
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_ENDS = (  # a value ends in front of these
    r"(?:in|on|at|as|for|to|with|and|but|or|since|where|when|who|which|that|because|near|by|from|while|under|is|was|are|has"
    r"|now|originally|currently|today)"
)
_WORD = r"[^\s.;,!?:()]+"
_VALUE = rf"(?P<value>(?!{_ENDS}\b){_WORD}(?: (?!{_ENDS}\b){_WORD}){{0,6}})"
_PLACE = rf"(?P<value>(?!{_ENDS}\b|an? |my |the \d|\d|{_MONTH}\b){_WORD}(?: (?!{_ENDS}\b|\d){_WORD}){{0,4}}(?:, [A-Z][^\s.;,!?]*(?: [A-Z][^\s.;,!?]*)*)*)"
_NUMBER = r"(?P<value>\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|no)"
_I = r"\bI (?:\w+ly |also |now |still |just |do )*"
_AM = r"\b(?:I am|I'm|I\u2019m)"
_NOW = r"(?:(?:currently|now|presently|also|still|actually|originally|mainly|mostly) )*"
_OWN = (  # of which everybody has one
    r"(?:(?:full|last|family|first|middle|real|given) name|surname|nickname|job|profession|occupation|role|title|job title|birthday|date of birth"
    r"|birthplace|place of birth|home ?town|nationality|age|height|weight|employer|native language|mother tongue|first language"
    r"|(?:star|zodiac) sign|religion|marital status|gender|pronouns|email(?: address)?|address|phone number|blood type|alma mater|major)"
)


_ATTRIBUTES = (
    Attribute.of("birthplace", rf"{_I}was born(?: and (?:raised|bred))?(?: on [^,.;]+?| in \d{{4}})? in {_PLACE}"),
    Attribute.of("birthplace", rf"(?:{_AM}|{_I}(?:come|hail)) (?:originally )?from {_PLACE}"),
    Attribute.of("birth date", rf"{_I}was born (?:in [^,.;\d]+? )?(?:in|on) (?P<value>(?:the )?(?:{_MONTH} )?\d[\w ,]*|{_MONTH} \d+|{_MONTH}\b)"),
    Attribute.of("residence", rf"(?:{_I}(?:live|reside|(?:have (?:just |recently )?)?(?:moved|relocated))|{_AM} (?:based|living|located)) {_NOW}(?:in|to) {_PLACE}", several=True),
    Attribute.of("upbringing", rf"{_I}(?:grew up|was raised|was born and raised) in {_PLACE}"),
    Attribute.of("occupation", rf"(?:{_I}(?:work|earn my living)|{_AM} (?:employed|working)) {_NOW}as (?:an? |the )?{_VALUE}", several=True),
    Attribute.of("profession", rf"{_AM} {_NOW}(?:an? |the )(?!former|retired|ex-){_VALUE}", several=True),
    Attribute.of("employer", rf"(?:{_I}work|{_AM} (?:employed|working|an? [\w ]+?))(?: as (?:(?!\b(?:at|for)\b)[^.;,])+?)? {_NOW}(?:at|for|by) (?:the )?{_VALUE}", several=True),
    Attribute.of("field", rf"(?:{_I}work|{_AM} working) {_NOW}in (?:the )?{_VALUE}", several=True),
    Attribute.of("name", r"\bmy name(?: is|'s|\u2019s) (?:now )?(?P<value>[^.;,!?]+?)(?= and\b|[.;,!?]|$)"),
    Attribute.of("name", r"\b(?:I am|I'm|I\u2019m) (?:called|named) (?P<value>[^.;,!?]+?)(?= and\b|[.;,!?]|$)"),
    Attribute("name", re.compile(r"^I(?: am|'m|\u2019m) (?P<value>[A-Z][a-z]+(?: [A-Z][a-z]+)*)(?=[.,;!?]|$| and )")),
    Attribute.of("nickname", r"\b(?:people|friends|everyone|they|my friends) call me (?P<value>[^.;,!?]+?)(?= and\b|[.;,!?]|$)"),
    Attribute.of("age", rf"{_AM} {_NOW}{_NUMBER}(?:[ -]years?[ -]olds?|(?= and\b|[.;,!?]|$))"),
    Attribute.of("age", rf"(?:{_I}turned|{_AM} aged) (?P<value>\d+)\b"),
    Attribute.of("experience", rf"(?:{_I}|I[\u2019']ve )(?:have|bring|got)? ?(?:over |about |more than |almost |nearly )?{_NUMBER}\+? years?(?:['\u2019]s?)?(?: of)? (?P<key>(?:(?!experience|of\b)[\w-]+ )*)experience(?: (?:in|with|as|of) (?P<key2>[^.;,!?]+?))?(?=[.;,!?]|$| and\b)"),
    Attribute.of("experience", rf"\bI(?: have|['\u2019]ve) (?:been|worked as|served as) an? (?P<key>[^.;,!?]+?) for (?:over |about |more than |almost |nearly )?{_NUMBER} years?\b"),
    Attribute.of("weight", rf"{_I}weigh (?:about )?(?P<value>\d[\d.,]* ?\w+)"),
    Attribute.of("income", rf"{_I}(?:earn|make) (?:about )?(?P<value>[^\s\w]?\d[\d.,]*)"),
    Attribute.of("called", r"\bmy (?P<key>\w+) (?:is|are) (?:called|named) (?P<value>[^.;,!?]+?)(?= and\b|[.;,!?]|$)"),
    Attribute.of("called", r"\bmy (?P<key>\w+)['\u2019]s name is (?P<value>[^.;,!?]+?)(?= and\b|[.;,!?]|$)"),
    Attribute.of("nationality", r"\bmy nationality is (?P<value>\w+)|\bI am an? (?P<value2>[A-Z]\w+) (?:citizen|national)\b", several=True),
    Attribute.of("favourite", r"\bmy (?:all-time )?favou?rite (?P<key>[\w ]+?) (?:is|are|was|remains) (?P<value>[^.;!?]+?)(?=[.;!?]|$)"),
    Attribute.of("favourite", r"^(?P<value>[^.;!?]+?) (?:is|are) my (?:all-time )?favou?rite (?P<key>[\w ]+?)(?=[.;,!?]|$)"),
    Attribute.of("own", rf"\bmy (?P<key>{_OWN}) (?:is|are) (?P<value>[^.;!?]+?)(?=[.;!?]|$)"),
    Attribute.of("native language", r"\bI am a native (?P<value>\w+) speaker\b|\bI am a native speaker of (?P<value2>\w+)"),
    Attribute.of("spouse", r"\b(?:I am|I'm|I\u2019m) (?:married|engaged) to (?P<value>[A-Z]\w+)|\bmy (?:wife|husband|spouse|partner) is (?:called |named )?(?P<value2>[A-Z]\w+)"),
    Attribute.of("number", rf"(?:{_I}|I[\u2019']ve )(?:have|got|own)? ?{_NUMBER} (?P<key>(?!years?\b)\w+)"),
    Attribute.of("degree", r"\bI (?:studied|graduated) (?:\w+ )*?at (?P<value>[A-Z][\w ]*?)(?=[.;,!?]|$| and\b)", several=True),
    Attribute.of("height", r"\bI am (?P<value>\d[\d.,'\u2019 ]*(?:cm|m|feet|foot|ft)?) tall\b"),
)  # fmt: skip

_FIELDS = {
    "tech": "technology tech it software computing technologies",
    "health": "health healthcare medicine medical nursing hospitals",
    "education": "education teaching academia schools",
    "finance": "finance banking accounting insurance investment",
    "law": "law legal justice",
    "food": "food hospitality gastronomy catering restaurants",
    "media": "media journalism publishing news",
    "science": "science research",
    "art": "art arts design creative",
    "music": "music",
    "farming": "farming agriculture",
    "retail": "retail sales commerce",
    "building": "construction building architecture",
    "transport": "transport transportation logistics shipping aviation",
    "sport": "sport sports athletics",
    "state": "government politics administration",
}
_PROFESSIONS = {
    "tech": "engineer developer programmer coder sysadmin devops technologist webmaster",
    "health": (
        "doctor physician nurse surgeon dentist pharmacist paramedic midwife therapist physiotherapist psychiatrist pediatrician"
        " cardiologist veterinarian vet psychologist optician radiologist neurologist dermatologist gp"
    ),
    "education": "teacher professor lecturer tutor librarian headteacher principal kindergartener",
    "finance": "accountant banker trader broker auditor actuary economist bookkeeper",
    "law": "lawyer attorney judge solicitor barrister paralegal notary prosecutor",
    "food": "chef cook baker waiter waitress bartender barista butcher sommelier brewer",
    "media": "journalist reporter editor broadcaster publisher columnist",
    "science": "scientist biologist chemist physicist mathematician astronomer geologist researcher historian linguist archaeologist",
    "art": "painter sculptor illustrator designer photographer artist animator dancer actor actress director",
    "music": "musician pianist guitarist violinist singer drummer composer cellist conductor",
    "farming": "farmer gardener beekeeper shepherd winemaker fisherman forester florist",
    "retail": "salesperson salesman saleswoman cashier shopkeeper merchant realtor",
    "building": "carpenter plumber electrician builder architect mason roofer welder locksmith joiner",
    "transport": "pilot driver sailor captain trucker courier steward",
    "sport": "footballer athlete coach swimmer cyclist boxer jockey",
    "state": "politician diplomat soldier policeman policewoman firefighter detective mayor spy clerk minister",
    "": "manager consultant analyst secretary receptionist assistant translator interpreter writer author novelist poet mechanic tailor"
    " barber hairdresser cleaner priest monk nun entrepreneur founder ceo cto student pirate wizard magician guide",
}
_KINDS = {
    "musician": "pianist guitarist violinist singer drummer composer cellist conductor",
    "doctor": "surgeon pediatrician cardiologist psychiatrist radiologist neurologist dermatologist physician gp",
    "scientist": "biologist chemist physicist astronomer geologist researcher",
    "artist": "painter sculptor illustrator musician dancer",
    "writer": "novelist poet journalist columnist author",
    "teacher": "professor lecturer tutor",
    "lawyer": "attorney solicitor barrister prosecutor",
    "engineer": "developer programmer",
    "athlete": "footballer swimmer cyclist boxer runner",
    "pet": "dog cat rabbit hamster parrot goldfish horse turtle",
    "dog": "poodle labrador terrier beagle dachshund collie spaniel",
    "instrument": "piano guitar violin drum cello flute trumpet saxophone harp",
    "sport": "tennis football soccer basketball swimming rugby cricket hockey golf volleyball boxing climbing skiing",
    "music": "jazz rock opera techno blues reggae folk punk",
    "child": "son daughter",
    "sibling": "brother sister",
    "company": "startup bank agency",
    "europe": "germany france spain italy portugal england scotland ireland norway sweden finland denmark poland austria switzerland"
    " greece netherlands belgium hungary iceland",
    "germany": "berlin hamburg munich cologne frankfurt leipzig dresden stuttgart kiel bremen",
    "france": "paris lyon marseille bordeaux nice toulouse lille nantes",
    "spain": "madrid barcelona seville valencia bilbao granada malaga",
    "italy": "rome milan naples turin florence venice bologna palermo",
    "portugal": "lisbon porto",
    "england": "london manchester liverpool leeds bristol oxford cambridge birmingham",
    "texas": "austin houston dallas",
    "california": "sacramento oakland",
    "colorado": "denver boulder",
    "asia": "japan china india thailand vietnam korea",
    "japan": "tokyo osaka kyoto",
    "africa": "kenya nigeria egypt morocco ghana",
    "canada": "toronto vancouver montreal ottawa",
    "austria": "vienna salzburg graz linz",
    "switzerland": "zurich geneva basel bern",
    "norway": "oslo bergen trondheim",
    "sweden": "stockholm gothenburg malmo",
}
_ALTERNATIVES = (
    "single married divorced widowed engaged unmarried",
    "vegan vegetarian omnivore carnivore pescatarian",
    "left-handed right-handed ambidextrous",
    "employed unemployed retired self-employed",
    "introvert extrovert introverted extroverted ambivert",
    "optimist pessimist optimistic pessimistic",
    "atheist christian muslim jewish buddhist hindu agnostic catholic protestant",
    "night_owl early_riser early_bird morning_person", "man woman", "male female", "human robot", "junior senior", "patient impatient", "formal informal casual",
    "shy outgoing", "quiet talkative loud", "tall short", "rich poor", "cautious reckless bold", "polite rude impolite",
    "honest dishonest", "playful serious", "trusting skeptical sceptical", "calm nervous anxious", "lazy hardworking diligent",
    "tidy messy", "punctual unpunctual", "brief verbose", "friendly unfriendly", "conservative liberal progressive",
    (
        "american british french german italian spanish portuguese dutch swiss austrian polish czech hungarian greek turkish russian"
        " ukrainian swedish norwegian danish finnish irish scottish welsh english canadian mexican brazilian argentinian chilean"
        " colombian peruvian cuban chinese japanese korean indian pakistani thai vietnamese indonesian filipino australian egyptian"
        " moroccan nigerian kenyan ethiopian israeli iranian iraqi syrian lebanese icelandic belgian romanian bulgarian croatian serbian"
    ),
)  # fmt: skip

_VERBS = (  # with which people go on about themselves
    r"(?:am|was|have|had|live|lived|work|worked|love|loved|like|liked|enjoy|hate|dislike|prefer|value|speak|spoke|play|played|study|studied"
    r"|teach|taught|know|want|grew|moved|own|write|wrote|run|ran|believe|think|care|collect|keep|paint|cook|bake|read|hope|need|make|made"
    r"|build|built|do|don't|can|can't|cannot|will|won't|used|never|always|usually|often|currently|now|also|spend|volunteer|drive|dream|specialize"
    r"|specialise|sing|dance|swim|travel|follow|support|help|lead|manage|founded|found|graduated|became|started|tend|try|hold|come|answer|trust"
    r"|drink|eat|feel|practice|practise|served|serve|turned|won|married|learned|learnt|learn|design|research|sell|sold|raise|wear|fear|admire)"
)


DESCRIPTIONS = DescriptionWords(
    attributes=_ATTRIBUTES,
    professions=by_word(_PROFESSIONS),
    fields=by_word(_FIELDS),
    kinds=by_word(_KINDS),
    alternatives=tuple(frozenset(group.replace("_", " ") for group in groups.split()) for groups in _ALTERNATIVES),
    being=re.compile(r"\b(?:am|I'm|I\u2019m)\b", _ANY),
    preferred=re.compile(
        r"\b(?:value|prefer|choose|favou?r|put|rate|like) (?P<first>[^.;,!?]+?) (?:over|to|above|before|more than|rather than) (?P<second>[^.;,!?]+)",
        _ANY,
    ),
    joint=re.compile(
        rf"(?:,? (?:and|but)|;|,) (?:(?=(?P<own>I\b|I['\u2019]\w|my (?:\w+ ){{1,3}}(?:is|are|was|were|has)\b))|(?={_VERBS} \w))", _ANY
    ),
    subject="I ",
    speaker=re.compile(
        r"^(?:(?:(?:as|in|at|on|for|when|after|before|since|every|each|outside|besides|with|usually|sometimes|always|currently|today|now|also|by|to"
        r"|never|often|\w+ly|though|although|while|if|because|even|from)\b[^.;]*?,? )?I\b|(?:have|having|born|based|raised|working)\b)",
        _ANY,
    ),
    liked=re.compile(
        r"\b(?:really |truly |very much )?(?:like|love|enjoy|adore|am (?:very )?(?:fond of|keen on|into|interested in|passionate about)|am an? (?:big |huge )?(?:fan|lover) of)\b", _ANY
    ),
    disliked=re.compile(r"\b(?:really )?(?:dislike|hate|detest|loathe|despise|avoid|can(?:not|'t|\u2019t) (?:stand|bear))\b", _ANY),
    negation=re.compile(r"\b(?:not|never|no|neither|nor|without|nothing|do not|am not)\b(?! only)|(?:\bdo|\bdid|\bwas|\bhave|\bca|\bwo|\bcould|\bhad)n['\u2019]t\b", _ANY),
    past=re.compile(
        r"\bI (?:\w+ly |also |once |never |always )*(?:was|were|had|did|used to|grew|spoke|taught|wrote|ran|made|built|went|sold|became|won"
        r"|\w{2,}ed)\b(?! (?:born|raised))",
        _ANY,
    ),
    former=re.compile(r"\b(?:used to|no longer|formerly|once|any ?more|any longer|previously|stopped|quit|gave up)\b", _ANY),
    besides=re.compile(r"\b(?:also|too|as well|besides|in addition|additionally|part-time|on the side|sometimes)\b", _ANY),
)  # fmt: skip
