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
    r"(?:set|scheduled|created|started|running|cancell?ed|changed|moved|updated|paused|stopped|ready|added|deleted|"
    r"renamed)"
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

_CLAIMS = (
    # English
    r"(?:i|we)(?:'ve| have)? (?:just |now |also |already |gone ahead and |went ahead and |successfully )*"
    rf"(?:made|{_DONE_EN})\b{_SOON}",
    rf"i(?:'ll| will) (?:just |now |also |go ahead and )*(?:set|add|create|schedule|start)\b{_SOON}",
    r"i(?:'ll| will) (?:be sure to |make sure to |also |then )?(?:remind|wake) you\b",
    rf"(?:(?:your|the|an?|this|that|both|all) )?(?:[\w':]+ ){{0,4}}?{_WHAT} {_REST}{{0,60}}?"
    r"(?:is|are|has been|have been|was|were) (?:now |all |already |successfully )*"
    rf"{_DONE_EN}(?! by| with| using| when| if)\b",
    rf"{_WHAT} {_DONE_EN}\b",
    # German
    rf"(?:ich habe?|hab ich|habe ich)\b{_NOT_DE}{_REST}*\b{_WHAT}\b{_REST}*\b{_DONE_DE}\b",
    rf"(?:(?:dein|der|ein|die|eine|deine|ihr|ihre) )?(?:[\w:-]+ ){{0,4}}?[\w-]*{_WHAT}\b{_NOT_DE}{_REST}*"
    rf"\b(?:(?:ist|sind|wurde|wurden|habe ich)\b.*\b{_DONE_DE}\b|läuft (?:jetzt|nun)|"
    r"klingelt (?:um|morgen|heute|in)\b)",
    r"ich (?:erinnere|wecke) (?:dich|sie|euch)\b(?! nicht)",
    r"ich (?:stelle|setze|starte|erstelle) (?:dir |ihnen |jetzt |nun )*(?:einen |eine |den |die )?"
    rf"{_REST}{{0,30}}?{_WHAT}\b",
    # French
    r"(?:j'ai(?! pas)|je viens de) (?:bien |donc )?(?:vous |te )?"
    rf"(?:{_DONE_FR}|régler|programmer|créer|mettre|lancer)\b{_SOON}",
    rf"(?:(?:votre|ton|ta|le|la|une?|l'|mon) ?)?(?:[\w':-]+ ){{0,3}}?{_WHAT}\b(?!{_REST}*\bpas\b){_REST}*?"
    r"(?:(?:est|a été|sont|ont été) (?:bien |maintenant |désormais )*"
    rf"(?:{_DONE_FR}|en place)e?s?|sonnera)\b(?! par)",
    r"je (?:vous |te |t')(?:rappellerai|réveillerai|rappelle|réveille)\b(?! pas)",
    r"je vais (?:vous |te )(?:rappeler|réveiller)\b",
    rf"je (?:mets|règle|programme|lance|crée)\b{_REST}{{0,30}}?{_WHAT}\b",
    # Spanish
    rf"(?:ya )?(?:he|te he) {_DONE_ES}o\b{_SOON}",
    rf"(?:ya )?acabo de (?:poner|configurar|programar|crear|cancelar|cambiar)\b{_SOON}",
    rf"(?:(?:tu|la|el|su|una?) )?(?:[\w:]+ ){{0,3}}?{_WHAT}\b(?!{_REST}*\bno\b){_REST}*?"
    rf"(?:está|ha sido|queda|están|han sido|quedan) (?:ya |ahora )?{_DONE_ES}",
    rf"(?:(?:tu|la) )?{_WHAT} sonará\b",
    r"te (?:recordaré|despertaré|avisaré)\b",
    r"voy a (?:recordarte|despertarte|avisarte)\b",
)
"""Beginnings of sentences that are claims, one for each form of words."""

