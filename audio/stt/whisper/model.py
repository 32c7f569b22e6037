"""Loads a Whisper model and decodes short audio with it.

`WhisperModel.transcribe` of faster-whisper always encodes 30 s. Calling features, encode and generate directly encodes
only as much as there is audio (docs/lab/stt.md). Everything here blocks: it runs in a `WhisperThread`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from audio.errors import EngineLoadError
from audio.languages.conversation_language import ConversationLanguage
from audio.stt import NO_WORD, UNKNOWN_LANGUAGE, FirstWord, Punctuation, TokenProbability
from audio.stt.whisper.catalogue import lacking
from audio.stt.whisper.encoder_window import WINDOW_S, encoder_frames, first_word_frames
from audio.stt.whisper.first_word import WordTokens
from audio.stt.whisper.hallucination_filter import (
    MAX_NO_SPEECH,
    DecodeResult,
    failed_check,
    is_confirmed_loop,
    is_doubled,
    is_hallucinated,
    is_phantom,
    may_pass_in_full_window,
    may_pass_with_timestamps,
    plain,
    without_loop,
)
from audio.stt.whisper.punctuation_score import PunctuationTokens
from audio.stt.whisper.recent_tokens import token_probabilities
from audio.stt.whisper.recent_tokens import with_times as times_of_words
from audio.stt.whisper.section import NAME, Device, EncoderWindow
from audio.units import FULL_SCALE, MIC_RATE_HZ, Pcm

if TYPE_CHECKING:
    import ctranslate2
    from faster_whisper import WhisperModel
    from faster_whisper.tokenizer import Tokenizer

Features = npt.NDArray[np.float32]
"""Log-mel spectrogram, shape (mels, frames)."""

_PROMPT_TOKENS = 111
"""Maximum number of tokens of the hot words, and of the initial prompt: together half of Whisper's context for
preceding text."""

_TOKENS_PER_S = 10
_MIN_TOKENS = 24
"""Token limit: fast speech has 5 words of 1.3 tokens a second. Stops a looping decoder before 224 tokens."""

_THOROUGH_BEAMS = 5
"""Beams of a thorough decode, as of the reference implementation: they take 5 % longer than two with tiny.en."""

_PLACES = 448

_DETECT_S = 1.5
_DETECT_PROBABILITY = 0.5
"""Audio length and probability from which a detected language is kept."""

_OTHER_LANGUAGE_S = 2.0
"""Audio length from which improbable words may be of another language; shorter ones are often improbable anyway."""

_OTHER_LANGUAGE_PROBABILITY = 0.7
"""Probability from which another language is named; the next language then has less than half of it."""

_NOT_ENGLISH = -1.4
"""Log-probability below which an English model takes words for another language. English has -1.24 and more, and other
arithmetic shifts English by 0.03 (docs/lab/stt.md)."""

_AUTO_TYPES = {"cuda": ("float16", "int8_float32"), "cpu": ("int8", "int8_float32")}
"""Number formats of "auto" by device, the first that it supports. Old GPUs have no float16; all have float32."""

_MIN_SAMPLES = 400
"""Length of one window of the Fourier transform."""


@dataclass(frozen=True, slots=True)
class WhisperSettings:
    """Settings for loading and decoding.

    Attributes:
        folder: The model's folder.
        name: Name under which it was pulled (base.en); empty for a folder of the user's own.
        language: For example "en" or "en-US"; None: detected for each conversation on its first segment with
            enough speech.
        device: "auto": CUDA if available.
        compute_type: As in CTranslate2; "auto": int8 on a CPU, float16 on CUDA, else the next in `_AUTO_TYPES`.
        cpu_threads: Threads on a CPU, for all workers together.
        encoder_window: "full": always 30 s; "adaptive": as much as there is audio, at least 10 s; "dynamic": also less,
            for models that were tuned for it; see `encoder_frames`.
        hot_words: Names and terms that are likely to be said.
        workers: Parallel decodes on a CPU; they share weights and threads. CUDA has one.
        spare_worker: Whether a CPU has another worker, with threads of its own; see `ModelWorkers.spare`.
    """

    folder: Path
    language: str | None = "en"
    device: Device = "auto"
    compute_type: str = "auto"
    cpu_threads: int = 2
    encoder_window: EncoderWindow = "adaptive"
    hot_words: str = ""
    workers: int = 1
    spare_worker: bool = False
    name: str = ""

    @property
    def called(self) -> str:
        """The model's name or folder, for messages."""
        return self.name or str(self.folder)

    @property
    def remedy(self) -> str:
        """Remedy for a damaged model."""
        return "remove it and pull it again" if self.name else "convert or copy it again, or correct stt.model"

    @property
    def spoken(self) -> str | None:
        """The language without its region, as Whisper names it."""
        return None if self.language is None else self.language.partition("-")[0].lower()


