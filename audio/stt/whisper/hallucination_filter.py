"""What speaks against a decode: the gates, and the texts Whisper invents on silence. Pure."""

import re
import zlib
from dataclasses import dataclass

from audio.stt import Punctuation

LEAST_LOG_PROBABILITY = -1.0
MOST_COMPRESSION = 2.4
MOST_NO_SPEECH = 0.6
"""The three thresholds of the reference implementation (openai/whisper, `transcribe`)."""

_MAYBE_NO_SPEECH = 0.4
"""With words that are improbable, too, nobody had said them (docs/stt.md, "Words that nobody said")."""

_WEAK_LOG_PROBABILITY = -0.6
_WEAK_NO_SPEECH = 0.3
"""Evidence that alone condemns nothing, but does with a phantom phrase."""

_GUESSED_LOG_PROBABILITY = -1.5
"""So improbable are words of noise; with `_WEAK_NO_SPEECH` they were nobody's."""

_MANY_WORDS = 4
"""In noise the model hears fewer, less probable ones, or the same again and again (docs/stt.md)."""

_REPEATS = 4
"""A phrase said so many times in a row is a loop: people say "no no no", a decoder goes on."""

_REPEATS_OF_ONE_WORD = 6

_TWICE_WORDS = 3

_PHANTOMS: dict[str, frozenset[str]] = {
    "en": frozenset(
        {
            "thank you", "thanks", "thank you very much", "thank you so much", "thank you for watching",
            "thanks for watching", "thank you for watching this video", "thanks for watching and see you next time",
            "please subscribe", "please subscribe to my channel", "like and subscribe", "see you next time",
            "see you in the next video", "ill see you in the next video", "you", "bye", "bye bye", "the end", "so",
            "okay", "subtitles by the amaraorg community",
        }
    ),
    "de": frozenset(
        {
            "vielen dank", "danke", "vielen dank fürs zuschauen", "danke fürs zuschauen", "bis zum nächsten mal",
            "tschüss", "untertitel der amaraorg community", "untertitel im auftrag des zdf für funk 2017",
            "untertitelung des zdf 2020", "das wars",
        }
    ),
    "fr": frozenset(
        {
            "merci", "merci davoir regardé cette vidéo", "merci davoir regardé",
            "sous titres réalisés par la communauté damaraorg",
            "sous titrage société radio canada", "abonnez vous", "à bientôt", "au revoir",
        }
    ),
    "es": frozenset(
        {
            "gracias", "muchas gracias", "gracias por ver el video", "gracias por ver el vídeo", "suscríbete",
            "suscríbete al canal", "subtítulos realizados por la comunidad de amaraorg", "hasta la próxima", "adiós",
        }
    ),
    "it": frozenset(
        {
            "grazie", "grazie a tutti", "grazie per la visione", "grazie per aver guardato il video",
            "sottotitoli creati dalla comunità amaraorg", "iscriviti al canale", "alla prossima", "ciao",
        }
    ),
    "nl": frozenset(
        {
            "bedankt", "dank je wel", "bedankt voor het kijken", "tot de volgende keer",
            "ondertitels ingediend door de amaraorg gemeenschap",
            "ondertiteld door de amaraorg gemeenschap", "doei",
        }
    ),
    "pt": frozenset(
        {
            "obrigado", "obrigada", "muito obrigado", "obrigado por assistir", "inscreva se no canal", "tchau",
            "legendas pela comunidade amaraorg", "até a próxima",
        }
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """One decode and what it says about itself.

    Attributes:
        text: What was decoded.
        log_probability: Mean natural logarithm per token, the end token included.
        no_speech: Probability of the no-speech token, 0 to 1.
        closure: What was expected behind the last word; None where the decode did not come to its end.
    """

    text: str
    log_probability: float
    no_speech: float
    closure: Punctuation | None = None


def doubt(evidence: DecodeResult) -> str:
    """The gate that a decode fails ("no speech", "compression", "repetition", "log-probability"), or ""."""
    if evidence.no_speech > MOST_NO_SPEECH:
        return "no speech"
    if compression_ratio(evidence.text) > MOST_COMPRESSION:
        return "compression"
    if _loop(evidence.text.split()):
        return "repetition"
    return "log-probability" if evidence.log_probability < LEAST_LOG_PROBABILITY else ""


def window_may_be_why(doubt: str) -> bool:
    """Whether what speaks against a decode in a short window may not do so in the full one.

    Loops are: the model was trained on 30 s. Words that it is not sure of stay so, and so does noise (docs/stt.md).
    """
    return doubt not in {"", "log-probability", "no speech"}


def said_twice(text: str) -> bool:
    """Whether the text is one phrase of three words or more and then the same again, or its beginning.

    Whisper does that in a window that is shorter than it was trained on; people seldom do.
    """
    words = plain(text).split()
    return any(
        words[length:] == words[: len(words) - length] for length in range(_TWICE_WORDS, len(words) - _TWICE_WORDS + 1)
    )


def invented(evidence: DecodeResult, language: str) -> bool:
    """Whether the text is to be taken for none at all, as on silence and noise.

    Either the no-speech token is likely, and it is not the words of somebody all the same, or it may be and the words
    are improbable, very improbable where it hardly may be, or the whole text is one of the phrases that Whisper is
    known to invent in this language and one of the two is at least weak. A phrase alone counts for nothing: people do
    say "thank you". The reference implementation believes whatever is probable in the first case; what it hears in
    noise may be (docs/stt.md, "Words that nobody said").
    """
    if not plain(evidence.text) or (evidence.no_speech > MOST_NO_SPEECH and not _somebodys(evidence)):
        return True
    if evidence.no_speech > _MAYBE_NO_SPEECH and evidence.log_probability < LEAST_LOG_PROBABILITY:
        return True
    if evidence.no_speech > _WEAK_NO_SPEECH and evidence.log_probability < _GUESSED_LOG_PROBABILITY:
        return True
    weak = evidence.no_speech > _WEAK_NO_SPEECH or evidence.log_probability < _WEAK_LOG_PROBABILITY
    return weak and plain(evidence.text) in _PHANTOMS.get(language, frozenset())


def unconfirmed(short: DecodeResult, full: DecodeResult) -> bool:
    """Whether what goes round in a short window, and may be no speech, is nobody's by the full window, too.

    There it goes round again, or other words are heard, or hardly any, that fail a gate as well: such are the voices of
    a coffee shop. A loop is probable by itself, whatever it was made of: its probability says nothing.
    """
    if not doubt(full) or max(short.no_speech, full.no_speech) <= _MAYBE_NO_SPEECH:
        return False
    if full.no_speech > MOST_NO_SPEECH and _somebodys(full):
        return False
    fewer, more = sorted((plain(full.text), plain(without_loop(short.text))), key=len)
    alike = f" {fewer} " in f" {more} " and 2 * len(fewer.split()) >= len(more.split())
    alike = alike or set(fewer.split()) == set(more.split())
    return goes_round(full.text) or not alike


def goes_round(text: str) -> bool:
    """Whether it repeats itself as a decoder does that found no end."""
    return compression_ratio(text) > MOST_COMPRESSION or _loop(text.split()) is not None


def _somebodys(evidence: DecodeResult) -> bool:
    """Whether nobody but a person says this, though it may be no speech: who goes on in the midst of a sentence."""
    words = plain(evidence.text).split()
    if goes_round(evidence.text) or said_twice(evidence.text):
        return False
    least = LEAST_LOG_PROBABILITY if len(words) >= _MANY_WORDS else _WEAK_LOG_PROBABILITY
    return evidence.log_probability >= least


def compression_ratio(text: str) -> float:
    """Bytes of the text over bytes of it compressed: the higher, the more it repeats itself; 0 for ""."""
    raw = text.encode()
    return len(raw) / len(zlib.compress(raw)) if raw else 0.0


def without_loop(text: str) -> str:
    """The text with a phrase that goes round in it said once."""
    words = text.split()
    while (loop := _loop(words)) is not None:
        at, length, times = loop
        words = words[: at + length] + words[at + length * times :]
    return " ".join(words)


def plain(text: str) -> str:
    """Lower-case words without punctuation, one space between them."""
    return " ".join(re.sub(r"[^\w\s-]", "", text.lower()).replace("-", " ").split())


def _loop(words: list[str]) -> tuple[int, int, int] | None:
    """The first phrase of up to eight words that is repeated in a row: (its index, its length, how often)."""
    said = [plain(word) for word in words]
    for length in range(1, 9):
        least = _REPEATS_OF_ONE_WORD if length == 1 else _REPEATS
        for at in range(len(said) - length * least + 1):
            times = 1
            while said[at : at + length] == said[at + length * times : at + length * (times + 1)]:
                times += 1
            if times >= least:
                return at, length, times
    return None
