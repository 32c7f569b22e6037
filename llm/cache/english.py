"""The lexical gate's English."""

import re

from llm.cache.lexicon import CAPITALIZED, Lexicon, alternatives, forms, pairs, rewrites

_UNITS = "mile kilometer km meter metre centimeter foot feet inch yard gram kilogram kilo milligram ounce pound ton "
_UNITS += "liter litre milliliter gallon pint cup fahrenheit celsius kelvin hour minute second degree watt volt"
_DATES = "january february march april may june july august september october november december monday tuesday "
_DATES += "wednesday thursday friday saturday sunday christmas easter century decade year month week day"
_QUANTITIES = "all some most many few any every each both none no always never sometimes often usually rarely only "
_QUANTITIES += "can could may might must should shall would more less half double"

ENGLISH = Lexicon(
    contractions=rewrites(
        r"""
        cannot -> can not
        can't -> can not
        won't -> will not
        shan't -> shall not
        (\w+)n't -> \1 not
        let's -> let us
        (what|who|where|when|why|how|it|that|there|here)'s -> \1 is
        (\w+)'re -> \1 are
        (\w+)'ve -> \1 have
        (\w+)'ll -> \1 will
        i'm -> i am
        (\w+)'d -> \1 would
        (\w+)s' -> \1s 's
        (\w+)'s -> \1 's
        """
    ),
    frames=(
        re.compile(r"^(?:um+|uh+|er+|hm+|well|so|okay|ok|hey|hi|hello|please|yes|yeah|say|listen|computer)\s+(?=\S)"),
        re.compile(
            r"^(?:can|could|would|will) you (?:please |maybe |quickly |briefly )*(?:tell|explain|say|give|show|describe|"
            r"define)(?: to)?(?: me| us)?(?: what (?=(?:the|a|an) \S+ (?:of|in) .* (?:is|are)$))?\s+(?=\S)"
        ),
        re.compile(r"^(?:do|would|did) you (?:happen to )?know\s+(?=\S)"),
        re.compile(r"^(?:please )?(?:tell|show|explain to|give) (?:me|us) (?!about |something )(?=\S)"),
        re.compile(r"^(?:explain|define|describe)\s+(?=\S)"),
        re.compile(r"^i(?: would| will)? (?:want|like|love|need) to (?:know|learn|understand|hear)\s+(?=\S)"),
        re.compile(r"^i (?:wonder|am wondering|was wondering|do not know)\s+(?=\S)"),
        re.compile(r"^(?:what (?=what|who|where|when|why|how|which))"),
        re.compile(r"\s+(?:please|thanks|thank you|exactly|for me)$"),
        re.compile(r"(?<=^what )(?:exactly|actually)\s+"),
        re.compile(r"(?<=^how )(?:exactly|actually)\s+"),
    ),
    rewrites=rewrites(
        r"""
        colour(s?) -> color\1
        ^the (?!.*\b(?:who|whom|what|which|where|when|why|how)\b)(?=\w) -> what is the
        ^(?:what can you tell me|tell me|tell me something|something|what do you know) about -> aboutit
        (?:the )?(?:world|earth) 's ((?:\w+ )*\w+)$ -> \1 in the world
        (\w+) 's ((?:\w+ )*?\w+)(?= (?:in|on|at|to|from|for)\b|$) -> \2 of \1
        on (?:the )?earth$ -> in the world
        of the world$ -> in the world
        capital city -> capital
        away from -> from
        how is it that -> how do
        who (?:is|was) it that -> who
        (?:in|at|from) (?:what|which) (?:year|date|month|day) -> when
        (?:what|which) (?:year|date) (?=was|were|did|does|is) -> when
        (?:the )?second world war -> world war 2
        (?:the )?first world war -> world war 1
        what (?:is|was) the (?:height) of -> how tall is
        what (?:is|was) the (?:size) of -> how big is
        what (?:is|was) the (?:depth) of -> how deep is
        what (?:is|was) the (?:age) of -> how old is
        what (?:is|was) the (?:length) of -> how long is
        what (?:is|was) the (?:speed) of -> how fast is
        what (?:is|was) the (?:weight) of -> how heavy is
        what (?:is|was) the (?:width) of -> how wide is
        what (?:is|was) the (?:distance) (?=from|to|between) -> how far is
        how much (?:do|does) (.+) weigh -> how heavy is \1
        what is the (?:population|number of inhabitants|number of people) (?:of|in) -> how many people live in
        how many (?:inhabitants|people|residents) (?:do|does) (.+) have -> how many people live in \1
        how many (?:inhabitants|people|residents) are (?:there )?in -> how many people live in
        what is the number of -> how many
        how many (.+) (?:does|do) ((?:the |a |an )?(?:\w+ )?\w+) have$ -> how many \1 in \2
        how many (.+) (?:is|are) (?:there )?in -> how many \1 in
        (\w+est|most \w+) ((?:\w+ )?\w+) (?:in|of) -> \1 \2 of
        of$ -> ofwhat
        who (?:is|was) the (?:author|writer) of -> who wrote
        who (?:is|was) the composer of -> who composed
        who (?:is|was) the inventor of -> who invented
        who (?:is|was) the discoverer of -> who discovered
        who (?:is|was) the founder of -> who founded
        who (?:is|was) the painter of -> who painted
        by whom (?:was|were) (.+) (\w+ed|written|built|made|found)$ -> who \2 \1
        who (?:was|were) (.+) (\w+ed|written|built|made|found) by$ -> who \2 \1
        what is (?:the|a) (?:meaning|definition) of -> what is
        what (?:do|does) (.+) mean$ -> what is \1
        what is nato$ -> what stand nato
        what (?:is|are) (.+) short for$ -> what stand \1
        what (?:do|does) (?:the )?(?:abbreviation |acronym )?(.+) stand for$ -> what stand \1
        take place ->
        (?:located|situated)$ ->
        where (?:can|do) (?:i|you|we|one) find -> where is
        what is the origin of (.+) -> where come \1 from
        (?:get|gets|getting) rid of -> remove
        how (?:do|does|can|could) (?:i|you|we|one|people) (?!(?:know|call|say|like|feel|think|get to)\b)(?=\w) -> howto
        how (?:do|does|can|could) (?:i|you|we|one|people) (?=(?:call|say|get to)\b) -> howto
        how to -> howto
        ^(?:can you )?spell -> howto spell
        ^translate (.+) (?:in|to|into) (\w+)$ -> howto say \1 in \2
        what is the way to -> howto
        ^what is (.+) in (arabic|chinese|english|french|german|italian|japanese|korean|latin|portuguese|russian|spanish)$ -> howto say \1 in \2
        ^(?:what is )?(?:a|the) recipe for -> howto make
        how long (?:does it take|do (?:you|i|we|people) (?:have|need)) to (?=(?:bake|boil|cook|fry|grill|roast|steam)\b) -> how long
        how (?:do|does) (.+) differ from (.+)$ -> what is the difference between \1 and \2
        why do (?:we|people|you) get (\w+)$ -> what causes \1
        is it (?:okay|ok|all right) for (.+) to (?=(?:eat|drink)\b) -> can \1
        how much time -> how long
        (?:at|what is the) (?:what |which )?temperature (?:at which )?(?:do|does) (.+) (boil|melt|freeze)s?$ -> temperature \2 \1
        what temperature (?:do|does) (.+) (boil|melt|freeze)s? at$ -> temperature \2 \1
        what is the (boil|melt|freez)ing point of -> temperature \1
        (?:what|which) currency (?:is used|is it|do people use|do they use) in -> what is the currency of
        (?:what|which) currency (?:does|do) (.+) (?:have|use) -> what is the currency of \1
        language(s?) (?:is|are) spoken in -> language\1 people speak in
        ^(?:is|are) (.+?) (?:cap)?able to -> can \1
        do you have (?=an? (?:recipe|definition|example)) ->
        (?:do|does|did) (?:we|people|humans|you|they) (?=dream|yawn|sleep|age|sneeze|blink|speak|say|eat|need|have|call|use|live|celebrate|laugh|cry|blush|sweat|hiccup|get) -> do people
        what makes (?:us|people|humans) -> why do people
        in (?:the )?fall$ -> in autumn
        (?:which|what) (\w+) is the (\w+est|most \w+)(?: one)?(?=$| (?:in|of|on)\b) -> what is the \2 \1
        (?:which|what) (\w+) ((?:in|of|on) (?:the )?\w+) is the (\w+est|most \w+)$ -> what is the \3 \1 \2
        between (?:a |an |the )?(\w+) and (?:a |an |the )?(\w+)$ -> between \1 and \2
        (\w+est|most \w+) (\w+) in -> \1 \2 of
        """
    ),
    questions=(
        (alternatives("how many"), "how many"),
        (alternatives("how much"), "how much"),
        (alternatives("how often"), "how often"),
        (alternatives("howto"), "how to"),
        (alternatives("aboutit"), "about"),
        (alternatives("why|what for|how come"), "why"),
        (alternatives("when"), "when"),
        (alternatives("where"), "where"),
        (alternatives("whose"), "whose"),
        (alternatives("whom"), "whom"),
        (alternatives("who"), "who"),
        (alternatives("how"), "how"),
        (alternatives("what|which"), "what"),
    ),
    polar=re.compile(
        r"^(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|may|might|must)\b"
    ),
    dropped=frozenset(
        "is are am was were be been being do does did will shall of 's there please really actually exactly".split()
    ),
    articles=pairs("the=definite a=indefinite an=indefinite"),
    genders=(),
    be=frozenset("is are was were be been being".split()),
    past=frozenset("was were did had".split()),
    future=frozenset("will shall gonna".split()),
    past_forms=pairs(
        "ate=eat became=become began=begin broke=break built=build bought=buy came=come chose=choose died=die "
        "drank=drink drew=draw drove=drive fell=fall felt=feel fought=fight found=find flew=fly gave=give got=get "
        "grew=grow held=hold kept=keep knew=know led=lead left=leave lost=lose made=make met=meet paid=pay ran=run "
        "rose=rise said=say sang=sing sank=sink saw=see sent=send slept=sleep sold=sell spoke=speak spent=spend "
        "stood=stand stole=steal swam=swim taught=teach took=take thought=think told=tell threw=throw went=go won=win "
        "wore=wear wrote=write spoken=speak written=write given=give taken=take driven=drive known=know grown=grow"
    ),
    past_suffix="ed",
    negations=pairs(
        "not=not no=not none=not neither=not nor=not never=never without=without nobody=nobody nothing=nothing "
        "hardly=hardly except=except"
    ),
    numbers=pairs(
        "one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 "
        "fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 "
        "sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 thousand=1000 first=#1 second=#2 third=#3 fourth=#4 "
        "fifth=#5 sixth=#6 seventh=#7 eighth=#8 ninth=#9 tenth=#10"
    ),
    forms=forms(
        """
        big large huge
        biggest largest
        smallest tiniest
        tall high
        tallest highest
        quick rapid
        refrigerator fridge
        airplane plane aeroplane aircraft
        film movie
        automobile car
        bicycle bike
        television tv
        telephone phone
        autumn fall_season
        begin start commence
        end finish
        united_states usa us_country america_country
        people humans
        child kid
        doctor physician
        buy purchase
        repair fix
        sick ill
        difference differences
        meter metre
        liter litre
        has have had having
        """
    ),
    plurals=pairs(
        "men=man women=woman children=child feet=foot teeth=tooth mice=mouse geese=goose wolves=wolf leaves=leaf "
        "knives=knife wives=wife lives=life halves=half shelves=shelf phenomena=phenomenon bacteria=bacterium"
    ),
    suffixes=(
        ("ies", "y", 2),
        ("sses", "ss", 2),
        ("shes", "sh", 2),
        ("ches", "ch", 2),
        ("xes", "x", 2),
        ("oes", "o", 3),
        ("s", "", 3),
    ),
    kept=frozenset(
        "news goods glasses arms customs spectacles physics mathematics texas mars venus wales paris james gas lens "
        "bus this does us always times works series species diabetes thus plus christmas athens brussels politics "
        "economics means pants stairs minus virus atlas canvas olympics alps andes netherlands philippines maldives "
        "bahamas hebrides spirits looks manners quarters remains colors damages forces letters minutes premises "
        "savings scales shades springs shoes toes canoes hives shingles piles blues briefs boxers trunks "
        "darts chips fries crabs measles mumps tropics odds ethics statistics gymnastics arts rights contents clothes brains "
        "grounds sports cards friends dates lyrics".split()
    ),
    superlative=re.compile(r"\b(?:\w{3,}est|most|least|first|last|only|next|best|worst|#\d+)\b"),
    classes={
        "unit": frozenset(_UNITS.split()),
        "date": frozenset(_DATES.split()),
        "quantity": frozenset(_QUANTITIES.split()),
    },
    asks=re.compile(
        r"^(?:(?:um+|uh+|so|well|please|hey|okay) )*(?:(?:can|could|would|will) you )?(?:please )?"
        r"(?:(?:tell|explain|show|describe)(?: to)?(?: me)? (?:the|about|something about)\b|"
        r"(?:explain|define|describe|translate|spell|name|list)\b|"
        r"(?:give me|do you have) (?:an?|the) (?:recipe|definition|example|list|explanation|summary)\b)"
    ),
    timely=alternatives(
        """
        now|nowadays|today|tonight|tomorrow|yesterday|current|currently|latest|recent|recently|lately|ago|still|yet
        anymore|any more|at the moment|these days|so far|until now|what time is|time is it|date is it|what day
        (?:this|next|last|coming|past) (?:minute|hour|day|morning|afternoon|evening|night|week|weekend|month|year|season)
        (?:this|next|last|coming|past) (?:spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday|friday)
        (?:this|next|last|coming|past) (?:saturday|sunday|election|game|match|episode|train|bus|flight)
        weather|forecast|news|headlines|traffic|stock|stocks|share price|exchange rate|score|raining|snowing
        price of|open on|opening hours|here|nearby|near me|around me|close to me|closest|nearest|how far is it
        (?:days|weeks|months|hours|minutes|long|time) .*(?:until|till|before)
        (?:ready|open|closed|available|free|working|included|done|over|late|cancelled)$
        """
    ),
    personal=alternatives(
        "i|my|mine|me|myself|we|us|our|ours|ourselves|your|yours|yourself|are you|did you|have you|were you|do you|"
        "^(?:can|could|will|would) you"
    ),
    varied=alternatives(
        """
        joke|jokes|story|stories|poem|poems|riddle|riddles|surprise|random|randomly|song|quote|fun fact|trivia
        another|again|else|continue|go on|keep going|repeat|different one
        recommend|recommendation|suggest|suggestion|advice|advise|opinion|idea|ideas
        """
    ),
    referring=alternatives(
        """
        it|its|itself|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|then|thing
        one|ones|same|such|former|latter|both|so|too|also|instead|either|neither|other|others|more|rest|above
        in town|through town|around town|to town|locally
        (?:bigger|smaller|larger|older|younger|taller|higher|longer|shorter|cheaper|better|worse|faster|slower)(?! .*than)
        (?:hotter|colder|warmer|richer|poorer|closer|further|farther|safer|heavier|lighter|harder|easier)(?! .*than)
        what about|how about|^and|^but|^or|^because|^why$|^how$|^when$|^where$|^who$|^what$|^which$
        """
    ),
    state=re.compile(r"^(?:is|are|was|were) the\b"),
    definite=re.compile(r"\bthe (?!(?:sun|moon|earth|world|sky|sea|universe|internet|solar system|human body)\b)"),
    unique=re.compile(r"\bthe (?:sun|moon|earth|world|sky|universe|internet|solar system|human body)\b"),
    definition=re.compile(r"^what is an? \w+$"),
    name=CAPITALIZED,
    no_names=frozenset({*_DATES.split(), "i", "english", "french", "german", "italian", "spanish"}),
    relational=alternatives(
        """
        inhabitants?|residents|languages?|currency|religions?|food|dish|dishes|rivers?|mountains?|cities|towns?|sights
        restaurants?|hotels?|museums?|beach|beaches|airports?|side effects|symptoms|ingredients|members|players|characters
        actors|people (?:live|speak|eat|drink|use|wear|pay|celebrate|work|visit|do)
        """
    ),
    complement=re.compile(r"\b(?:of|in|on|for|from|between|about|to|with|than|who|that)\s+\w"),
)
