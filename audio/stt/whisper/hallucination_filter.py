"""Detects unreliable decodes and texts that Whisper hallucinates on silence and noise. Pure."""

import re
import zlib
from dataclasses import dataclass

from audio.stt import Punctuation, TokenProbability

MIN_LOG_PROBABILITY = -1.0
MAX_COMPRESSION = 2.4
MAX_NO_SPEECH = 0.6
"""The three thresholds of the reference implementation (openai/whisper, `transcribe`)."""

_MODERATE_NO_SPEECH = 0.4
"""No-speech probability from which improbable words are taken as hallucinated (docs/lab/stt.md)."""

_WEAK_LOG_PROBABILITY = -0.6
_WEAK_NO_SPEECH = 0.3
"""Weak evidence of hallucination: sufficient only for a known phantom phrase, or if possibly nobody speaks at all."""

_REPEATS = 4
"""Repetitions of a phrase from which it counts as a decoder loop; people say "no no no" at most."""

_REPEATS_OF_ONE_WORD = 6

_MIN_DOUBLED_WORDS, _MIN_DOUBLED_LETTERS = 3, 8
"""Length of a phrase whose second occurrence in a row is suspect, without digits: they are often said twice."""

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
    """The result of one decode with its confidence values.

    Attributes:
        text: The decoded text.
        log_probability: Mean natural logarithm per token, including the end token.
        no_speech: Probability of the no-speech token, 0 to 1.
        punctuation: Expected punctuation after the last word; None if the decode did not reach its end.
        tokens: The tokens of the text, if they were requested.
    """

    text: str
    log_probability: float
    no_speech: float
    punctuation: Punctuation | None = None
    tokens: tuple[TokenProbability, ...] = ()


def failed_check(evidence: DecodeResult) -> str:
    """Returns which check a decode fails: "no speech", "compression", "repetition", "log-probability", or ""."""
    if evidence.no_speech > MAX_NO_SPEECH:
        return "no speech"
    if compression_ratio(evidence.text) > MAX_COMPRESSION:
        return "compression"
    if _loop(evidence.text.split()):
        return "repetition"
    return "log-probability" if evidence.log_probability < MIN_LOG_PROBABILITY else ""


def may_pass_in_full_window(failed_check: str) -> bool:
    """Returns whether a check that failed in a short window may pass in the full one.

    This holds for loops, because the model was trained on 30 s. Low probability and noise stay (docs/lab/stt.md).
    """
    return failed_check not in {"", "log-probability", "no speech"}


def may_pass_with_timestamps(evidence: DecodeResult) -> bool:
    """Returns whether a loop in a short window may end if the decoder writes timestamps (docs/lab/stt.md).

    Not for sound that is possibly no speech: there the full window has to confirm the words.
    """
    return evidence.no_speech <= _MODERATE_NO_SPEECH


def is_doubled(text: str) -> bool:
    """Returns whether the text ends with a phrase that stands there twice in a row: "Stop the music. Stop the music."

    People hardly ever repeat a phrase of three words like that; a decoder that misses the end of speech does
    (docs/lab/stt.md).
    """
    words = plain(text).split()
    for length in range(_MIN_DOUBLED_WORDS, len(words) // 2 + 1):
        phrase = words[-length:]
        if phrase == words[-2 * length : -length]:
            plain_words = [word for word in phrase if not word.isdigit()]
            letters = sum(map(len, plain_words))
            return len(plain_words) >= _MIN_DOUBLED_WORDS and letters >= _MIN_DOUBLED_LETTERS
    return False


def is_hallucinated(evidence: DecodeResult, language: str) -> bool:
    """Returns whether the text is hallucinated, as happens on silence and noise.

    This is the case if one of these holds:

    - there are no words, or the no-speech probability is high and the words are not confident;
    - the no-speech probability is moderate and the words are improbable;
    - the whole text is a phrase that Whisper often hallucinates in this language, and there is weak evidence.

    A phrase alone is not sufficient: people do say "thank you". The reference implementation accepts any probable text
    in the first case, but text decoded from noise can be probable (docs/lab/stt.md, "Hallucinated words").
    """
    if not plain(evidence.text) or (evidence.no_speech > MAX_NO_SPEECH and not _is_confident_speech(evidence)):
        return True
    if evidence.no_speech > _MODERATE_NO_SPEECH and evidence.log_probability < MIN_LOG_PROBABILITY:
        return True
    weak = evidence.no_speech > _WEAK_NO_SPEECH or evidence.log_probability < _WEAK_LOG_PROBABILITY
    return weak and is_phantom(evidence.text, language)


def is_phantom(text: str, language: str) -> bool:
    """Returns whether the whole text is a phrase that Whisper often hallucinates in this language."""
    return plain(text) in _PHANTOMS.get(language, frozenset())


def is_confirmed_loop(short: DecodeResult, full: DecodeResult) -> bool:
    """Returns whether the full window confirms that a loop in a short window is hallucinated.

    It does if the no-speech probability is more than moderate, and the result of the full window fails a check and is
    a loop, or has other or very few words. An example is background voices of a coffee shop. The log-probability of a
    loop is always high.
    """
    if not failed_check(full) or max(short.no_speech, full.no_speech) <= _MODERATE_NO_SPEECH:
        return False
    if full.no_speech > MAX_NO_SPEECH and _is_confident_speech(full):
        return False
    fewer, more = sorted((plain(full.text), plain(without_loop(short.text))), key=len)
    alike = f" {fewer} " in f" {more} " and 2 * len(fewer.split()) >= len(more.split())
    alike = alike or set(fewer.split()) == set(more.split())
    return is_looping(full.text) or not alike


def is_looping(text: str) -> bool:
    """Returns whether the text repeats itself like the output of a decoder in a loop."""
    return compression_ratio(text) > MAX_COMPRESSION or _loop(text.split()) is not None


def _is_confident_speech(evidence: DecodeResult) -> bool:
    """Returns whether the words are confident enough to be speech although the no-speech probability is high."""
    return not is_looping(evidence.text) and evidence.log_probability >= _WEAK_LOG_PROBABILITY


def compression_ratio(text: str) -> float:
    """Returns the size of the text divided by its compressed size; repetitive text has a high ratio; 0 for ""."""
    raw = text.encode()
    return len(raw) / len(zlib.compress(raw)) if raw else 0.0


def without_loop(text: str) -> str:
    """Returns the text with each looping phrase reduced to one occurrence."""
    words = text.split()
    while (loop := _loop(words)) is not None:
        position, length, times = loop
        words = words[: position + length] + words[position + length * times :]
    return " ".join(words)


def plain(text: str) -> str:
    """Returns the words in lower case without punctuation, separated by one space."""
    return " ".join(re.sub(r"[^\w\s-]", "", text.lower()).replace("-", " ").split())


def _loop(words: list[str]) -> tuple[int, int, int] | None:
    """Returns the first repeated phrase of up to eight words: (its index, its length, its count)."""
    plain_words = [plain(word) for word in words]
    for length in range(1, 9):
        least = _REPEATS_OF_ONE_WORD if length == 1 else _REPEATS
        for index in range(len(plain_words) - length * least + 1):
            times = 1
            while (
                plain_words[index : index + length]
                == plain_words[index + length * times : index + length * (times + 1)]
            ):
                times += 1
            if times >= least:
                return index, length, times
    return None
