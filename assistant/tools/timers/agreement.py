"""Compares what a sentence says of timers, alarms and reminders with what is set. Pure."""

import re

from assistant.skills.answers import AlarmState, Running, TimerState

_KINDS = {
    "timers": re.compile(r"timer|countdown|minut(?:eur|erie)|compte à rebours|temporizador", re.IGNORECASE),
    "reminders": re.compile(r"remind|erinner|rappel|recor?da|recu[eé]rd|avis", re.IGNORECASE),
    "alarms": re.compile(r"alarm|wecke|wake|réveil|despert", re.IGNORECASE),
}
_CANCELLED = re.compile(r"cancel|delet|gelöscht|abgebrochen|annul|supprim|eliminad|borrad", re.IGNORECASE)
_NUMBERS = {
    word: number
    for words in (
        "two three four five six seven eight nine ten eleven twelve",
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for number, word in enumerate(words.split(), 2)
}
_NUMBERS |= {
    word: number
    for words in (
        "fifteen twenty thirty forty fifty sixty",
        "fünfzehn zwanzig dreißig vierzig fünfzig sechzig",
        "quinze vingt trente quarante cinquante soixante",
        "quince veinte treinta cuarenta cincuenta sesenta",
    )
    for number, word in zip((15, 20, 30, 40, 50, 60), words.split(), strict=True)
}
_WORD = re.compile(r"\d+|[^\W\d_]+")


def agrees(sentence: str, running: Running) -> bool:
    """Returns whether what is set agrees with a claim: an entry of its kind, and every number that it says.

    A claim of something cancelled agrees if nothing of its kind is set.
    """
    kinds = [kind for kind, pattern in _KINDS.items() if pattern.search(sentence)] or list(_KINDS)
    entries: list[TimerState | AlarmState] = [entry for kind in kinds for entry in getattr(running, kind)]
    if _CANCELLED.search(sentence):
        return not entries
    numbers = {number for entry in entries for number in _numbers(entry)}
    return bool(entries) and _said(sentence) <= numbers


def _said(text: str) -> set[int]:
    words = (word.lower() for word in _WORD.findall(text))
    return {int(word) if word.isdecimal() else _NUMBERS[word] for word in words if word.isdecimal() or word in _NUMBERS}


def _numbers(entry: TimerState | AlarmState) -> set[int]:
    """Returns the numbers with which an entry may be told."""
    name = entry.name if isinstance(entry, TimerState) else entry.about
    if isinstance(entry, TimerState):
        lengths_s = (round(entry.length_s), round(entry.left_s))
        plain = {part for s in lengths_s for part in (s, s // 60, s // 3600, s // 60 % 60, s % 60)}
    else:
        moment = entry.local_time
        hours = {moment.hour, moment.hour + 1} if moment.minute >= 30 else {moment.hour}
        plain = {moment.minute, 60 - moment.minute, moment.day, moment.month, moment.year, 0}
        plain |= {told for hour in hours for told in (hour, hour % 12 or 12)}
    spelled = {part for number in plain for part in (number // 10 * 10, number % 10) if number < 100}
    return plain | spelled | _said(name or "")
