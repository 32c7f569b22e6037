"""Loads a Piper voice into onnxruntime, checks it, and synthesizes one sentence at a time, which can be stopped.

piper-tts itself turns text into phonemes and phonemes into ids. This module adds the sound in pieces, a stop within a
sentence and the durations of the phonemes. Not thread-safe: the phonemizer is a library with globals, under piper's
lock.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from piper import PhonemeType, PiperVoice

from audio.execution_provider import ProviderRequest
from audio.tts.piper.files import VoiceFiles, mismatch, speaker_id
from audio.tts.piper.sessions import load
from audio.tts.piper.synthesis import ModelInput, Utterance
from audio.tts.streaming.sentence_sound import SentenceSound, StopSwitch, checked, failure_of


class PiperModel:
    """A loaded voice.

    Attributes:
        rate_hz: Sample rate of its audio.
        language: Language code of the json, such as "en_US".
        reads_digits: Whether its text goes through espeak-ng. For other voices a digit may be an unknown letter.
        provider: Where it computes.
        fallback: See `OpenedSession.fallback`.
        whole_because: Why every sentence is made whole and not in pieces, as a clause; "" if it is made in pieces.
    """

    def __init__(
        self,
        files: VoiceFiles,
        *,
        speaker: int | str | None,
        speed: float,
        provider: ProviderRequest,
        threads: int | None,
    ) -> None:
        """Reads and checks the model: 50 ms for 60 MB from a warm disk. Raises EngineLoadError."""
        config = files.config
        self._length_scale = config.length_scale / speed
        speaker_number = speaker_id(files, speaker)
        self._speaker = config.default_speaker_id if speaker_number is None else speaker_number
        loaded = load(files, provider, threads)
        self.rate_hz = config.sample_rate
        self.language = files.language
        self.reads_digits = config.phoneme_type == PhonemeType.ESPEAK
        self.provider = loaded.provider
        self.fallback = loaded.fallback
        self.whole_because = loaded.whole_because
        self._synthesis = loaded.synthesis
        # A local voice never downloads: the folder only keeps piper from using the current one.
        self._voice = PiperVoice(session=loaded.session, config=config, download_dir=files.model.parent)
        try:
            self.phonemes("a")
        except RuntimeError as unknown:
            raise mismatch(
                files, f'its espeak.voice is "{config.espeak_voice}", which espeak-ng does not have'
            ) from unknown

    def phonemes(self, text: str) -> list[list[str]]:
        """Returns the sentences of a text without "[[" as phonemes known to the voice. Takes 0.2 ms a sentence."""
        # Piper itself would drop unknown symbols too, but log each of them.
        return [self.known(sentence) for sentence in self._voice.phonemize(text)]

    def known(self, phonemes: Sequence[str]) -> list[str]:
        """Returns the phonemes that the voice has."""
        return [symbol for symbol in phonemes if symbol in self._voice.config.phoneme_id_map]

    def sentence(self, phonemes: Sequence[str], switch: StopSwitch, speed: float = 1.0) -> SentenceSound:
        """Synthesizes one sentence. `speed` is a factor on the configured speed. Raises StoppedError, TtsError."""
        try:
            made = self._synthesis.synthesize(self._utterance(phonemes, switch, speed))
        except Exception as failure:
            # onnxruntime has a class of its own for every code and no root for them.
            raise failure_of(switch, failure, "Piper") from failure
        ends = self._ends(phonemes, made.frames, made.samples)
        return SentenceSound(checked(made.pieces, switch, "Piper"), ends, made.samples)

    def _utterance(self, phonemes: Sequence[str], switch: StopSwitch, speed: float = 1.0) -> Utterance:
        config = self._voice.config
        ids = np.array([self._voice.phonemes_to_ids(list(phonemes))], np.int64)
        scales = np.array([config.noise_scale, self._length_scale / speed, config.noise_w_scale], np.float32)
        inputs: dict[str, ModelInput] = {
            "input": ids,
            "input_lengths": np.array([ids.shape[1]], np.int64),
            "scales": scales,
        }
        if config.num_speakers > 1:
            inputs["sid"] = np.array([self._speaker], np.int64)
        return Utterance(inputs, switch.options)

    def _ends(
        self, phonemes: Sequence[str], frames: npt.NDArray[np.float32] | None, size: int
    ) -> npt.NDArray[np.int64] | None:
        """Computes the phoneme ends. The ids are: begin, padding, then each phoneme with a padding after it, end."""
        known = self._voice.config.phoneme_id_map
        padding = len(known["_"])
        ids = np.array([len(known["^"]) + padding, *(len(known[symbol]) + padding for symbol in phonemes)])
        if frames is None or frames.size != ids.sum() + len(known["$"]):
            return None
        hop = self._voice.config.hop_length
        after = np.concatenate(([0], np.cumsum((frames * hop).astype(np.int64))))
        # Audio and durations come from one model and must agree; one frame is tolerated for what is cut at the end.
        return after[np.cumsum(ids)] if abs(int(after[-1]) - size) <= hop else None
