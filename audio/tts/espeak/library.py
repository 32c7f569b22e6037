"""Calls the espeak-ng library by ctypes: text in, audio and word events out.

The library keeps its state in globals and is not thread-safe: call an `EspeakLibrary` from one thread at a time. It
does not use asyncio.
"""

import contextlib
import ctypes
import importlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from audio.errors import EngineLoadError, TtsError
from audio.units import Pcm

ESPEAK_RATE_HZ = 22_050

BUFFER_MS = 160
"""Audio per callback. A callback needs the GIL, so few long ones wait for it less often. One costs 0.1 ms."""

_SYNCHRONOUS = 2
_DONT_EXIT = 0x8000
_BY_CHARACTER = 1
# SSML (0x10) is not enabled, and phonemes in [[ ]] only on request. The end pause is included and cut to measure later.
_UTF8_WITH_END_PAUSE = 0x01 | 0x1000
_PHONEMES = 0x100
_RATE = 1
_PITCH = 3
_WORD_EVENT = 1
_LAST_EVENT = 0


@dataclass(frozen=True, slots=True)
class VoiceInfo:
    """A voice of the library.

    Attributes:
        name: Display name: "English (America)".
        identifier: Identifier for the library: "gmw/en-US".
        codes: Language codes in lower case with the library's preference (lower is better).
    """

    name: str
    identifier: str
    codes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class SpeakingStyle:
    """Parameters of speech: voice with variant ("gmw/en+f3"), words per minute, pitch 0..99."""

    voice: str
    words_per_minute: int
    pitch: int


@dataclass(frozen=True, slots=True)
class WordEvent:
    """The start of a word at `sample` (at ESPEAK_RATE_HZ), with `length` characters from `offset`.

    Words are the library's own: a number is several, "of the" is one.
    """

    offset: int
    length: int
    sample: int


OnSound = Callable[[Pcm, tuple[WordEvent, ...]], bool]
"""Receives a buffer of audio with its events; returns False to stop the synthesis."""


class _EventId(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventId),
    ]


class _Voice(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_void_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    ]


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(_Event))


class EspeakLibrary:
    """One loaded copy of the library.

    Attributes:
        voices: All its voices, in its own order.
        variants: Allowed suffixes of a voice after "+", as in "en+f3".
    """

    def __init__(self, *, private_copy: bool = False) -> None:
        """Loads the library, its data and its list of voices: 6 ms from a warm disk.

        `private_copy` loads a copy of the file. The loader then creates new globals, which are independent of a call
        that hangs in the other copy. Raises EngineLoadError.
        """
        library, data = _paths()
        self._dll = _open(library, private_copy=private_copy)
        self._declare()
        rate_hz = self._dll.espeak_Initialize(_SYNCHRONOUS, BUFFER_MS, str(data).encode(), _DONT_EXIT)
        if rate_hz != ESPEAK_RATE_HZ:
            raise EngineLoadError(
                f"espeak-ng cannot use its data in {data}: install the package espeakng-loader again "
                "(if that path is longer than 150 characters, install it at a shorter one)"
            )
        self.voices = tuple(self._listed(None))
        language = ctypes.create_string_buffer(b"variant")
        listed = self._listed(ctypes.byref(_Voice(languages=ctypes.addressof(language))))
        self.variants = tuple(info.identifier.removeprefix("!v/") for info in listed)
        self._on_sound: OnSound | None = None
        self._failure: Exception | None = None
        self._style: SpeakingStyle | None = None
        self._callback = _Callback(self._on_callback)  # must live as long as the library may call it
        self._dll.espeak_SetSynthCallback(self._callback)

    def synthesize(self, text: str, style: SpeakingStyle, on_sound: OnSound, *, phonemes: bool = False) -> None:
        """Synthesizes `text` (no NUL, no lone surrogates) into `on_sound`, which runs in this thread.

        `phonemes`: text in [[ ]] is read as phonemes. Returns when everything was synthesized or `on_sound` returned
        False. Raises TtsError and whatever `on_sound` raised.
        """
        self._set(style)
        self._on_sound, self._failure = on_sound, None
        spoken = text.encode()
        flags = _UTF8_WITH_END_PAUSE | (_PHONEMES if phonemes else 0)
        result = self._dll.espeak_Synth(spoken, len(spoken) + 1, 0, _BY_CHARACTER, 0, flags, None, None)
        self._on_sound, failure = None, self._failure
        if failure is not None:
            raise failure
        if result != 0:
            raise TtsError(f"espeak-ng refused a chunk (code {result}); it can continue with the next one")

    def _on_callback(self, sound: int | None, samples: int, events: "ctypes._Pointer[_Event]") -> int:
        """Callback of the library; exceptions must not pass through it. Returns 1 to stop the synthesis."""
        if self._on_sound is None or not sound or samples <= 0:
            return 0
        pcm = np.frombuffer(ctypes.string_at(sound, samples * 2), np.int16)
        try:
            return 0 if self._on_sound(pcm, _words(events)) else 1
        except Exception as failure:  # noqa: BLE001 - raised again in synthesize(), on this side of the C frames
            self._failure = failure
            return 1

    def _set(self, style: SpeakingStyle) -> None:
        if style == self._style:
            return
        self._style = None
        if self._dll.espeak_SetVoiceByName(style.voice.encode()) != 0:
            raise TtsError(f"espeak-ng has lost its voice {style.voice}: load it again or change tts.voice")
        # Selecting a voice resets rate and pitch, so they are set afterwards.
        self._dll.espeak_SetParameter(_RATE, style.words_per_minute, 0)
        self._dll.espeak_SetParameter(_PITCH, style.pitch, 0)
        self._style = style

    def _listed(self, properties: object) -> list[VoiceInfo]:
        voices = self._dll.espeak_ListVoices(properties)
        infos = []
        index = 0
        while voices[index]:
            voice = voices[index].contents
            infos.append(VoiceInfo(_text(voice.name), _text(voice.identifier), _codes(voice.languages)))
            index += 1
        return infos

    def _declare(self) -> None:
        dll = self._dll
        dll.espeak_Initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        dll.espeak_SetSynthCallback.argtypes = [_Callback]
        dll.espeak_SetSynthCallback.restype = None
        dll.espeak_SetVoiceByName.argtypes = [ctypes.c_char_p]
        dll.espeak_SetParameter.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int]
        dll.espeak_ListVoices.argtypes = [ctypes.POINTER(_Voice)]
        dll.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(_Voice))
        dll.espeak_Synth.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_uint,
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]


