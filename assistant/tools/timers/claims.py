"""Detects sentences that claim that a timer, alarm or reminder was set, changed or cancelled, in four languages. Pure.

A sentence counts only if it begins with the claim, after words such as "sure": "if I set an alarm" and "you have set an
alarm" are none, nor is a question.
"""

import re

_WHAT = (
    r"(?:alarms?|timers?|reminders?|countdowns?|wake[- ]up call|wecker\w*|alarme\w*|erinnerung\w*|"
    r"réveils?|minuteurs?|minuteries?|rappels?|compte à rebours|alarmas?|temporizador(?:es)?|recordatorios?|"
    r"despertador(?:es)?)"
)
_REST = r"[^.!?\n]"

_SOON = rf"{_REST}{{0,60}}?\b{_WHAT}\b"
"""The timer, in the same sentence."""
_DONE_EN = (
    r"(?:set|scheduled|created|started|running(?! \w+ (?:through|on|with))|cancell?ed|changed|moved|updated|paused|"
    r"stopped|ready|added|deleted|renamed)"
)
_DONE_DE = (
    r"(?:gestellt|gesetzt|eingestellt|erstellt|gestartet|eingerichtet|angelegt|gelöscht|geändert|verschoben|aktiviert|"
    r"hinzugefügt|umgestellt|abgebrochen)"
)
_DONE_FR = (
    r"(?:mis|réglé|programmé|créé|ajouté|lancé|activé|annulé|modifié|déplacé|configuré|démarré|enregistré|supprimé)"
)
_DONE_ES = (
    r"(?:puest|configurad|programad|cread|añadid|establecid|activad|cancelad|cambiad|movid|ajustad|eliminad|en marcha|"
    r"list)"
)
_NOT_DE = rf"(?!{_REST}*\b(?:nicht|keine?n?)\b)"

_ORDINAL = (
    r"(?:first|last|most|earliest|story|history|way|of|how|and|on|in|with|erste[nrs]?|meisten|premi\w+|primer\w*)"
)
_FEW = rf"(?:(?!{_ORDINAL}\b)[\w:'-]+ ){{0,4}}?"
"""Words between the article and the timer: "the ten minute timer"."""
_FOR = r"(?: (?:for|at|to|called|named|on|tomorrow|today|you|that you)\b[^.!?\n]{0,50}?)?"
_NOT_THING = (
    r"(?! (?:clocks?|sound|class|function|component|code|object|module|email|letter|text|app|widget|system|bells?)\b)"
)
"""Excludes other things than an alarm: "a reminder email", "a timer class"."""
_NOT_GENERAL_EN = r"(?! (?:by|with|using|when|if|off|up|in the|whenever|each|every time)\b)"
_NOT_GENERAL_DE = rf"(?!{_REST}*\b(?:durch|dass|wenn|früher|meistens|[12]\d{{3}})\b)"
_NOT_GENERAL_FR = rf"(?!{_REST}*\b(?:par|si|quand|[12]\d{{3}})\b)"
_NOT_GENERAL_ES = rf"(?!{_REST}*\b(?:por|si|cuando|[12]\d{{3}})\b)"
_ADVERBS_EN = r"(?:now |all |already |successfully |also )*"

