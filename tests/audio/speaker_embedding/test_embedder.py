"""The speaker embedder with a synthetic network, its thread, and the real network if it is installed."""

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support.models.synthetic_speaker_embedder import spectrum_network

from assistant.models.needs import installed
from audio.errors import EngineError, EngineLoadError
from audio.speaker_embedding import service as service_module
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.speaker_embedding.embedder import DIMENSIONS, Embedding, SpeakerEmbedder, mean_embedding
from audio.speaker_embedding.service import MAX_WAITING, SpeakerService
from audio.units import Pcm

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"


def noise(seconds: float, seed: int = 1) -> Pcm:
    return np.random.default_rng(seed).normal(0, 2000, round(16_000 * seconds)).astype(np.int16)


def tone(hz: float) -> Pcm:
    return (8000 * np.sin(2 * np.pi * hz * np.arange(32_000) / 16_000)).astype(np.int16)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "embedder.onnx"
    file.write_bytes(spectrum_network())
    return file


def test_embedding_has_unit_norm(network: Path) -> None:
    embedding = SpeakerEmbedder(network).embedding(noise(2))
    assert embedding.shape == (DIMENSIONS,)
    assert embedding.dtype == np.float32
    assert np.linalg.norm(embedding) == pytest.approx(1, abs=1e-6)


def test_similar_sounds_have_similar_embeddings(network: Path) -> None:
    embedder = SpeakerEmbedder(network)
    low, lower, high = (embedder.embedding(tone(hz)) for hz in (300, 280, 4000))
    assert low @ lower > low @ high


def test_very_short_sound_has_an_embedding(network: Path) -> None:
    assert np.isfinite(SpeakerEmbedder(network).embedding(noise(0.01))).all()


def test_loud_window_counts_as_much_as_a_soft_one() -> None:
    one, other = np.eye(DIMENSIONS, dtype=np.float32)[:2]
    assert mean_embedding([one * 9, other]) == pytest.approx(mean_embedding([one, other]))


def test_missing_network_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(EngineLoadError, match="repartee models pull speaker-embedder"):
        SpeakerEmbedder.load(None)
    with pytest.raises(EngineLoadError, match="repartee models pull speaker-embedder"):
        SpeakerEmbedder.load(tmp_path / "none.onnx")


def test_damaged_network_names_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "embedder.onnx"
    file.write_bytes(b"no network")
    with pytest.raises(EngineLoadError, match="remove it and pull it again"):
        SpeakerEmbedder(file)


def test_service_computes_in_its_thread(network: Path) -> None:
    async def embedding() -> object:
        service = SpeakerService(network)
        with pytest.raises(EngineError, match="load it first"):
            await service.embedding(noise(1))
        await service.load()
        found = await service.embedding(noise(1))
        service.close()
        return found

    assert asyncio.run(embedding()) == pytest.approx(SpeakerEmbedder(network).embedding(noise(1)))


def test_busy_service_skips_requests_and_says_so_once(
    network: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    free = threading.Event()

    class SlowEmbedder(SpeakerEmbedder):
        def embedding(self, pcm: Pcm) -> Embedding:
            free.wait(10)
            return super().embedding(pcm)

    monkeypatch.setattr(service_module, "SpeakerEmbedder", SlowEmbedder)

    async def embeddings() -> tuple[list[bool], int]:
        service = SpeakerService(network)
        free.set()
        await service.load()
        free.clear()
        asked = [asyncio.create_task(service.embedding(noise(1))) for _ in range(MAX_WAITING + 2)]
        await asyncio.sleep(0)
        free.set()
        found = [embedding is not None for embedding in await asyncio.gather(*asked)]
        service.close()
        return found, service.skipped

    found, skipped = asyncio.run(embeddings())
    assert (found.count(True), found.count(False), skipped) == (MAX_WAITING, 2, 2)
    assert [record.message for record in caplog.records if "too slow" in record.message] == [
        "the speaker embedder is too slow now: who speaks is not always known"
    ]


@pytest.mark.skipif(installed(SPEAKER_EMBEDDER) is None, reason="the speaker embedder is not installed")
def test_real_network_finds_the_two_halves_of_a_recording_similar() -> None:
    path = installed(SPEAKER_EMBEDDER)
    assert path is not None
    pcm, _ = soundfile.read(next(iter(sorted(RECORDINGS.glob("*.flac")))), dtype="int16")
    embedder, middle = SpeakerEmbedder(path), len(pcm) // 2
    assert embedder.embedding(pcm[:middle]) @ embedder.embedding(pcm[middle:]) > 0.5