def _paths() -> tuple[Path, Path]:
    """Returns the library's file and its data folder from the package espeakng-loader."""
    remedy = "install the package espeakng-loader (again), or choose another engine in tts.engine"
    try:
        loader = importlib.import_module("espeakng_loader")
    except ImportError as missing:
        raise EngineLoadError(f"espeak-ng is not installed: {remedy}") from missing
    try:
        library, data = Path(loader.get_library_path()), Path(loader.get_data_path())
    except RuntimeError as missing:  # raised by the loader if its data folder is missing
        raise EngineLoadError(f"espeak-ng's data is missing: {remedy}") from missing
    for needed in (library, data / "phontab"):
        if not needed.is_file():
            raise EngineLoadError(f"espeak-ng lacks {needed}: {remedy}")
    return library, data


def _open(library: Path, *, private_copy: bool) -> ctypes.CDLL:
    with contextlib.ExitStack() as stack:
        try:
            if private_copy:
                # The folder is removed at once if the system can remove a loaded file; otherwise it stays, which is
                # acceptable.
                folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
                library = Path(shutil.copy(library, folder))
            return ctypes.CDLL(str(library))
        except OSError as refused:
            raise EngineLoadError(
                f"espeak-ng's library {library} cannot be loaded ({refused}): install a build of "
                "espeakng-loader for this machine, or choose another engine in tts.engine"
            ) from refused


def _words(events: "ctypes._Pointer[_Event]") -> tuple[WordEvent, ...]:
    words = []
    index = 0
    while (event := events[index]).type != _LAST_EVENT:
        if event.type == _WORD_EVENT:
            words.append(WordEvent(max(0, event.text_position - 1), event.length, event.sample))
        index += 1
    return tuple(words)


def _codes(languages: int | None) -> tuple[tuple[str, int], ...]:
    """Reads the library's list: a preference byte, a NUL-terminated code, and so on until a preference of 0."""
    codes = []
    position = languages or 0
    while position and (preference := ctypes.string_at(position, 1)[0]):
        code = ctypes.string_at(position + 1)
        codes.append((code.decode().lower(), preference))
        position += 2 + len(code)
    return tuple(codes)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")