@dataclass(frozen=True, slots=True)
class Decoded:
    """The checked result of a decode.

    Attributes:
        text: The words; "" if there are none or they were hallucinated.
        failed_check: The check that it failed in the end, or "".
        language: Language of the words.
        language_sure: Whether the language was detected on enough audio to be kept.
        punctuation: Expected punctuation after the last word; None if unknown.
        was_aborted: It failed a check in a short window, and the full window, which may pass, was not tried.
        other_language: See `Transcript`.
        first_word: The result of `LoadedWhisper.first_word`, which has no text.
        tokens: The tokens of the text, if they were requested and the text was not changed.
        guess: The words if `text` is "" because they were taken for noise, without phrases that are often hallucinated.
        sure_of_current: Whether the sound is certainly in the language of the turn before; see `ConversationLanguage`.
        encoded: The encoder's output of a long segment whose language may be checked; see `detect_language`. Of a model
            on a cluster: the segment itself.
    """

    text: str
    failed_check: str
    language: str
    language_sure: bool
    punctuation: Punctuation | None = None
    was_aborted: bool = False
    other_language: str = ""
    first_word: FirstWord | None = None
    tokens: tuple[TokenProbability, ...] = ()
    encoded: "ctranslate2.StorageView | None" = field(default=None, compare=False, repr=False)
    guess: str = ""
    sure_of_current: bool = False


