"""Text to speech for clients of the Wyoming protocol."""

from pathlib import Path

import pytest
from support.servers.wyoming_client import seconds_of, wyoming_client, wyoming_server
from wyoming.error import Error
from wyoming.event import Eventable
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeTextFormat,
    SynthesizeVoice,
)

TEXT = "Hello there. How are you?"


async def test_text_becomes_sound(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Synthesize(TEXT))
        await client.until("audio-stop")
        assert client.types[0] == "audio-start"
        assert client.events[0].data == {"rate": 24_000, "width": 2, "channels": 1, "timestamp": None}
        assert set(client.types[1:-1]) == {"audio-chunk"}
        assert seconds_of(client) == pytest.approx(1, abs=0.15)


async def test_streamed_text_sounds_before_it_is_complete(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(SynthesizeStart(), SynthesizeChunk("Hello "), SynthesizeChunk("there. How"))
        await client.until("audio-chunk")
        await client.send(SynthesizeChunk(" are you?"), Synthesize(TEXT), SynthesizeStop())
        await client.until("synthesize-stopped")
        assert client.types.count("audio-start") == client.types.count("audio-stop") == 1
        assert seconds_of(client) == pytest.approx(1, abs=0.15)  # the whole text is not spoken once more


async def test_empty_text_gives_an_empty_sound(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Synthesize("…"))
        await client.until("audio-stop")
        assert client.types == ["audio-start", "audio-stop"]


async def test_other_voices_speak_if_they_are_installed(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        requests = (
            Synthesize("Good day.", SynthesizeVoice("espeak-ng")),
            Synthesize("\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1.", SynthesizeVoice("espeak-ng:el")),
            Synthesize("Guten Tag.", SynthesizeVoice(language="de-AT")),
            Synthesize("Good day.", SynthesizeVoice(language="en-US")),
        )
        for request in requests:
            await client.send(request)
            await client.until("audio-stop")
        assert client.types.count("audio-start") == 4


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Synthesize("Hello.", SynthesizeVoice("nobody")), "voice_not_found"),
        (Synthesize("Hello.", SynthesizeVoice(language="xx")), "language_not_supported"),
        (Synthesize("Hello.", SynthesizeVoice("espeak-ng", speaker="5")), "not_supported"),
        (Synthesize("<speak/>", text_format=SynthesizeTextFormat.SSML), "not_supported"),
        (Synthesize("x" * 20_001), "text_too_long"),
        (Synthesize("\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35"), "text_not_speakable"),
    ],
)
async def test_wrong_wish_is_refused_in_words(tmp_path: Path, request_: Eventable, code: str) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(request_)
        assert Error.from_event(await client.until("error")).code == code
        assert await client.receive() is None
