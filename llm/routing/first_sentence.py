"""Judges the beginning of a small model's answer: does it decline, or is it unsure? No I/O, no clock.

Text is held only as long as it may still become a refusal. "I can help" is free after two words; "I'm sorry, but" is
held until its next words tell. If probabilities count, the first sentence is held, at most `MAX_JUDGED` pieces of it.
"""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

from llm.chat import ChatEvent, EndpointTried, Finished, Token

MAX_JUDGED = 16
"""Pieces of text whose mean probability is judged; a sentence may end before."""

UNKNOWN_AFTER = 3
"""Pieces without a probability, after which the service is taken not to report any."""

_LEAD_INS = (
    "sorry", "i'm sorry", "i am sorry", "but", "unfortunately", "i'm afraid", "i am afraid", "well", "hmm", "oh",
    "honestly", "as an ai", "as an ai language model", "as an ai model", "as a language model", "as a voice assistant",
    "i apologize", "my apologies", "that", "leider", "es tut mir leid", "tut mir leid", "entschuldigung", "aber",
    "als ki", "als ki-modell", "als sprachmodell", "als sprachassistent", "désolé", "désolée", "je suis désolé",
    "je suis désolée", "malheureusement", "mais", "en tant qu'ia", "en tant que modèle de langage", "je crains que",
    "lo siento", "lo lamento", "lamentablemente", "por desgracia", "desafortunadamente", "pero", "me temo que",
    "como modelo de lenguaje", "como ia",
)  # fmt: skip

_REFUSALS = (
    "i don't know", "i do not know", "i'm not sure", "i am not sure", "i can't", "i cannot", "i can not", "i'm unable",
    "i'm not able", "i am not able", "i am unable", "i have no idea", "i have no information", "i have no way",
    "i don't have access", "i don't have information", "i don't have enough", "i don't have any information",
    "i do not have access", "i do not have information", "i do not have enough", "i couldn't", "i could not",
    "ich weiß nicht", "ich weiß es nicht", "ich weiß das nicht", "das weiß ich nicht", "das weiß ich leider nicht",
    "weiß ich nicht", "weiß ich das nicht", "weiß ich es nicht", "ich kann nicht", "ich kann das nicht",
    "ich kann das leider nicht", "ich kann leider", "ich kann dir nicht", "ich kann dir das nicht",
    "ich kann dir leider", "ich kann dir dabei", "ich kann dazu nichts", "ich kann ihnen nicht",
    "ich kann ihnen leider",
    "das kann ich nicht", "das kann ich leider nicht", "das kann ich dir nicht", "das kann ich dir leider nicht",
    "kann ich nicht", "kann ich das nicht", "kann ich dir nicht", "kann ich dir das nicht", "kann ich dir dabei nicht",
    "kann ich ihnen nicht", "ich bin nicht sicher", "ich bin mir nicht sicher", "ich bin nicht in der lage",
    "bin ich nicht in der lage", "ich habe keine ahnung", "ich habe keine informationen", "ich habe keinen zugriff",
    "ich habe dazu keine", "dazu habe ich keine", "habe ich keine informationen", "habe ich keinen zugriff",
    "je ne sais pas", "je sais pas", "je ne peux pas", "je peux pas", "je ne suis pas sûr", "je ne suis pas sûre",
    "je ne suis pas certain", "je ne suis pas certaine", "je ne suis pas en mesure", "je ne suis pas capable",
    "je n'ai pas accès", "je n'ai pas d'information", "je n'ai pas d'informations", "je n'ai aucune idée",
    "je n'ai aucune information", "je n'en sais rien", "je ne dispose pas", "il m'est impossible", "je ne pourrai pas",
    "no lo sé", "no sé", "no puedo", "no estoy seguro", "no estoy segura", "no tengo información", "no tengo acceso",
    "no tengo ni idea", "no tengo suficiente", "no tengo datos", "no soy capaz", "no me es posible", "no dispongo",
    "desconozco",
)  # fmt: skip

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*'?")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)]*(?=\s)|[。！？]|\n")


class Verdict(Enum):
    """The kind of an answer by its beginning: not known yet, an answer, a refusal, or an answer of low probability."""

    UNDECIDED = auto()
    ANSWER = auto()
    DECLINES = auto()
    UNSURE = auto()


def _phrases(texts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split(" ")) for text in texts)


