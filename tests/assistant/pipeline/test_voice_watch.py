"""The watch asks for embeddings of speech, reports verdicts, and knows who spoke in a turn."""

import asyncio
from collections.abc import Callable

import numpy as np
from support.conversations.voices import voice

from assistant.pipeline.speakers.voice_watch import STEP, WINDOW, VoiceWatch
from assistant.speakers.focus import VoiceFocus
from assistant.speakers.speaker_labels import SpeakerLabels
from assistant.turns.events import VoiceJudged
from audio.errors import EngineError
from audio.frame import Frame
from audio.speaker_embedding.embedder import Embedding
from audio.units import FRAME_SAMPLES, Pcm, Samples, samples_of_ms
from audio.vad import VadResult


class Embedder:
    """Takes the loudness of a window for the number of the person who speaks. None: it is too busy."""

    def __init__(self) -> None:
        self.heard: list[int] = []
        self.busy = self.broken = False
        self.late: asyncio.Event | None = None  # awaited before each embedding

    async def embedding(self, pcm: Pcm) -> Embedding | None:
        self.heard.append(len(pcm))
        if self.late is not None:
            await self.late.wait()
        if self.broken:
            raise EngineError("It failed.")
        return None if self.busy else voice(int(np.median(pcm)))


class Scene:
    """Feeds a watch with frames of people who speak."""

    def __init__(self) -> None:
        self.embedder, self.verdicts, self.problems = Embedder(), list[VoiceJudged](), list[str]()
        self.position = self.onset = Samples(0)
        self.speaking = False
        self.watch = VoiceWatch(
            self.embedder,
            VoiceFocus("first"),
            SpeakerLabels(),
            lambda: self.position,
            self.verdicts.append,
            self.problems.append,
        )

    async def frames(self, ms: int, person: int | None) -> None:
        for _ in range(0, ms, 20):
            pcm = np.full(FRAME_SAMPLES, person or 0, np.int16)
            frame = Frame(self.position, pcm)
            if self.speaking != (person is not None):
                self.speaking, self.onset = person is not None, self.position
            self.position = frame.end
            self.watch.process(frame, VadResult(self.speaking, self.onset, float(self.speaking)))
            await asyncio.sleep(0)

    async def turn(self, number: int, person: int, ms: int = 2000) -> str:
        """Says a turn, which is answered. Returns the label of its speaker."""
        onset = self.position
        await self.frames(200, person)
        self.watch.turn_started(number, onset)
        await self.frames(ms - 200, person)
        await self.frames(300, None)
        label = self.watch.label_of(number)
        self.watch.turn_committed(number)
        return label


def run(scenario: Callable[[Scene], "asyncio.Future[None] | object"]) -> Scene:
    async def within() -> Scene:
        scene = Scene()
        async with asyncio.TaskGroup() as tasks:
            scene.watch.tasks = tasks
            await scenario(scene)  # type: ignore[misc]
        return scene

    return asyncio.run(within())


def test_window_of_speech_is_embedded_at_each_step_and_at_the_end() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.frames(1600, 1)
        await scene.frames(500, None)

    scene = run(scenario)
    assert len(scene.embedder.heard) == 3
    assert scene.embedder.heard[0] == STEP
    assert max(scene.embedder.heard) <= WINDOW + FRAME_SAMPLES
    assert scene.verdicts == [], "nothing is known of a voice yet"


def test_click_is_not_embedded() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.frames(200, 1)
        await scene.frames(500, None)

    assert run(scenario).embedder.heard == []


def test_other_voice_is_reported_after_the_first_turn() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.turn(1, person=1)
        await scene.frames(2000, 2)
        await scene.frames(1000, None)
        await scene.frames(1000, 1)

    scene = run(scenario)
    others = [verdict for verdict in scene.verdicts if verdict.verdict == "other"]
    assert others
    assert {verdict.since for verdict in others} == {samples_of_ms(2300)}, "the onset of the stretch"
    assert scene.verdicts[-1].verdict == "own"


def test_other_voice_after_the_own_begins_after_the_last_own_window() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.turn(1, person=1)
        await scene.frames(1500, 1)
        await scene.frames(3000, 2)

    scene = run(scenario)
    own_until = max(verdict.position for verdict in scene.verdicts if verdict.verdict == "own")
    assert {v.since for v in scene.verdicts if v.verdict == "other"} == {own_until}


def test_short_answer_after_another_voice_is_unsure() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.turn(1, person=1)
        await scene.frames(2000, 2)
        await scene.frames(300, None)
        await scene.frames(400, 1)
        await scene.frames(500, None)

    scene = run(scenario)
    assert scene.verdicts[-1].verdict == "unsure"
    assert scene.embedder.heard[-1] == samples_of_ms(400), "nothing of the other voice"


def test_skipped_and_failed_embeddings_are_unsure() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.turn(1, person=1)
        scene.embedder.busy = True
        await scene.frames(700, 2)
        scene.embedder.busy, scene.embedder.broken = False, True
        await scene.frames(600, 2)

    scene = run(scenario)
    assert [verdict.verdict for verdict in scene.verdicts[-2:]] == ["unsure", "unsure"]


def test_late_window_before_a_turn_does_not_count_for_it() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.turn(1, person=1)
        scene.embedder.late = asyncio.Event()
        await scene.frames(700, 2)
        await scene.frames(300, None)
        onset = scene.position
        await scene.frames(100, 1)
        scene.watch.turn_started(2, onset)
        scene.embedder.late.set()
        await scene.frames(1500, 1)
        assert scene.watch.label_of(2) == "S1"

    scene = run(scenario)
    late = next(verdict for verdict in scene.verdicts if verdict.position > verdict.until + samples_of_ms(200))
    assert late.until <= samples_of_ms(3000)


def test_label_of_an_attempt_is_not_learned() -> None:
    async def scenario(scene: Scene) -> None:
        scene.watch.turn_started(1, scene.position)
        await scene.frames(2000, 1)
        assert scene.watch.label_of(1) == "S1"
        assert scene.watch.labels.voices == ()
        scene.watch.turn_committed(1)
        assert scene.watch.label_of(1) == "S1"
        assert len(scene.watch.labels.voices) == 1

    run(scenario)


def test_turns_have_the_labels_of_their_speakers() -> None:
    labels: list[str] = []

    async def scenario(scene: Scene) -> None:
        labels.append(await scene.turn(1, person=1))
        scene.watch.focus = VoiceFocus("first")  # every voice counts
        labels.append(await scene.turn(2, person=2))
        scene.watch.focus = VoiceFocus("first")
        labels.append(await scene.turn(3, person=1))
        labels.append(scene.watch.label_of(7))

    run(scenario)
    assert labels == ["S1", "S2", "S1", ""]


def test_skipped_embeddings_are_reported_once() -> None:
    async def scenario(scene: Scene) -> None:
        scene.embedder.busy = True
        await scene.frames(3000, 1)

    scene = run(scenario)
    assert len(scene.problems) == 1
    assert "who speaks is not always known" in scene.problems[0]


def test_failed_embeddings_are_reported_once() -> None:
    async def scenario(scene: Scene) -> None:
        scene.embedder.broken = True
        await scene.frames(3000, 1)

    scene = run(scenario)
    assert len(scene.problems) == 1
    assert "It failed; meanwhile every voice counts" in scene.problems[0]