_TO_USER = (
    # English
    r"(?:(?:i|we)(?:'ve| have) |i just )(?:just |now |also |already |gone ahead and |went ahead and |successfully )*"
    rf"(?:made|{_DONE_EN})\b{_SOON}{_NOT_THING}",
    rf"i(?:'ll| will) (?:just |now |also |go ahead and )*(?:set|add|create|schedule|start)\b{_SOON}{_NOT_THING}",
    r"i(?:'ll| will) (?:be sure to |make sure to |also |then )?(?:wake you(?! with)|remind you"
    r"(?! (?:that|of|how|why|what|about|again|where|who)\b))\b",
    rf"(?:your|both your|all your) {_FEW}{_WHAT}(?: clock)?{_FOR} "
    rf"(?:is|are|has been|have been|was|were) {_ADVERBS_EN}{_DONE_EN}\b{_NOT_GENERAL_EN}",
    # German
    rf"(?:ich habe?|hab ich|habe ich)\b{_NOT_DE}{_REST}*\b{_WHAT}\b{_REST}*\b{_DONE_DE}\b",
    rf"deine? {_FEW}[\w-]*{_WHAT}\b{_NOT_DE}{_NOT_GENERAL_DE}{_REST}*"
    rf"\b(?:(?:ist|sind|wurde|wurden|habe ich)\b{_REST}*\b{_DONE_DE}\b|läuft (?:jetzt|nun)|"
    r"klingelt (?:um|morgen|heute|in)\b)",
    r"ich (?:erinnere|wecke) (?:dich|sie|euch)\b(?! nicht)(?! (?:gerne? |noch einmal |hiermit )?an )"
    rf"(?!{_REST}*\bdass\b)",
    r"ich (?:stelle|setze|starte|erstelle) (?:dir |ihnen |jetzt |nun )*(?:einen |eine |den |die )?"
    rf"{_REST}{{0,30}}?{_WHAT}\b",
    # French
    r"(?:j'ai(?! pas)|je viens de) (?:bien |donc )?(?:vous |te )?"
    rf"(?:{_DONE_FR}|régler|programmer|créer|mettre|lancer)\b{_SOON}",
    rf"(?:votre|ton|ta) {_FEW}{_WHAT}\b(?!{_REST}*\bpas\b){_NOT_GENERAL_FR}{_REST}{{0,40}}?"
    r"(?:(?:est|a été|sont|ont été) (?:bien |maintenant |désormais )*"
    rf"(?:{_DONE_FR}|en place)e?s?|sonnera)\b",
    r"je (?:vous |te |t')(?:rappellerai (?:à|de|demain|dans|ce|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)|"
    r"rappellerai d'|réveillerai|réveille)(?! pas| que)\b",
    r"je vais (?:vous |te )(?:rappeler (?:à|de|demain|dans)|rappeler d'|réveiller)\b",
    rf"je (?:mets|règle|programme|lance|crée)\b{_REST}{{0,30}}?{_WHAT}\b",
    # Spanish
    rf"(?:ya )?(?:he|te he) {_DONE_ES}o\b{_SOON}",
    rf"(?:ya )?acabo de (?:poner|configurar|programar|crear|cancelar|cambiar)\b{_SOON}",
    rf"tu {_FEW}{_WHAT}\b(?!{_REST}*\bno\b){_NOT_GENERAL_ES}{_REST}{{0,40}}?"
    rf"(?:(?:está|ha sido|queda|están|han sido|quedan) (?:ya |ahora )?{_DONE_ES}|sonará\b)",
    r"te (?:recordaré(?! (?:que|lo|cómo|por qué|las|los|el|la|algun[oa]s)\b)|despertaré)\b",
    r"voy a (?:recordarte(?! (?:que|lo|cómo|por qué|las|los|el|la|algun[oa]s)\b)|despertarte)\b",
)
"""Beginnings of claims that tell what was done for the user, one for each form of words."""