_BEFORE = (
    r"(?:(?:sure|ok|okay|alright|all right|done|got it|great|of course|no problem|certainly|perfect|absolutely|yes|and|"
    r"klar|gut|alles klar|gerne?|erledigt|natürlich|in ordnung|ja|und|also|"
    r"d'accord|bien sûr|très bien|c'est fait|parfait|entendu|oui|voilà|et|"
    r"claro|vale|listo|hecho|de acuerdo|perfecto|por supuesto|sí|muy bien|bien|y)(?: thing)?\b[,!.:;–— -]*)*"
)
_CLAIM = re.compile(rf"^\W*{_BEFORE}(?:{'|'.join(_CLAIMS)})", re.IGNORECASE)

_ABOUT = re.compile(
    rf"\b{_WHAT}\b|\b(?:wake me|remind|weck\w* mich|erinner|rappel|réveill|despi[eé]rta|recu[eé]rda|avísame)",
    re.IGNORECASE,
)
_THAT = re.compile(
    rf"^\W*{_BEFORE}(?:"
    r"i(?:'ve| have)? (?:just |now )*(?:set|scheduled|changed|moved|cancell?ed) (?:it|that|both|them|one)\b|"
    r"(?:it's|that's|it is|that is|they're) (?:all |now )*(?:set|scheduled|done|cancell?ed)\b|"
    r"(?:ich habe (?:ihn|sie|es|das) (?:gestellt|gelöscht|verschoben|geändert))|"
    r"(?:je l'ai|je les ai) (?:réglé|programmé|mis|annulé|déplacé)e?s?|"
    r"(?:lo|la|los|las) he (?:puesto|programado|cancelado|cambiado))",
    re.IGNORECASE,
)

_OPENINGS = frozenset(
    "i i'll i've we we've your the a an this that both all alarm alarms timer timers reminder reminders countdown "
    "ich hab habe der die dein deine ein eine ihr ihre wecker erinnerung "
    "j'ai je c'est votre ton ta le la l'alarme une un mon alarme réveil minuteur rappel "
    "ya he acabo te tu el su una alarma temporizador recordatorio despertador voy".split()
)
_INTERJECTIONS = frozenset(
    "sure ok okay alright right done got it great of course no problem certainly perfect absolutely yes and thing "
    "klar gut alles gerne gern erledigt natürlich in ordnung ja und also "
    "d'accord bien sûr très fait parfait entendu oui voilà et "
    "claro vale listo hecho de acuerdo perfecto por supuesto sí muy y all".split()
)
_WORD = re.compile(r"[\w']+")
_MAX_UNDECIDED_WORDS = 5
"""Whole words of a beginning in which a claim names its verb, or the timer."""
_MAX_UNNAMED_WORDS = 14
"""Whole words of a beginning in which a claim with "I" names the timer."""
_SPEAKERS = frozenset("i i'll i've we we've ich hab habe j'ai je c'est ya he acabo te voy".split())
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
    """Returns whether the user's words are about a timer, alarm or reminder, or about being woken."""
    return _ABOUT.search(text) is not None


def claims_timer(sentence: str, *, about_timers: bool = False) -> bool:
    """Returns whether a sentence claims a change of a timer, alarm or reminder.

    `about_timers`: whether the user has spoken of one, so that "I've set it" claims one, too.
    """
    plain = " ".join(sentence.replace("’", "'").split())
    if plain.endswith("?"):
        return False
    return _CLAIM.search(plain) is not None or (about_timers and _THAT.search(plain) is not None)


def may_claim(beginning: str) -> bool:
    """Returns whether the beginning of a sentence may still become a claim. Most are decided after a few words."""
    words = [word.lower() for word in _WORD.findall(beginning.replace("’", "'"))]
    is_whole = not (beginning[-1:].isalnum() or beginning[-1:] in "'’")
    while words and words[0] in _INTERJECTIONS - _OPENINGS:
        words.pop(0)
    if not words or (len(words) == 1 and not is_whole):
        return not words or any(known.startswith(words[0]) for known in _OPENINGS | _INTERJECTIONS)
    if words[0] not in _OPENINGS:
        return False
    whole = len(words) - (not is_whole)
    if _NAMED.search(beginning):
        return True
    if words[0] in _SPEAKERS and _VERB.search(beginning):
        return whole < _MAX_UNNAMED_WORDS
    return whole < _MAX_UNDECIDED_WORDS
