"""Converts the results of decodes between a replica and a gateway, as `audio.cluster.wire` does."""

from typing import Any

from audio.cluster.wire import Wire
from audio.stt import FirstWord, Punctuation, TokenProbability
from audio.stt.whisper.model import Decoded
from audio.units import Pcm


def sent_decode(decoded: Decoded) -> dict[str, Any]:
    """Returns the result of a decode without the encoder's output: only whether there is one."""
    punctuation, word = decoded.punctuation, decoded.first_word
    return {
        "text": decoded.text,
        "failed_check": decoded.failed_check,
        "language": decoded.language,
        "language_sure": decoded.language_sure,
        "punctuation": None if punctuation is None else (punctuation.sentence_end, punctuation.continuation),
        "was_aborted": decoded.was_aborted,
        "other_language": decoded.other_language,
        "first_word": None if word is None else word.beginnings,
        "tokens": [(token.text, token.log_probability) for token in decoded.tokens],
        "guess": decoded.guess,
        "may_check_language": decoded.encoded is not None,
    }


def received_decode(wire: Wire, pcm: Pcm) -> Decoded:
    """Returns the result of a decode of `pcm`."""
    punctuation, word = wire.get("punctuation"), wire.get("first_word")
    return Decoded(
        wire["text"],
        wire["failed_check"],
        wire["language"],
        wire["language_sure"],
        None if punctuation is None else Punctuation(*punctuation),
        wire.get("was_aborted", False),
        wire.get("other_language", ""),
        None if word is None else FirstWord(tuple((text, probability) for text, probability in word)),
        tuple(TokenProbability(*token) for token in wire.get("tokens", ())),
        pcm if wire.get("may_check_language") else None,
        wire.get("guess", ""),
    )