_OF_THING = (
    # English
    rf"i {_ADVERBS_EN}{_DONE_EN}\b{_SOON}{_NOT_THING}",
    r"i(?:'ll| will) remind you (?:about|again)\b",
    rf"(?:(?:the|this|that|both|all) )?{_FEW}{_WHAT}{_NOT_THING}{_FOR} "
    rf"(?:is|are|has been|have been) {_ADVERBS_EN}{_DONE_EN}\b{_NOT_GENERAL_EN}",
    rf"{_WHAT} {_DONE_EN}\b{_NOT_GENERAL_EN}",
    # German
    rf"(?:der|ein|die|eine|ihre?)? ?{_FEW}[\w-]*{_WHAT}\b{_NOT_DE}{_NOT_GENERAL_DE}{_REST}*"
    rf"\b(?:(?:ist|sind|wurde|wurden|habe ich)\b{_REST}*\b{_DONE_DE}\b|läuft (?:jetzt|nun)|"
    r"klingelt (?:um|morgen|heute|in)\b)",
    rf"ich erinnere (?:dich|sie|euch) (?:gerne? )?(?:an (?!unser)|{_REST}*\b(?:um|morgen|heute|in)\b{_REST}*\bdass\b)",
    # French
    rf"(?:le|la|une?|l'|mon)? ?{_FEW}{_WHAT}\b(?!{_REST}*\bpas\b){_NOT_GENERAL_FR}{_REST}{{0,40}}?"
    r"(?:(?:est|a été|sont|ont été) (?:bien |maintenant |désormais )*"
    rf"(?:{_DONE_FR}|en place)e?s?|sonnera)\b",
    r"je (?:vous |te )(?:rappellerai|rappelle)\b(?! pas| que| ici| donc que)",
    # Spanish
    rf"(?:la|el|su|una?)? ?{_FEW}{_WHAT}\b(?!{_REST}*\bno\b){_NOT_GENERAL_ES}{_REST}{{0,40}}?"
    rf"(?:(?:está|ha sido|queda|están|han sido|quedan) (?:ya |ahora )?{_DONE_ES}|sonará\b)",
    r"te (?:recordaré|avisaré)\b(?! (?:que|lo|las|los|cómo)\b)",
    r"voy a avisarte\b",
)
"""Beginnings that claim it only if the user has spoken of a timer. Otherwise they tell of timers in general."""

_BEFORE = (
    r"(?:(?:sure|ok|okay|alright|all right|done|got it|great|of course|no problem|certainly|perfect|absolutely|yes|and|"
    r"klar|gut|alles klar|gerne?|erledigt|natürlich|in ordnung|ja|und|also|"
    r"d'accord|bien sûr|très bien|c'est fait|parfait|entendu|oui|voilà|et|"
    r"claro|vale|listo|hecho|de acuerdo|perfecto|por supuesto|sí|muy bien|bien|y)(?: thing)?\b[,!.:;–— -]*)*"
)
_CLAIM = re.compile(rf"^\W*{_BEFORE}(?:{'|'.join(_TO_USER)})", re.IGNORECASE)
_CLAIM_OF_THING = re.compile(rf"^\W*{_BEFORE}(?:{'|'.join(_OF_THING)})", re.IGNORECASE)

_ABOUT = re.compile(
    rf"\b{_WHAT}\b|\b(?:wake me|remind|weck\w* mich|erinner|rappel|réveill|despi[eé]rta|recu[eé]rda|avísame)",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"^\W*(?:who|what|why|how|which|when|explain|tell me about|describe|wer|was|warum|wie|welche\w*|wann|erklär\w*|"
    r"qui|que|qu'est|comment|pourquoi|quel\w*|quand|explique\w*|quién|qué|cómo|por qué|cuál\w*|cuándo|explica\w*)\b"
    r"(?!.*\b(?:my|me|i|mine|mein\w*|mich|mir|ich|mon|ma|mes|moi|je|j'ai|m'|mi|mis|tengo|yo)\b(?<!tell me))",
    re.IGNORECASE,
)
"""Questions about timers in general, not about those of the user."""

_THAT = re.compile(
    rf"^\W*{_BEFORE}(?:"
    r"i(?:'ve| have)? (?:just |now )*(?:set|scheduled|changed|moved|cancell?ed) (?:it|that|both|them|one)\b|"
    r"(?:it's|that's|it is|that is|they're) (?:all |now )*(?:set|scheduled|done|cancell?ed)\b|"
    r"(?:ich habe (?:ihn|sie|es|das) (?:gestellt|gelöscht|verschoben|geändert))|"
    r"(?:je l'ai|je les ai) (?:réglé|programmé|mis|annulé|déplacé)e?s?|"
    r"(?:lo|la|los|las) he (?:puesto|programado|cancelado|cambiado))",
    re.IGNORECASE,
)

