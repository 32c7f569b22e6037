"""Cutting a voice's graph, and sentences made in pieces: the same samples as the whole."""

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models.installed_model import JOE_FILE
from support.models.onnx_graph import OnnxGraph
from support.models.synthetic_piper import small_voice, tone_voice

from audio.execution_provider import ProviderRequest
from audio.onnx_messages import NotReadableError, with_output
from audio.tts.piper.cut import NotUnderstoodError, VoiceParts, cut
from audio.tts.piper.files import read_voice
from audio.tts.piper.graph import read_graph
from audio.tts.piper.model import PiperModel
from audio.tts.piper.synthesis import piece_frames
from audio.tts.piper.voice import PiperTts
from audio.tts.piper.words import place_words
from audio.tts.streaming.sentence_audio import ReplyAudio, ReplySentence
from audio.tts.streaming.sentence_sound import SentenceSound, Sound, StopSwitch
from audio.tts.text_pieces import words
from audio.units import REPLY_RATE_HZ

TEXT = "The lamp in the living room is on, and the door is shut."

VOICES = [
    "random",
    pytest.param("joe", marks=pytest.mark.skipif(JOE_FILE is None, reason="en_US-joe-medium is not downloaded")),
]


@pytest.fixture(scope="module")
def random_voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_voice(tmp_path_factory.mktemp("voices"))


@pytest.fixture(scope="module", params=VOICES)
def voice(request: pytest.FixtureRequest, random_voice: Path) -> Path:
    return random_voice if request.param == "random" else JOE_FILE or Path()


def parts_of(path: Path) -> VoiceParts:
    model = path.read_bytes()
    return cut(model, read_graph(model).durations)


def ran(model: bytes, inputs: dict[str, Sound]) -> list[Sound]:
    options = onnxruntime.SessionOptions()
    options.enable_mem_reuse = False
    return list(onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, inputs))


def loaded(path: Path) -> PiperModel:
    return PiperModel(
        read_voice(path, "en"), speaker=None, speed=1, provider=ProviderRequest("tts.provider", "cpu"), threads=1
    )


class TestCut:
    def test_parts_together_are_the_voice(self, voice: Path) -> None:
        parts = parts_of(voice)
        inputs = {
            "input": np.array([[1, 0, 14, 0, 20, 0, 15, 0, 2]]),
            "input_lengths": np.array([9]),
            "scales": np.array([0, 1, 0], np.float32),  # no noise
        }
        latent, mask, durations = ran(parts.encoder, inputs)
        assert parts.inner.mask is not None
        (frames,) = ran(parts.flow, {parts.inner.latent: latent, parts.inner.mask: mask})
        (sound,) = ran(parts.decoder, {parts.inner.frames: frames})
        (whole,) = ran(voice.read_bytes(), inputs)
        assert durations.sum() == latent.shape[2] == frames.shape[2] == sound.size // 256
        np.testing.assert_allclose(sound, whole, rtol=0, atol=3e-5)

    @pytest.mark.parametrize(
        ("lacks", "why"),
        [
            ("upsampling", "it has no upsampling"),
            ("convolution", "its upsampling does not begin with a convolution"),
            ("noise", "it adds random numbers in 0 places, not in one"),
            ("sum", "its random numbers are not added to its frames"),
        ],
        ids="without {}".format,
    )
    def test_unknown_graph_is_refused(self, lacks: str, why: str) -> None:
        graph = OnnxGraph()
        x = graph.input("input", integer=False, shape=(1, 4, "frames"))
        noise = graph.op("RandomNormalLike", x) if lacks != "noise" else x
        x = graph.op("Neg", noise) if lacks == "sum" else graph.op("Add", x, noise)
        x = graph.op("Relu", x) if lacks == "convolution" else graph.op("Conv", x, graph.constant(np.ones((4, 4, 1))))
        if lacks != "upsampling":
            x = graph.op("ConvTranspose", x, graph.constant(np.ones((4, 1, 2))), strides=[2])
        graph.output("output", x, (1, 1, "n"))
        with pytest.raises(NotUnderstoodError, match=why):
            cut(graph.bytes(), "input")

    def test_voice_without_durations_is_refused(self, random_voice: Path) -> None:
        with pytest.raises(NotUnderstoodError, match="durations"):
            cut(random_voice.read_bytes(), None)

    @given(st.binary(max_size=200))
    def test_arbitrary_bytes_are_refused(self, model: bytes) -> None:
        with pytest.raises((NotUnderstoodError, NotReadableError)):
            cut(model, "durations")


