"""Reads and checks the files of a Piper voice: its .onnx and the json beside it."""

import json
from dataclasses import dataclass
from pathlib import Path

from piper import PhonemeType, PiperConfig

from audio.errors import EngineLoadError
from audio.tts.streaming.phonemes import is_audible

_FRAME_SIGNS = ("^", "_", "$")
"""Symbols for begin, padding and end, which Piper puts around and between all phonemes."""

_SCALES = {"noise_scale": (0, 10), "length_scale": (0.1, 10), "noise_w": (0, 10)}
"""Plausible ranges; voices have 0.667, 1 and 0.8."""


@dataclass(frozen=True, slots=True)
class VoiceFiles:
    """A voice on disk with a valid json file.

    Attributes:
        model: The .onnx file.
        language: Language code of the json, such as "en_US".
    """

    model: Path
    language: str
    config: PiperConfig


def read_voice(model: Path, language: str) -> VoiceFiles:
    """Reads and checks the json beside `model`. Refuses values that Piper would fail on later, and another language.

    Raises EngineLoadError.
    """
    if not model.is_file():
        raise EngineLoadError(f"the Piper voice {model} does not exist: set tts.voice to a .onnx file that exists")
    path = model.with_name(model.name + ".json")
    config, spoken = _config(path)
    if _family(spoken) != _family(language):
        raise EngineLoadError(
            f'the Piper voice {model.stem} speaks {spoken}, but the language is "{language}": change tts.voice or the '
            "language"
        )
    if config.phoneme_type not in (PhonemeType.ESPEAK, PhonemeType.TEXT):
        raise EngineLoadError(
            f'the Piper voice {model.stem} has the phoneme type "{config.phoneme_type.value}", which is not supported: '
            "set tts.voice to a voice with the phoneme type espeak"
        )
    missing = [sign for sign in _FRAME_SIGNS if sign not in config.phoneme_id_map]
    without = [sign for sign, ids in config.phoneme_id_map.items() if not ids]
    if without:
        raise EngineLoadError(_wrong(path, f'its phoneme_id_map has no id for "{without[0]}"'))
    highest = max((index for ids in config.phoneme_id_map.values() for index in ids), default=0)
    lowest = min((index for ids in config.phoneme_id_map.values() for index in ids), default=0)
    if missing or lowest < 0 or highest >= config.num_symbols:
        what = f"lacks the symbol {missing[0]}" if missing else f"has phoneme ids {lowest} to {highest}"
        raise EngineLoadError(_wrong(path, f"its phoneme_id_map {what}, and its num_symbols is {config.num_symbols}"))
    if not any(map(is_audible, config.phoneme_id_map)):
        raise EngineLoadError(_wrong(path, "its phoneme_id_map has no audible phoneme"))
    if not 8_000 <= config.sample_rate <= 48_000:
        raise EngineLoadError(_wrong(path, f"its sample_rate is {config.sample_rate}, not 8000 to 48000"))
    if config.num_speakers < 1:
        raise EngineLoadError(_wrong(path, f"its num_speakers is {config.num_speakers}, not 1 or more"))
    if config.num_speakers > 1 and not 0 <= config.default_speaker_id < config.num_speakers:
        what = f"its default_speaker_id is {config.default_speaker_id}, but its num_speakers is {config.num_speakers}"
        raise EngineLoadError(_wrong(path, what))
    return VoiceFiles(model, spoken, config)


def speaker_id(files: VoiceFiles, speaker: int | str | None) -> int | None:
    """Returns the speaker's number, given by number or name; None: the voice's default. Raises EngineLoadError."""
    if speaker is None:
        return None
    count, names = files.config.num_speakers, files.config.speaker_id_map
    number = names.get(speaker) if isinstance(speaker, str) else speaker
    if number is None and isinstance(speaker, str) and speaker.isdecimal():
        number = int(speaker)
    if number is not None and 0 <= number < count:
        return number
    have = "one speaker, 0" if count == 1 else f"speakers 0 to {count - 1}"
    named = f" (by name: {', '.join(list(names)[:5])}{', …' if len(names) > 5 else ''})" if names else ""
    raise EngineLoadError(
        f'the Piper voice {files.model.stem} has no speaker "{speaker}": choose one of its own; it has {have}{named}'
    )


def mismatch(files: VoiceFiles, what: str) -> EngineLoadError:
    """Returns the error for a json file that does not belong to the model."""
    json_path = files.model.with_name(files.model.name + ".json")
    return EngineLoadError(_wrong(json_path, what))


def _config(path: Path) -> tuple[PiperConfig, str]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise EngineLoadError(
            f"the Piper voice lacks its file {path}: copy it from the source of the .onnx, or run `repartee models "
            "pull`"
        ) from missing
    except OSError as refused:
        raise EngineLoadError(f"{path} cannot be read ({refused.strerror}): make it readable") from refused
    except ValueError as broken:
        raise EngineLoadError(_wrong(path, "it is not JSON")) from broken
    try:
        config = PiperConfig.from_dict(raw)
        spoken = str(raw.get("language", {}).get("code") or config.espeak_voice)
        _check_kinds(path, config, raw.get("inference", {}))
    except KeyError as missing:
        raise EngineLoadError(_wrong(path, f"it has no {missing.args[0]}")) from missing
    except (TypeError, ValueError, AttributeError) as broken:
        raise EngineLoadError(_wrong(path, "it is not the JSON file of a voice")) from broken
    return config, spoken


def _check_kinds(path: Path, config: PiperConfig, scales: dict[str, object]) -> None:
    """Refuses values that Piper does not check. Raises EngineLoadError; and TypeError, AttributeError."""
    checked = {
        "num_symbols": config.num_symbols,
        "num_speakers": config.num_speakers,
        "audio.sample_rate": config.sample_rate,
        "default_speaker_id": config.default_speaker_id if config.num_speakers != 1 else 0,
        "hop_length": config.hop_length,
    }
    for key, value in checked.items():
        if type(value) is not int:
            raise EngineLoadError(_wrong(path, f"its {key} is not a whole number"))
    for key, (low, high) in _SCALES.items():
        scale = scales.get(key, low)
        if isinstance(scale, bool) or not isinstance(scale, int | float) or not low <= scale <= high:
            what = f"its inference.{key} is {scale!r}, not a number from {low} to {high}"
            raise EngineLoadError(_wrong(path, what))
    if not isinstance(config.espeak_voice, str):
        raise EngineLoadError(_wrong(path, f"its espeak.voice is {config.espeak_voice!r}, not a string"))
    if not all(type(number) is int for number in (config.speaker_id_map or {}).values()):
        raise EngineLoadError(_wrong(path, "its speaker_id_map does not have a whole number for each name"))
    if not all(type(index) is int for ids in config.phoneme_id_map.values() for index in ids):
        raise EngineLoadError(_wrong(path, "its phoneme_id_map does not have a list of whole numbers for each phoneme"))


def _wrong(path: Path, what: str) -> str:
    return f"{path} does not fit its Piper voice: {what}; fetch both files again from the same voice"


def _family(code: str) -> str:
    """Returns the language without its region: "en" for "en_US" and "en-us"."""
    return code.replace("_", "-").partition("-")[0].lower()