_SPEAKERS = frozenset("i i'll i've we we've ich hab habe j'ai je ya he acabo te voy".split())
_OPENINGS = _SPEAKERS | frozenset("your both all dein deine votre ton ta tu".split())
_OPENINGS_OF_THING = _OPENINGS | frozenset(
    "the this that an a alarm alarms timer timers reminder reminders countdown it's it they're that's "
    "der die ein eine ihr ihre wecker erinnerung le la l'alarme une un mon alarme réveil minuteur rappel "
    "el su una alarma temporizador recordatorio despertador lo los las".split()
)
"""First words of claims, and of claims about which the user has spoken."""
_INTERJECTIONS = frozenset(
    "sure ok okay alright right done got it great of course no problem certainly perfect absolutely yes and thing "
    "klar gut alles gerne gern erledigt natürlich in ordnung ja und also "
    "d'accord bien sûr très c'est fait parfait entendu oui voilà et "
    "claro vale listo hecho de acuerdo perfecto por supuesto sí muy y all".split()
)
_WORD = re.compile(r"[\w']+")
_MAX_UNDECIDED_WORDS = 5
"""Whole words of a beginning in which a claim names its verb, or the timer."""
_MAX_UNNAMED_WORDS = 14
"""Whole words of a beginning in which a claim names the timer and its verb."""
_NAMED = re.compile(
    rf"\b[\w-]*{_WHAT}\b|\b(?:remind|wake|erinnere|wecke)\b|rappel|réveil|recorda|despert|avisa", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:set|add(?:ed)?|creat\w*|schedul\w*|start\w*|made|chang\w*|mov\w*|cancel\w*|updat\w*|paus\w*|stopp\w*|"
    r"delet\w*|renam\w*|gone|went|stelle|setze|starte|erstelle|dir|mis|réglé|programmé|créé|ajouté|lancé|activé|annulé|"
    r"modifié|déplacé|configuré|viens|mets|règle|programme|puesto|configurado|programado|creado|añadido|establecido|"
    r"activado|cancelado|cambiado|movido|de)\b",
    re.IGNORECASE,
)


def is_about_timers(text: str) -> bool:
    """Returns whether the user's words are about an own timer, alarm or reminder, or about being woken."""
    return _ABOUT.search(text) is not None and _GENERAL.search(text.replace("’", "'")) is None


def claims_timer(sentence: str, *, about_timers: bool = False) -> bool:
    """Returns whether a sentence claims a change of a timer, alarm or reminder.

    `about_timers`: whether the user has spoken of one, so that "I've set it" and "the alarm is set" claim one, too.
    """
    plain = " ".join(sentence.replace("’", "'").split())
    if plain.endswith("?"):
        return False
    patterns = (_CLAIM, _CLAIM_OF_THING, _THAT) if about_timers else (_CLAIM,)
    return any(pattern.search(plain) for pattern in patterns)


def may_claim(beginning: str, *, about_timers: bool = False) -> bool:
    """Returns whether the beginning of a sentence may still become a claim. Most are decided after a few words."""
    words = [word.lower() for word in _WORD.findall(beginning.replace("’", "'"))]
    is_whole = not (beginning[-1:].isalnum() or beginning[-1:] in "'’")
    openings = _OPENINGS_OF_THING if about_timers else _OPENINGS
    while words and words[0] in _INTERJECTIONS - openings:
        words.pop(0)
    if not words or (len(words) == 1 and not is_whole):
        return not words or any(known.startswith(words[0]) for known in openings | _INTERJECTIONS)
    if words[0] not in openings:
        return about_timers and _NAMED.search(" ".join(words[:4])) is not None and len(words) < _MAX_UNNAMED_WORDS
    whole = len(words) - (not is_whole)
    if about_timers and words[0] not in _SPEAKERS and whole < _MAX_UNDECIDED_WORDS:
        return True
    named = _NAMED.search(beginning) is not None
    if named and (_VERB.search(beginning) or whole < _MAX_UNNAMED_WORDS):
        return True
    if words[0] in _SPEAKERS and _VERB.search(beginning):
        return whole < _MAX_UNNAMED_WORDS
    return whole < _MAX_UNDECIDED_WORDS