_LEAD_IN_WORDS, _REFUSAL_WORDS = _phrases(_LEAD_INS), _phrases(_REFUSALS)


@dataclass(slots=True)
class FirstSentence:
    """The beginning of one answer. Feed it until the verdict is known.

    Attributes:
        min_probability: Mean probability of the first tokens below which the answer is unsure; 0: it does not count.
        text: The text so far.
        sentence: The whole first sentence, if `hear_sentence` has found one.
        probability: Mean probability so far; None if it is not known.
    """

    min_probability: float = 0.0
    text: str = ""
    sentence: str = ""
    _probabilities: list[float] = field(default_factory=list)
    _pieces: int = 0

    @property
    def probability(self) -> float | None:
        """Mean probability of the pieces so far; None if the service reports none."""
        return sum(self._probabilities) / len(self._probabilities) if self._probabilities else None

    def feed(self, token: Token) -> Verdict:
        """Takes the next piece of text."""
        self.text += token.text
        self._pieces += 1
        if token.probability is not None:
            self._probabilities.append(token.probability)
        return self._verdict(ended=False)

    def finish(self) -> Verdict:
        """Ends the answer."""
        return self._verdict(ended=True)

    def hear_sentence(self, event: ChatEvent, max_pieces: int) -> bool:
        """Takes an event and returns whether `sentence` is decided: the first sentence, or that there is none.

        `max_pieces`: pieces after which a sentence without an end does not count.
        """
        if isinstance(event, EndpointTried):
            return False
        if not isinstance(event, Token | Finished):
            return True  # a function call
        verdict = self.feed(event) if isinstance(event, Token) else self.finish()
        ended = len(self.text) if isinstance(event, Finished) else self.end
        if verdict is Verdict.ANSWER and ended is not None:
            self.sentence = self.text[:ended].rstrip()
        return ended is not None or verdict is Verdict.DECLINES or self._pieces >= max_pieces

    @property
    def end(self) -> int | None:
        """Length of the first sentence; None if it has not ended yet."""
        match = _SENTENCE_END.search(self.text)
        return None if match is None else match.end()

    def _verdict(self, *, ended: bool) -> Verdict:
        text = self.text.replace("’", "'").lower()
        words = _WORD.findall(text)
        whole = ended or not words or not text.endswith(words[-1])
        declines = _declines(words, whole=whole, ended=ended)
        if declines is not Verdict.ANSWER:
            return declines
        return self._by_probability(ended=ended)

    def _by_probability(self, *, ended: bool) -> Verdict:
        if self.min_probability <= 0 or (not self._probabilities and self._pieces >= UNKNOWN_AFTER):
            return Verdict.ANSWER
        if not ended and self.end is None and self._pieces < MAX_JUDGED:
            return Verdict.UNDECIDED
        mean = self.probability
        return Verdict.UNSURE if mean is not None and mean < self.min_probability else Verdict.ANSWER


def _declines(words: list[str], *, whole: bool, ended: bool) -> Verdict:
    """Judges words of an answer, of which the last one may be incomplete."""
    if not words:
        return Verdict.ANSWER if ended else Verdict.UNDECIDED
    open_ends = False
    for phrase in _REFUSAL_WORDS:
        begins, matches = _match(phrase, words, whole=whole)
        if matches:
            return Verdict.DECLINES
        open_ends = open_ends or begins
    for phrase in _LEAD_IN_WORDS:
        begins, matches = _match(phrase, words, whole=whole)
        if matches:
            after = _declines(words[len(phrase) :], whole=whole, ended=ended)
            if after is Verdict.DECLINES:
                return after
            begins = after is Verdict.UNDECIDED
        open_ends = open_ends or begins
    return Verdict.UNDECIDED if open_ends and not ended else Verdict.ANSWER


def _match(phrase: tuple[str, ...], words: list[str], *, whole: bool) -> tuple[bool, bool]:
    """Returns whether the words may become the phrase, and whether they begin with it."""
    if phrase[0][0] != words[0][0]:
        return False, False  # most phrases
    last = min(len(phrase), len(words)) - 1
    if any(phrase[index] != words[index] for index in range(last)):
        return False, False
    unfinished = not whole and last == len(words) - 1
    same = phrase[last] == words[last]
    if len(words) >= len(phrase) and same and not unfinished:
        return False, True
    return (phrase[last].startswith(words[last]) if unfinished else same) and len(words) <= len(phrase), False
