"""Words and phrases that tell how hard a request is, by language. Regular expressions without word boundaries.

`request_size.py` gives the points. The lists are short on purpose: each entry is a phrase that people say to a voice
assistant, in lower case and with plain apostrophes.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Feature = Literal[
    "asked to think", "reasoning", "comparison", "planning", "code", "maths", "condition", "fact", "command",
    "small talk", "short answer", "follow-up",
]  # fmt: skip

Words = Mapping[Feature, tuple[str, ...]]

ENGLISH: Words = MappingProxyType(
    {
        "asked to think": (
            r"think (?:about|it|this|that|carefully|hard|again|through|twice)", r"take your time", r"step by step",
            r"reason (?:through|about|it)", r"in (?:more )?(?:detail|depth)", r"thoroughly", r"be careful",
            r"double check", r"careful thought",
        ),
        "reasoning": (
            r"why", r"how come", r"explain\w*", r"what (?:causes|caused|makes)", r"the reasons?", r"justify",
            r"argue", r"how (?:do|does|did) .+ works?", r"implications?", r"consequences?", r"affects?",
            r"influences?", r"make sense of", r"convince", r"prove wrong", r"what went wrong", r"figure out",
            r"analy[sz]e", r"walk me", r"solve", r"riddle", r"puzzle", r"logically?", r"what would happen",
            r"evaluate", r"role did",
        ),
        "comparison": (
            r"compare\w*", r"comparison", r"difference", r"differences", r"differs?", r"versus", r"pros and cons",
            r"(?:dis)?advantages?", r"trade ?-?offs?", r"which (?:one )?(?:is|are|would be) (?:the )?(?:better|best)",
            r"better .+ or", r"should i .+ or", r"or should i", r"rather than", r"weigh", r"which of",
            r"what's better", r"worth it", r"good idea", r"arguments? (?:for|against)",
        ),
        "planning": (
            r"plan (?:me|a|an|my|our|for|the|out)", r"make (?:me )?(?:a|an) .*plan", r"itinerary", r"strategy",
            r"draft", r"write (?:me |us )?(?:a|an|the|my)", r"outline", r"summari[sz]e", r"design", r"come up with",
            r"brainstorm", r"help me (?:decide|plan|write|prepare|understand|figure)", r"organi[sz]e", r"rewrite",
            r"rephrase", r"what should i (?:do|say)",
            r"how (?:should|would|can|could|do) (?:i|we) .+ (?:without|while|so that)", r"prepare",
            r"what should i (?:consider|look)", r"consider", r"watch out for", r"should i",
            r"suggest .+ (?:for|that)", r"advice", r"story", r"poem", r"essay", r"speech", r"schedule",
        ),
        "code": (
            r"python", r"javascript", r"java", r"rust", r"sql", r"regex", r"regular expression", r"function that",
            r"algorithm", r"debug", r"compil\w+", r"stack trace", r"script", r"api", r"unit tests?", r"recursi\w+",
            r"null pointer", r"crash\w*", r"bug", r"race condition", r"data ?base", r"class that", r"code",
            r"program(?:ming)?", r"query", r"exception", r"docker", r"git",
        ),
        "maths": (
            r"calculate", r"equations?", r"derivative", r"integral", r"probability", r"prove (?:that|it)", r"proof",
            r"compound interest", r"interest rate", r"average speed", r"how (?:many|much|long|old) .+ if", r"theorem",
            r"how (?:many|much|long) .+ (?:altogether|in total|left)", r"odds",
            r"how many .+ (?:do|must|should|would) i", r"percent\w*", r"matrix", r"standard deviation",
            r"split .+ (?:between|among)", r"how (?:much|long) .+ (?:each|per|every)",
        ),
        "condition": (
            r"if", r"suppose", r"supposing", r"assum(?:e|ing)", r"given that", r"provided", r"without", r"unless",
            r"even though", r"although", r"but",
        ),
        "fact": (
            r"what time", r"what day", r"what(?:'s| is) the (?:capital|weather|date|time|name)",
            r"who (?:is|was|wrote|won|made)", r"when (?:is|was|did|does)", r"where (?:is|was|are|do|does)",
            r"how (?:old|tall|far|big|deep|high|heavy) is", r"how do you (?:spell|say)", r"what does .+ mean",
            r"translate", r"spell", r"define", r"what's .{1,12} in",
        ),
        "command": (
            r"turn (?:on|off|up|down|it|the)", r"set (?:a|an|the)", r"play", r"pause", r"remind me", r"call", r"add",
            r"open", r"close", r"stop", r"cancel", r"mute", r"skip", r"wake me", r"send", r"show me", r"louder",
        ),
        "small talk": (
            r"thanks?(?: you)?", r"hello", r"hi", r"hey", r"good (?:morning|evening|night)", r"bye", r"goodbye",
            r"see you", r"how are you", r"never mind", r"okay", r"ok", r"great", r"cool", r"nice", r"got it",
            r"please do", r"that's (?:all|fine|right|enough|great|it)", r"sorry", r"tell me a joke",
            r"you're (?:funny|welcome)",
        ),
        "short answer": (
            r"in (?:one|a) (?:word|sentence)", r"briefly", r"just (?:say|tell me) yes or no", r"quickly",
            r"real quick", r"quick question", r"yes or no", r"one word",
        ),
        "follow-up": (
            r"and", r"but", r"so", r"then", r"why", r"how", r"what (?:about|if|else)", r"are you sure", r"go on",
            r"continue", r"keep going", r"can you", r"could you", r"make it", r"now", r"again", r"also", r"instead",
            r"or", r"which", r"wait", r"could (?:it|that|we|i)", r"would (?:it|that)", r"should", r"hmm", r"try",
            r"what would", r"tell me more", r"does that", r"is that", r"in that",
        ),
    }
)  # fmt: skip

GERMAN: Words = MappingProxyType(
    {
        "asked to think": (
            r"denk\w* .*(?:nach|gut|genau|gründlich|noch ?mal)", r"überleg\w*", r"lass dir zeit", r"nimm dir zeit",
            r"schritt für schritt", r"ausführlich\w*", r"im detail", r"gründlich", r"sorgfältig", r"genauer",
        ),
        "reasoning": (
            r"warum", r"wieso", r"weshalb", r"erklär\w*", r"erläuter\w*", r"begründ\w*", r"woran liegt",
            r"wie kommt es", r"wie kommt's", r"wie funktionier\w*", r"ursachen?", r"gründe", r"folgen",
            r"auswirkung\w*", r"auswirkt", r"beeinfluss\w*", r"analysier\w*", r"lös\w*", r"rätsel", r"logisch",
            r"was würde passieren", r"herausfinden", r"beurteil\w*", r"bewert\w*", r"zusammenh\w+", r"wovon hängt",
            r"welche rolle",
        ),
        "comparison": (
            r"vergleich\w*", r"unterschied\w*", r"unterscheid\w*", r"vor- und nachteile", r"vorteile?n?",
            r"nachteile?n?", r"was ist besser", r"besser .*oder", r"lieber .*oder",
            r"soll(?:te)? (?:ich|man|wir) .+ oder", r"oder lieber", r"abwäg\w*", r"abzuwägen", r"gegenüber",
            r"lohnt (?:es )?sich", r"welche[rs]? von", r"argumente?", r"sinnvoll\w*", r"gute idee",
        ),
        "planning": (
            r"plan", r"plane?n?", r"planst", r"reiseplan", r"wochenplan", r"strategie", r"entwurf", r"entwirf\w*",
            r"entwerf\w*", r"schreib\w*", r"verfass\w*", r"formulier\w*", r"fass\w* .*zusammen", r"zusammenfass\w*",
            r"gliederung", r"hilf mir", r"helfen", r"vorbereit\w*", r"bereite?", r"organisier\w*", r"überarbeite?",
            r"was soll(?:te)? ich (?:tun|machen|sagen)", r"vorschläge?", r"rat", r"rätst", r"geschichte", r"gedicht",
            r"rede", r"ideen", r"\w+plan", r"worauf (?:soll|sollte|muss)", r"achten", r"beachten", r"soll(?:te)? ich",
            r"denk\w* dir",
        ),
        "code": (
            r"python", r"javascript", r"java", r"rust", r"sql", r"regex", r"reguläre\w* ausdr\w+", r"funktion,? die",
            r"algorithmus", r"algorithmen", r"debug\w*", r"kompilier\w*", r"skript", r"schnittstelle",
            r"unit ?tests?", r"rekursi\w+", r"datenbank\w*", r"klasse,? die", r"code", r"programm(?:ier\w*|code)",
            r"stürzt ab", r"abgestürzt", r"absturz", r"abfrage", r"docker", r"git", r"fehlermeldung",
        ),
        "maths": (
            r"berechn\w*", r"rechne?", r"gleichung\w*", r"ableitung", r"integral", r"wahrscheinlich(?:keit)?",
            r"beweis\w*", r"zinseszins", r"zinssatz", r"zinsen", r"durchschnitt\w*",
            r"wie (?:viele?|lange|alt) .+ wenn", r"prozent",
            r"wie (?:viele?|lange) .+ (?:insgesamt|zusammen|übrig|pro|jeder?)", r"standardabweichung", r"matrix",
            r"wie (?:viele?|oft|lange) (?:muss|müssen|brauche) .+", r"aufteil\w*", r"teilen sich",
        ),
        "condition": (
            r"wenn", r"falls", r"angenommen", r"vorausgesetzt", r"nehmen wir an", r"ohne", r"obwohl", r"es sei denn",
            r"aber",
        ),
        "fact": (
            r"wie spät", r"wie viel uhr", r"welcher tag", r"wer (?:ist|war|hat)",
            r"wann (?:ist|war|hat|beginnt|kommt|wird)", r"wo (?:ist|liegt|war|gibt|steht)",
            r"wie (?:alt|groß|hoch|weit|tief|schwer|lang) (?:ist|wird)", r"übersetz\w*", r"was heißt",
            r"was bedeutet", r"buchstabier\w*", r"wie schreibt man", r"wie heißt", r"was ist die hauptstadt",
            r"wie wird das wetter",
        ),
        "command": (
            r"mach\w* .{1,40}(?:an|aus|lauter|leiser|auf|zu)$", r"schalte?", r"stell\w* .*(?:wecker|timer|auf|ein)",
            r"spiele?", r"pause", r"erinner\w* mich", r"ruf\w*", r"füge?", r"setz\w* .+ auf", r"öffne", r"stopp?",
            r"abbrechen", r"weck\w* mich", r"lauter", r"leiser", r"zeig\w* mir",
        ),
        "small talk": (
            r"danke\w*", r"vielen dank", r"hallo", r"hi", r"guten (?:morgen|tag|abend)", r"gute nacht", r"tschüss?",
            r"auf wiedersehen", r"bis (?:bald|dann|morgen)", r"wie geht's", r"wie geht es dir", r"schon gut", r"okay",
            r"ok", r"super", r"prima", r"gut", r"alles klar", r"verstanden", r"das war's", r"das reicht",
            r"entschuldigung", r"erzähl\w* .*witz", r"ja", r"nein", r"genau",
        ),
        "short answer": (
            r"in einem (?:satz|wort)", r"kurz", r"ganz kurz", r"nur ja oder nein", r"ja oder nein", r"kurze frage",
        ),
        "follow-up": (
            r"und", r"aber", r"also", r"dann", r"warum", r"wieso", r"wie", r"was ist mit", r"bist du sicher",
            r"weiter", r"mach weiter", r"kannst du", r"könntest du", r"könnte", r"würde", r"sollte", r"jetzt",
            r"noch ?mal", r"auch", r"stattdessen", r"oder", r"welche[rs]?", r"moment", r"hm+", r"was wäre", r"mehr",
            r"gilt das", r"ist das", r"versuch", r"heißt das",
        ),
    }
)  # fmt: skip

FRENCH: Words = MappingProxyType(
    {
        "asked to think": (
            r"réfléchi\w*", r"prends? (?:ton|le) temps", r"prenez votre temps", r"étape par étape", r"pas à pas",
            r"en détails?", r"soigneusement", r"attentivement", r"pense bien", r"pensez-y", r"approfondi\w*",
        ),
        "reasoning": (
            r"pourquoi", r"expliqu\w*", r"comment (?:se fait-il|ça se fait)", r"comment .*fonctionn\w+",
            r"les? raisons?", r"justifi\w*", r"les? causes?", r"conséquences?", r"effets?", r"influenc\w*",
            r"analys\w*", r"résou\w*", r"énigme", r"devinette", r"logique", r"qu'est-ce qui se passerait",
            r"que se passerait", r"évalu\w*", r"comprendre", r"argument\w*", r"quel rôle", r"en quoi",
        ),
        "comparison": (
            r"compar\w*", r"différences?", r"diffère\w*", r"avantages?", r"inconvénients?", r"le pour et le contre",
            r"vaut(?:-il)? mieux", r"mieux .+ ou", r"plutôt que", r"ou plutôt",
            r"est-ce que je (?:dois|devrais) .+ ou", r"lequel", r"laquelle", r"lesquel\w+", r"vaut le coup",
            r"bonne idée", r"par rapport",
        ),
        "planning": (
            r"planifi\w*", r"un plan", r"programme (?:de|pour)", r"itinéraire", r"stratégie", r"brouillon",
            r"rédig\w*", r"écri(?:s|re|vez)", r"résum\w*", r"organis\w*", r"aide-moi", r"aider", r"prépar\w*",
            r"reformul\w*", r"qu'est-ce que je (?:dois|devrais|peux) (?:faire|dire)", r"que (?:dois|devrais)-je",
            r"conseils?", r"attention", r"programme d\w*", r"invent\w*", r"(?:dois|devrais)-?je",
            r"je (?:dois|devrais)", r"propos\w*", r"idées?", r"histoire", r"poème", r"discours", r"emploi du temps",
            r"suggè?r\w*", r"conçois",
        ),
        "code": (
            r"python", r"javascript", r"java", r"rust", r"sql", r"regex", r"expressions? régulières?",
            r"fonction qui", r"algorithme", r"débog\w*", r"debug\w*", r"compil\w+", r"script", r"api",
            r"tests? unitaires?", r"récursi\w+", r"base de données", r"classe qui", r"code",
            r"programm(?:e qui|er|ation)", r"requête", r"plant(?:e|é|er)", r"bug\w*", r"docker", r"git",
        ),
        "maths": (
            r"calcul\w*", r"équations?", r"dérivée", r"intégrale", r"probabilité", r"démontr\w*", r"prouv\w*",
            r"théorème", r"intérêts? composés?", r"taux d'intérêt", r"combien .+ (?:faut|dois)", r"moyenne",
            r"combien .+ si", r"pour ?cents?", r"écart-type", r"combien .+ (?:en tout|au total|chacun|par|reste\w*)",
            r"pourcentage", r"partag\w+", r"si .+ combien",
        ),
        "condition": (
            r"si", r"suppos\w*", r"à condition", r"en admettant", r"imaginons", r"sans", r"à moins", r"alors que",
            r"bien que", r"mais", r"sachant",
        ),
        "fact": (
            r"quelle heure", r"quel jour", r"qui (?:est|a|était)", r"quand (?:est|a|commence|aura)",
            r"où (?:est|se trouve|sont)", r"quel âge", r"quelle (?:est la capitale|taille|hauteur|distance)",
            r"tradui\w*", r"que veut dire", r"que signifie", r"qu'est-ce que ça veut dire",
            r"comment (?:on dit|dit-on|s'appelle|on écrit|s'écrit)", r"épell?e\w*", r"quel temps", r"c'est quoi",
            r"à quelle heure",
        ),
        "command": (
            r"allum\w*", r"étein\w*", r"mets", r"joue", r"pause", r"rappelle-moi", r"appelle", r"ajoute", r"ouvre",
            r"ferme", r"arrête", r"annule", r"réveille-moi", r"monte", r"baisse", r"plus fort", r"moins fort",
            r"montre-moi", r"envoie",
        ),
        "small talk": (
            r"merci\w*", r"bonjour", r"salut", r"bonsoir", r"bonne nuit", r"au revoir", r"à (?:bientôt|demain|plus)",
            r"ça va", r"comment vas-tu", r"comment allez-vous", r"laisse tomber", r"d'accord", r"ok", r"okay",
            r"super", r"parfait", r"très bien", r"c'est (?:bon|tout|ça|gentil)", r"pardon", r"une blague", r"oui",
            r"non", r"compris",
        ),
        "short answer": (
            r"en un mot", r"en une phrase", r"brièvement", r"oui ou non", r"juste un mot", r"vite fait",
            r"rapidement",
        ),
        "follow-up": (
            r"et", r"mais", r"donc", r"alors", r"pourquoi", r"comment", r"qu'en est-il", r"tu es sûre?",
            r"vous êtes sûr", r"continue\w*", r"vas-y", r"peux-tu", r"tu peux", r"pourrais-tu", r"maintenant",
            r"encore", r"aussi", r"plutôt", r"ou", r"lequel", r"attends", r"hum+", r"pourrait", r"est-ce que",
            r"dans ce cas", r"essaie", r"dis-m'en plus", r"refais",
        ),
    }
)  # fmt: skip

SPANISH: Words = MappingProxyType(
    {
        "asked to think": (
            r"piénsa\w+", r"piensa (?:bien|en|con)", r"piense", r"reflexion\w*", r"tómate tu tiempo", r"paso a paso",
            r"en detalle", r"con detalle", r"detallad\w+", r"a fondo", r"con cuidado", r"cuidadosamente",
        ),
        "reasoning": (
            r"por ?qué", r"expl[ií]c\w*", r"cómo (?:es que|es posible)", r"cómo funciona\w*", r"razon\w*",
            r"motivos?", r"justific\w*", r"causas?", r"consecuencias?", r"efectos?", r"influ\w+", r"analiz\w*",
            r"resuelv\w*", r"resolver", r"acertijo", r"adivinanza", r"lógica", r"qué pasaría", r"evalúa\w*",
            r"entender", r"argument\w*", r"qué papel", r"a qué se debe", r"de qué depende", r"afecta\w*",
        ),
        "comparison": (
            r"comp[aá]ra\w*", r"diferencias?", r"ventajas?", r"desventajas?", r"pros y (?:los )?contras",
            r"mejor .+ o", r"es mejor", r"en vez de", r"en lugar de", r"debería .+ o", r"me conviene",
            r"conviene más", r"cuál de", r"vale la pena", r"buena idea", r"frente a", r"o mejor", r"o prefer\w+",
        ),
        "planning": (
            r"planif\w*", r"planea\w*", r"un plan", r"itinerario", r"estrategia", r"borrador", r"redact\w*",
            r"escríbe\w*", r"escribe", r"escribir", r"resum\w*", r"resúme\w*", r"organíza\w*", r"organiza\w*",
            r"ayúdame", r"ayudar\w*", r"prepar\w*", r"prepára\w*", r"reescrib\w*",
            r"qué (?:debería|debo|puedo) (?:hacer|decir)", r"consej\w*", r"aconsej\w*", r"propon\w*", r"ideas?",
            r"historia (?:sobre|de)", r"cuento", r"poema", r"discurso", r"horario", r"sugi?er\w*", r"diseñ\w*",
            r"invéntate", r"plan de", r"fijarme", r"tener en cuenta", r"debería", r"inventa\w*",
        ),
        "code": (
            r"python", r"javascript", r"java", r"rust", r"sql", r"regex", r"expresi(?:ón|ones) regular(?:es)?",
            r"función que", r"algoritmo", r"depur\w*", r"compil\w+", r"script", r"api", r"pruebas? unitarias?",
            r"recursiv\w+", r"base de datos", r"clase que", r"código", r"program(?:a que|ar|ación)", r"consulta",
            r"docker", r"git", r"se (?:cae|cuelga|bloquea)",
        ),
        "maths": (
            r"calcul\w*", r"calcúla\w*", r"ecuaci(?:ón|ones)", r"derivada", r"integral", r"probabilidad",
            r"demuestr\w*", r"demostrar", r"teorema", r"interés compuesto", r"tipo de interés",
            r"cuánt[oa]s? (?:tengo|debo|hay|necesito) que .+", r"promedio", r"media", r"por ?ciento",
            r"cuánt[oa]s? .+ si", r"si .+ cuánt[oa]s?", r"cuánt[oa]s? .+ (?:en total|cada uno|por|quedan?)",
            r"reparti\w*", r"desviación", r"porcentaje", r"dividi\w*",
        ),
        "condition": (
            r"si", r"supon\w*", r"supong\w*", r"imagina\w*", r"siempre que", r"sin", r"a menos que", r"aunque",
            r"pero", r"sabiendo",
        ),
        "fact": (
            r"qué hora", r"qué día", r"quién (?:es|fue|era|escribió|ganó)", r"cuándo (?:es|fue|empieza|nació)",
            r"dónde (?:está|es|queda|vive)", r"cuántos años", r"cómo se (?:dice|escribe|llama)", r"traduc\w*",
            r"qué significa", r"qué quiere decir", r"deletrea\w*", r"cuál es la capital", r"qué tiempo",
            r"a qué hora", r"cuánto (?:mide|pesa)",
        ),
        "command": (
            r"enciende", r"apaga", r"pon", r"ponme", r"reproduce", r"pausa", r"recuérdame", r"llama", r"añade",
            r"agrega", r"abre", r"cierra", r"para", r"cancela", r"despiértame", r"sube", r"baja",
            r"más (?:alto|bajo)", r"muéstrame", r"envía",
        ),
        "small talk": (
            r"gracias", r"hola", r"buenos días", r"buenas (?:tardes|noches)", r"adiós",
            r"hasta (?:luego|mañana|pronto)", r"qué tal", r"cómo estás", r"déjalo", r"vale", r"ok", r"okay",
            r"genial", r"perfecto", r"muy bien", r"entendido", r"eso es todo", r"perdón", r"un chiste", r"sí", r"no",
            r"claro", r"de acuerdo",
        ),
        "short answer": (
            r"en una (?:palabra|frase)", r"brevemente", r"sí o no", r"en pocas palabras", r"rápido", r"rápidamente",
        ),
        "follow-up": (
            r"y", r"pero", r"entonces", r"por qué", r"cómo", r"qué hay de", r"qué pasa con", r"estás seguro",
            r"sigue", r"continúa", r"puedes", r"podrías", r"podría", r"debería", r"ahora", r"otra vez", r"también",
            r"en cambio", r"o", r"cuál", r"espera", r"hm+", r"eso", r"en ese caso", r"cuéntame más", r"inténtalo",
            r"hazlo", r"de nuevo",
        ),
    }
)  # fmt: skip

LANGUAGES: Mapping[str, Words] = MappingProxyType({"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH})
"""Words by language; other languages are scored by length, numbers and explicit signs alone."""

QUESTION_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "en": r"what|why|how|when|where|who|which",
        "de": r"was|warum|wieso|wie|wann|wo|wer|welche[rsnm]?|womit|wodurch",
        "fr": r"que|qu'est-ce|pourquoi|comment|quand|où|qui|quel(?:le)?s?|combien",
        "es": r"qué|por qué|cómo|cuándo|dónde|quién|cuál(?:es)?|cuánt[oa]s?",
    }
)

NUMBER_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "en": r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|"
        r"seventy|eighty|ninety|hundred|thousand|million|half|twice|third|quarter|dozen",
        "de": r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w*zwanzig|\w*dreißig|\w*vierzig|\w*fünfzig|"
        r"\w*sechzig|\w*siebzig|\w*achtzig|\w*neunzig|\w*hundert|\w*tausend|million\w*|halb|hälfte|doppelt|drittel",
        "fr": r"deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|quarante|cinquante|"
        r"soixante|cent|cents|mille|million|moitié|double|tiers",
        "es": r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|quince|veinte|treinta|cuarenta|cincuenta|"
        r"sesenta|setenta|ochenta|noventa|cien|ciento|mil|millón|mitad|doble|tercio",
    }
)