class TestPieceFrames:
    def test_pieces_grow_on_an_idle_machine(self) -> None:
        sizes = [piece_frames(number, ahead, 14) for number, ahead in enumerate((0, 8, 35, 130, 380))]
        assert sizes == [12, 32, 96, 256, 256]

    @pytest.mark.parametrize(("pace", "frames"), [(6, 22), (3, 44), (2.25, 84)], ids="pace {}".format)
    def test_first_piece_is_longer_on_a_busy_machine(self, pace: float, frames: int) -> None:
        assert piece_frames(0, 0, pace) == frames

    def test_sentence_is_made_whole_if_it_plays_faster_than_it_is_made(self) -> None:
        assert piece_frames(0, 0, 1.4) > 10_000

    @given(st.floats(1.51, 100))
    def test_next_piece_is_ready_in_time(self, pace: float) -> None:
        """Even if it takes half as long again as the pieces before."""
        ahead = piece_frames(0, 0, pace) - 4.0
        for number in range(1, 8):
            size = piece_frames(number, ahead, pace)
            ahead -= (size + 40) / pace * 1.49
            assert ahead > 0
            ahead += size


class TestPieces:
    def test_pieces_have_the_samples_of_the_whole(self, voice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same random numbers, because one run of the encoder gives both."""
        parts = parts_of(voice)
        latents: list[Sound] = []
        model = loaded(voice)
        encode = model._synthesis._encode  # type: ignore[attr-defined]  # the random voice is streamed

        def spy(utterance: object) -> object:
            latent = encode(utterance)
            latents.append(latent.values)
            return latent

        monkeypatch.setattr(model._synthesis, "_encode", spy)
        model._synthesis._paces = deque(maxlen=0)  # type: ignore[attr-defined]  # as on an idle machine
        sound = model.sentence(model.phonemes(TEXT)[0], StopSwitch())
        pieces = list(sound.pieces)
        (latent,) = latents
        mask = np.ones((1, 1, latent.shape[2]), np.float32)
        (frames,) = ran(parts.flow, {parts.inner.latent: latent, str(parts.inner.mask): mask})
        (whole,) = ran(parts.decoder, {parts.inner.frames: frames})
        assert len(pieces) >= 3
        assert sum(piece.size for piece in pieces) == sound.samples
        # Rounding in the flow; a step of 16 bits is 3e-5.
        np.testing.assert_allclose(np.concatenate(pieces), whole.reshape(-1), rtol=0, atol=3e-5)

    def test_flow_runs_once_for_the_first_piece(self, random_voice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        model = loaded(random_voice)
        made: list[int] = []
        flow_piece = model._synthesis._flow_piece  # type: ignore[attr-defined]

        def spy(utterance: object, latent: object, begin: int, end: int) -> Sound:
            made.append(end - begin)
            frames: Sound = flow_piece(utterance, latent, begin, end)
            return frames

        monkeypatch.setattr(model._synthesis, "_flow_piece", spy)
        next(model.sentence(model.phonemes(TEXT)[0], StopSwitch()).pieces)
        assert len(made) == 1

    def test_voice_is_streamed(self, voice: Path) -> None:
        assert loaded(voice).whole_because == ""

    async def test_voice_whose_decoder_looks_further_is_synthesized_whole(
        self, random_voice: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr("audio.tts.piper.synthesis._DECODER_CONTEXTS", (4,))
        caplog.set_level("INFO")
        why = "its decoder looks further than 4 frames"
        assert loaded(random_voice).whole_because == why
        tts = PiperTts(random_voice)
        await tts.load()
        await tts.aclose()
        assert tts.detail.endswith(f", whole sentences: {why}")
        assert why in caplog.text

    def test_first_piece_is_heard_before_the_sentence_is_made(self, random_voice: Path) -> None:
        made: list[int] = []

        def pieces(sound: SentenceSound) -> Iterator[Sound]:
            for piece in sound.pieces:
                made.append(piece.size)
                yield piece

        model = loaded(random_voice)
        model._synthesis._paces = deque(maxlen=0)  # type: ignore[attr-defined]  # as on an idle machine
        sound = model.sentence(model.phonemes(TEXT)[0], StopSwitch())
        first = next(_reply(SentenceSound(pieces(sound), sound.ends, sound.samples)))
        assert first.pcm.size
        assert made == [14 * 256]  # 2 frames before the first phoneme


def _reply(sound: SentenceSound, pause_ms: float = 100, text: str = TEXT) -> Iterator[ReplyAudio]:
    phonemes = list("abc" * 20)
    sound = SentenceSound(sound.pieces, None if sound.ends is None else sound.ends[: len(phonemes) + 1], sound.samples)
    placed = place_words(text, words(text), [phonemes], lambda word: [list(word)])
    return ReplySentence(sound, 22_050, 1.0, pause_ms, phonemes=phonemes, words=placed).audio()


def _cut_up(whole: Sound, at: list[int]) -> Iterator[Sound]:
    bounds = [0, *sorted({min(place, whole.size) for place in at}), whole.size]
    return iter([whole[begin:end] for begin, end in pairwise(bounds)])


class TestReplyAudio:
    """Reply audio does not depend on where a sentence is cut."""

    @given(
        st.lists(st.integers(0, 22_050), max_size=6),
        st.integers(0, 6_000),
        st.integers(0, 6_000),
        st.booleans(),
    )
    def test_audio_is_the_same_for_any_pieces(self, at: list[int], lead: int, trail: int, inner: bool) -> None:
        speech = np.random.default_rng(1).normal(0, 0.1, 12_000).astype(np.float32)
        if inner:
            speech[4_000:8_000] = 0
        sound = np.concatenate((np.zeros(lead, np.float32), speech, np.zeros(trail, np.float32)))
        ends = lead + np.linspace(0, speech.size, 61).astype(np.int64)
        (whole,) = _reply(SentenceSound(iter((sound,)), ends, sound.size))
        parts = list(_reply(SentenceSound(_cut_up(sound, at), ends, sound.size)))
        assert np.array_equal(np.concatenate([part.pcm for part in parts]), whole.pcm)
        marks, given = [], 0
        for part in parts:
            assert all(0 <= mark.start < part.pcm.size for mark in part.marks)
            marks += [(given + mark.start, given + mark.end) for mark in part.marks]
            given += part.pcm.size
        last_end = whole.marks[-1].end  # where the sound ends, which is not known when a mark is given before it
        assert [(start, min(end, last_end)) for start, end in marks] == [(mark.start, mark.end) for mark in whole.marks]

    def test_pause_follows_the_last_sound(self) -> None:
        sound = np.concatenate((np.full(11_025, 0.3, np.float32), np.zeros(11_025, np.float32)))
        parts = list(_reply(SentenceSound(_cut_up(sound, [8_000, 14_000]), None, sound.size), pause_ms=60))
        assert sum(part.pcm.size for part in parts) == pytest.approx(REPLY_RATE_HZ * 0.56, abs=130)

    def test_word_longer_than_the_audible_sound_ends_in_the_audio(self) -> None:
        """Its mark was given before the end was known."""
        sound = np.concatenate((np.full(4_000, 0.3, np.float32), np.zeros(18_050, np.float32)))
        ends = np.linspace(0, 20_000, 61).astype(np.int64)
        parts = list(_reply(SentenceSound(_cut_up(sound, [3_900]), ends, sound.size), text="Hello."))
        (mark,) = parts[0].marks
        assert mark.end == round(20_000 * REPLY_RATE_HZ / 22_050)
        assert sum(part.pcm.size for part in parts) == mark.end

    def test_silent_sentence_gives_marks_without_audio(self) -> None:
        sound = np.zeros(8_000, np.float32)
        (part,) = _reply(SentenceSound(_cut_up(sound, [3_000]), None, sound.size))
        assert not part.pcm.size
        assert len(part.marks) == len(words(TEXT))


def test_voice_exported_with_alignments_is_made_in_pieces(random_voice: Path, tmp_path: Path) -> None:
    model = random_voice.read_bytes()
    tensor = read_graph(model).durations
    assert tensor is not None
    path = tmp_path / random_voice.name
    path.write_bytes(with_output(model, tensor))
    path.with_name(f"{path.name}.json").write_bytes(random_voice.with_name(f"{path.name}.json").read_bytes())
    assert loaded(path).whole_because == loaded(random_voice).whole_because == ""


def test_tone_voice_is_synthesized_whole(tmp_path: Path) -> None:
    assert loaded(tone_voice(tmp_path)).whole_because == "it has no upsampling"