class LoadedWhisper:
    """A Whisper model in memory.

    Attributes:
        device: "cpu" or "cuda".
        compute_type: The actual type of the weights.
        multilingual: Whether it knows languages other than English.
        workers: Number of parallel decodes.
    """

    def __init__(self, settings: WhisperSettings) -> None:
        """Loads the model and decodes once, so that the first segment is not slower. Raises EngineLoadError."""
        if missing := lacking(settings.folder):
            what = f"The Whisper model in {settings.folder} lacks {', '.join(missing)}"
            raise EngineLoadError(f"{what}: {settings.remedy}.")
        import ctranslate2  # noqa: PLC0415 - on use: 189 ms with faster_whisper
        from faster_whisper import WhisperModel  # noqa: PLC0415 - as above
        from faster_whisper.tokenizer import Tokenizer  # noqa: PLC0415 - as above

        self._settings = settings
        self._storage = ctranslate2.StorageView.from_array
        self._float32, self._cpu = ctranslate2.DataType.float32, ctranslate2.Device.cpu
        self._tokenizer_of = Tokenizer
        self._tokenizers: dict[str, Tokenizer] = {}
        self.device, self.compute_type = _device_and_type(settings)
        self.workers = 1 if self.device == "cuda" else min(settings.workers, settings.cpu_threads)
        try:
            self._model = WhisperModel(
                str(settings.folder),
                device=self.device,
                compute_type=self.compute_type,
                cpu_threads=settings.cpu_threads // self.workers,
                num_workers=self.workers + (settings.spare_worker and self.device != "cuda"),
                local_files_only=True,
            )
            self.compute_type = self._model.model.compute_type
            self.multilingual = bool(self._model.model.is_multilingual)
            self._check(self._model)
            vocabulary = self._model.hf_tokenizer.get_vocab(with_added_tokens=False)
            self._marks = PunctuationTokens(vocabulary, self._tokenizer("en").eot)
            self._words = WordTokens(vocabulary, self._tokenizer("en").eot)
            self.decode(np.zeros(MIC_RATE_HZ, np.int16), settings.spoken, retry=False)
        except EngineLoadError:
            raise
        except Exception as error:  # a damaged tokenizer.json raises a plain Exception
            if isinstance(error, MemoryError) or "allocate memory" in str(error):
                raise EngineLoadError(
                    f"The memory does not suffice for the Whisper model in {settings.folder} ({error}): free some, "
                    "raise its limit, or set a smaller stt.model."
                ) from error
            raise EngineLoadError(
                f"The Whisper model in {settings.folder} could not be loaded on {self.device} ({error}): "
                f"{settings.remedy}, or set another stt.{NAME}.device or "
                f"stt.{NAME}.compute_type."
            ) from error

    def decode(
        self,
        pcm: Pcm,
        language: str | None,
        *,
        retry: bool,
        is_wanted: Callable[[], bool] = lambda: True,
        with_tokens: bool = False,
        with_times: bool = False,
        prompt: str = "",
        languages: ConversationLanguage | None = None,
        thorough: bool = False,
    ) -> Decoded | None:
        """Decodes audio of at most 30 s. Returns None if the result became unwanted during the decode.

        Args:
            pcm: int16, shape (n,), 16 kHz.
            language: Language of the words; None to detect it.
            retry: Whether to repeat a decode in the full window if a check fails that the short window may have caused,
                and timestamps do not help.
            is_wanted: Polled where a decode can be aborted: between encoder and decoder, and before a repetition.
            with_tokens: Whether to return the probabilities of the tokens, which take about a tenth longer.
            with_times: Whether they have the times of their words, which take another pass of the decoder.
            prompt: Text of this conversation before the words, as if it had been said before; "": none.
            languages: The languages that the words may be in; None: only `language`.
            thorough: Whether to take four times as long for fewer word errors: in the full window and with several
                beams, without `punctuation` and `tokens`.
        """
        features = self.features(pcm)
        frames = encoder_frames(len(pcm), "full" if thorough else self._settings.encoder_window)
        encoded = self.encode(features, frames)
        if not is_wanted():
            return None
        beams = _THOROUGH_BEAMS if thorough else 1
        generate = partial(self.generate, samples=len(pcm), with_tokens=with_tokens, prompt=prompt, beams=beams)
        evidence, spoken, probability = self._decode_once(encoded, language, languages, generate)
        in_full: ctranslate2.StorageView | None = None
        short, confirmed_loop = frames < encoder_frames(len(pcm), "full"), False
        reason, lowest = failed_check(evidence), evidence.log_probability
        suspect = short and may_pass_in_full_window(reason)
        if (suspect and may_pass_with_timestamps(evidence)) or (not reason and is_doubled(evidence.text)):
            if not is_wanted():
                return None
            second = self.generate(encoded, spoken, len(pcm), timestamps=True, prompt=prompt)
            lowest = min(lowest, second.log_probability)
            if not failed_check(second):
                evidence, reason, suspect = second, "", False
        if retry and suspect:
            if not is_wanted():
                return None
            frames = encoder_frames(len(pcm), "full")
            encoded_in_full = self.encode(features, frames)
            second, *rest = self._decode_once(encoded_in_full, language, languages, generate)
            lowest = min(lowest, second.log_probability)
            confirmed_loop = is_confirmed_loop(evidence, second)
            if not failed_check(second) or second.log_probability > evidence.log_probability:
                evidence, reason, in_full = second, failed_check(second), encoded_in_full
                spoken, probability = cast("tuple[str, float]", rest)
        text = "" if confirmed_loop or is_hallucinated(evidence, spoken) else without_loop(evidence.text)
        guessed = not text and not confirmed_loop and not is_phantom(evidence.text, spoken)
        punctuation = evidence.punctuation if text == evidence.text else None
        sure = language is None and len(pcm) >= _DETECT_S * MIC_RATE_HZ and probability >= _DETECT_PROBABILITY
        sure = sure and bool(text) and reason != "no speech"
        # A loop, too: its own tokens are probable, those of the other decodes are not.
        improbable = reason not in {"", "no speech"} or (not text and bool(evidence.text) and not reason)
        other = ""
        if improbable and language is not None and len(pcm) >= _OTHER_LANGUAGE_S * MIC_RATE_HZ:
            other = self._other_language(spoken, encoded, lowest)
            other = "" if languages is not None and other in languages.candidates else other
        tokens = evidence.tokens if text == evidence.text else ()
        if with_times and tokens:
            tokens = self._timed(tokens, spoken, encoded if in_full is None else in_full, len(pcm))
        is_one = language is not None and languages is None
        long = self.multilingual and is_one and len(pcm) >= _OTHER_LANGUAGE_S * MIC_RATE_HZ
        kept = encoded if long and text and not improbable else None
        return Decoded(
            text,
            reason,
            spoken,
            sure,
            punctuation,
            suspect and not retry,
            other,
            tokens=tokens,
            encoded=kept,
            guess=without_loop(evidence.text) if guessed and plain(evidence.text) else "",
            sure_of_current=languages is not None and spoken == languages.current and probability == 1.0,
        )

    def first_word(self, pcm: Pcm, language: str) -> Decoded:
        """Returns what the first word of the audio may be, from one step of the decoder after a short encoder window.

        Args:
            pcm: int16, shape (n,), 16 kHz, at most 30 s.
            language: Language of the word.
        """
        encoded = self.encode(self.features(pcm), first_word_frames(len(pcm)))
        prompt = self._prompt(self._tokenizer(language))
        [result] = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=2 * (len(prompt) + 1),  # CTranslate2 halves it, see `generate`
            return_no_speech_prob=True,
            return_logits_vocab=True,
        )
        if result.no_speech_prob > MAX_NO_SPEECH:
            return Decoded("", "", language, False, first_word=NO_WORD)
        beginnings = self._words.beginnings(self._array(result.logits[0][0]))
        return Decoded("", "", language, False, first_word=FirstWord(beginnings))

    def features(self, pcm: Pcm) -> Features:
        """Returns the log-mel spectrogram of the audio, without silence after it."""
        sound = pcm.astype(np.float32) / np.float32(FULL_SCALE)
        if len(sound) < _MIN_SAMPLES:
            sound = np.pad(sound, (0, _MIN_SAMPLES - len(sound)))
        mel = self._model.feature_extractor(sound[: round(WINDOW_S * MIC_RATE_HZ)])
        return np.asarray(mel, np.float32)

    def encode(self, features: Features, frames: int) -> "ctranslate2.StorageView":
        """Returns the encoder's output for the features, padded with silence to `frames` (10 ms each)."""
        # Value of the features of digital silence after the audio, because Whisper was trained on audio padded before
        # the spectrogram is computed: 8 powers of ten below the loudest, but not below 1e-10.
        silence = max(-1.5, float(features.max()) - 2.0)
        padded = np.full((features.shape[0], frames), silence, np.float32)
        taken = min(frames, features.shape[1])
        padded[:, :taken] = features[:, :taken]
        return self._model.model.encode(self._storage(padded[np.newaxis]))

    def generate(
        self,
        encoded: "ctranslate2.StorageView",
        language: str,
        samples: int,
        *,
        timestamps: bool = False,
        with_tokens: bool = False,
        prompt: str = "",
        beams: int = 1,
    ) -> DecodeResult:
        """Decodes, greedily with one beam, limited to the number of tokens that can be said in `samples`.

        With `timestamps` the decoder also writes the time of each phrase, which ends most loops; then the expected
        punctuation is unknown.
        """
        tokenizer = self._tokenizer(language)
        before = self._prompt(tokenizer, prompt)
        if timestamps:
            before[-1] = tokenizer.timestamp_begin
        # CTranslate2 halves max_length and subtracts the prompt (measured): see test_looping_decoder_stops_early.
        tokens = min(_PLACES // 2, _MIN_TOKENS + _TOKENS_PER_S * samples // MIC_RATE_HZ)
        [result] = self._model.model.generate(
            encoded,
            [before],
            beam_size=beams,
            max_length=max(2 * tokens, len(before) + tokens),
            return_scores=True,
            return_no_speech_prob=True,
            return_logits_vocab=beams == 1,
        )
        token_ids: Sequence[int] = result.sequences_ids[0]
        # The score is the mean per token without the end token; the reference implementation includes it.
        mean = result.scores[0] * len(token_ids) / (len(token_ids) + 1)
        text = tokenizer.decode(list(token_ids)).strip()
        if beams > 1:  # CTranslate2 has no logits then
            return DecodeResult(text, float(mean), float(result.no_speech_prob))
        step = self._marks.step_after_words(token_ids)
        # There is one step more than tokens: the one that ended the text. Without it the decoder was cut off.
        ended = 0 < step < len(result.logits[0]) > len(token_ids)
        known = ended and not timestamps
        punctuation = self._marks.punctuation(self._array(result.logits[0][step])) if known else None
        rows = map(self._array, result.logits[0]) if with_tokens else ()
        likely = token_probabilities(token_ids, rows, lambda token: tokenizer.decode([token]))
        return DecodeResult(text, float(mean), float(result.no_speech_prob), punctuation, likely)

    def _timed(
        self, tokens: tuple[TokenProbability, ...], language: str, encoded: "ctranslate2.StorageView", samples: int
    ) -> tuple[TokenProbability, ...]:
        """Returns the tokens with the times of their words."""
        tokenizer = self._tokenizer(language)
        token_ids = tokenizer.encode("".join(token.text for token in tokens))
        frames = min(samples // self._model.feature_extractor.hop_length, 2 * encoded.shape[1])
        [words] = self._model.find_alignment(tokenizer, [token_ids], encoded, frames)
        return times_of_words(tokens, [(word["word"], float(word["start"]), float(word["end"])) for word in words])

    def _array(self, logits: "ctranslate2.StorageView") -> npt.NDArray[np.float32]:
        """Converts to a numpy array. On CUDA the logits are in device memory and in half precision."""
        return np.array(logits.to(self._float32).to_device(self._cpu), np.float32)

    def _decode_once(
        self,
        encoded: "ctranslate2.StorageView",
        language: str | None,
        languages: ConversationLanguage | None,
        generate: Callable[["ctranslate2.StorageView", str], DecodeResult],
    ) -> tuple[DecodeResult, str, float]:
        """Decodes in `language`, or in the one that is detected. Returns the language, and its probability.

        With `languages`, the probability is 1 only if the sound is certainly in the language of the turn before.
        """
        if languages is None and language is not None:
            return generate(encoded, language), language, 1.0
        probabilities = self.language_probabilities(encoded)
        if languages is None:
            language = next(iter(probabilities))
            return generate(encoded, language), language, probabilities[language]
        if (other := languages.possible(probabilities)) != languages.current:
            result = generate(encoded, other)
            if languages.changes(other, probabilities, result.text, result.log_probability):
                return result, other, 0.0
        return generate(encoded, languages.current), languages.current, float(languages.is_sure(probabilities))

    def language_probabilities(self, encoded: "ctranslate2.StorageView") -> dict[str, float]:
        """Returns the probability of each language. Costs one step of the decoder."""
        if not self.multilingual:
            return {"en": 1.0}
        [likeliest] = self._model.model.detect_language(encoded)
        return {token.strip("<|>"): float(probability) for token, probability in likeliest}

    def detect_language(self, encoded: "ctranslate2.StorageView") -> tuple[str, float]:
        """Returns the likeliest language and its probability. Costs one step of the decoder."""
        return next(iter(self.language_probabilities(encoded).items()))

    def language_of(self, pcm: Pcm) -> tuple[str, float]:
        """Returns the likeliest language of a segment and its probability; see `detect_language`."""
        return self.detect_language(self.encode(self.features(pcm), encoder_frames(len(pcm), "adaptive")))

    def _other_language(self, language: str, encoded: "ctranslate2.StorageView", log_probability: float) -> str:
        """Returns the language that is clearly more likely than this one, or "". Costs one step of the decoder.

        `log_probability`: the lowest of the decodes; with an English model it is the only evidence.
        """
        if not self.multilingual:
            return UNKNOWN_LANGUAGE if log_probability < _NOT_ENGLISH else ""
        other_language, probability = self.detect_language(encoded)
        return other_language if other_language != language and probability >= _OTHER_LANGUAGE_PROBABILITY else ""

    def _prompt(self, tokenizer: "Tokenizer", conversation: str = "") -> list[int]:
        """Returns the tokens before the words. `conversation`: the conversation's own text; "": none."""
        before: list[int] = []
        for text in (self._settings.hot_words, conversation):
            if text.strip():
                before += tokenizer.encode(" " + text.strip())[:_PROMPT_TOKENS]
        return [*([tokenizer.sot_prev, *before] if before else []), *tokenizer.sot_sequence, tokenizer.no_timestamps]

    def _tokenizer(self, language: str) -> "Tokenizer":
        if language not in self._tokenizers:
            self._tokenizers[language] = self._tokenizer_of(
                self._model.hf_tokenizer, self.multilingual, task="transcribe", language=language
            )
        return self._tokenizers[language]

    def _check(self, model: "WhisperModel") -> None:
        mels = model.feature_extractor.mel_filters.shape[0]
        if mels != model.model.n_mels:
            raise ValueError(f"it needs {model.model.n_mels} mel bands, but preprocessor_config.json says {mels}")
        language = self._settings.spoken
        if language is not None and language not in model.supported_languages:
            known = "more than 90 languages" if self.multilingual else "English only"
            raise EngineLoadError(
                f"The Whisper model {self._settings.called} understands {known}, not {language!r}: "
                "set assistant.language to another one, or use a model whose name does not end in .en."
            )


def _device_and_type(settings: WhisperSettings) -> tuple[str, str]:
    import ctranslate2  # noqa: PLC0415 - on use

    gpus = ctranslate2.get_cuda_device_count()
    if settings.device == "cuda" and gpus == 0:
        raise EngineLoadError(f'stt.{NAME}.device = "cuda": there is no CUDA device; set it to "cpu" or "auto".')
    device = "cuda" if settings.device != "cpu" and gpus else "cpu"
    known = ctranslate2.get_supported_compute_types(device)
    compute_type = settings.compute_type
    if compute_type == "auto":
        return device, next((type_name for type_name in _AUTO_TYPES[device] if type_name in known), "float32")
    if compute_type not in known:
        raise EngineLoadError(
            f'stt.{NAME}.compute_type = "{compute_type}": it cannot compute so on {device} here; set it to "auto", '
            f"or to one of {', '.join(sorted(known))}."
        )
    return device, compute_type
