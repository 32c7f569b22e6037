"""Chooses one of the library's voices by language or name."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from audio.errors import EngineLoadError
from audio.tts.espeak.library import VoiceInfo


@dataclass(frozen=True, slots=True)
class EspeakVoiceChoice:
    """The chosen voice.

    Attributes:
        identifier: The library's identifier with its variant: "gmw/en-US+f3".
        detail: For the screen: name, variant, and the requested language if it differs.
    """

    identifier: str
    detail: str


def choose(
    voices: Sequence[VoiceInfo], variants: Sequence[str], *, language: str, voice: str | None
) -> EspeakVoiceChoice:
    """Returns the voice named `voice` ("en-us", "English (America)", "en+f3"), else the best one for `language`.

    Raises EngineLoadError if there is none, or if the voice speaks another language.
    """
    if voice is None:
        return _of_language(voices, language)
    base, plus, variant = voice.strip().partition("+")
    info = _named(voices, base)
    if info is None:
        known = sorted({name for info in voices for name in _names(info)})
        raise EngineLoadError(f'espeak-ng has no voice "{voice}": set tts.voice to another name, {_near(base, known)}')
    if plus and variant not in variants:
        raise EngineLoadError(
            f'espeak-ng has no variant "{variant}" for the voice "{voice}": set tts.voice to '
            f'"{base}" or to "{base}+…" with {_near(variant, variants)}'
        )
    spoken = {code.partition("-")[0] for code, _ in info.codes}
    if _code(language).partition("-")[0] not in spoken:
        raise EngineLoadError(
            f'the espeak-ng voice "{voice}" speaks {"/".join(sorted(spoken))}, but the language is "{language}": '
            "change tts.voice or the language"
        )
    return EspeakVoiceChoice(info.identifier + plus + variant, info.name + plus + variant)


def _of_language(voices: Sequence[VoiceInfo], language: str) -> EspeakVoiceChoice:
    """Returns the best voice of a language. A region without its own voice gets the language's; `detail` says so."""
    code = _code(language)
    while code:
        speakers = [(rank, info) for info in voices for known, rank in info.codes if known == code]
        if speakers:
            info = min(speakers, key=lambda speaker: speaker[0])[1]
            asked = "" if code == _code(language) else f" (no voice of its own for {language})"
            return EspeakVoiceChoice(info.identifier, info.name + asked)
        code = code.rpartition("-")[0]
    known = sorted({known for info in voices for known, _ in info.codes})
    raise EngineLoadError(
        f'espeak-ng has no voice for the language "{language}": set tts.voice to the name of a voice or change the '
        f"language, {_near(language, known)}"
    )


def _named(voices: Sequence[VoiceInfo], name: str) -> VoiceInfo | None:
    normalized_name = name.strip().lower()
    by_name = [info for info in voices if normalized_name in (known.lower() for known in _names(info))]
    by_code = [(rank, info) for info in voices for code, rank in info.codes if code == normalized_name]
    if by_name:
        return by_name[0]
    return min(by_code, key=lambda speaker: speaker[0])[1] if by_code else None


def _names(info: VoiceInfo) -> tuple[str, ...]:
    return info.name, info.identifier, info.identifier.rpartition("/")[2]


def _near(name: str, known: Sequence[str]) -> str:
    """Names up to five similar values, or the first few if none is similar."""
    by_lower = {known_name.lower(): known_name for known_name in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=5, cutoff=0.5)
    if near:
        return "for example " + ", ".join(by_lower[lower] for lower in near)
    return f"one of {len(known)}: " + ", ".join(known[:8]) + ", …"


def _code(language: str) -> str:
    return language.strip().lower().replace("_", "-")
