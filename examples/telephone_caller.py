"""Calls telephone_webhook.py as a provider does: says a WAV file, and writes what the caller hears to heard.wav.

    .venv/bin/python examples/telephone_caller.py http://127.0.0.1:8080 question.wav

It uses this project's mu-law and resampling, so run it with the Python that Repartee is installed in.
"""

import asyncio
import base64
import json
import sys
import urllib.request
from xml.etree import ElementTree as ET

import numpy as np
import soundfile
import soxr
from websockets.asyncio.client import ClientConnection, connect

from audio.formats import g711

FRAME_S, FRAME_BYTES = 0.02, 160  # 8000 mu-law samples a second
SILENCE = b"\xff" * FRAME_BYTES
LISTEN_S = 1.5  # after this silence the caller hangs up


def stream_of(webhook: str) -> tuple[str, str]:
    """Asks the webhook where the call goes: address and token."""
    with urllib.request.urlopen(urllib.request.Request(webhook, method="POST"), timeout=10) as answer:
        (stream,) = ET.fromstring(answer.read()).iter("Stream")
    parameters = {element.attrib["name"]: element.attrib["value"] for element in stream}
    return stream.attrib["url"], parameters["token"]


async def send(socket: ClientConnection, event: str, **fields: object) -> None:
    """Sends one message of Twilio Media Streams."""
    await socket.send(json.dumps({"event": event, "streamSid": "MZ1", **fields}))


async def call(url: str, token: str, speech: bytes) -> bytes:
    """Says this mu-law sound. Returns what was heard until the assistant had finished."""
    heard, to_play, silent_s, due_s = bytearray(), bytearray(), 0.0, asyncio.get_running_loop().time()
    marks: list[tuple[int, object]] = []  # position in what is heard, mark
    async with connect(url) as socket, asyncio.timeout(120):
        media = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
        await send(socket, "connected", protocol="Call", version="1.0.0")
        start = {"streamSid": "MZ1", "callSid": "CA1", "mediaFormat": media, "customParameters": {"token": token}}
        await send(socket, "start", start=start)
        while not heard or silent_s < LISTEN_S:
            frame, speech = speech[:FRAME_BYTES].ljust(FRAME_BYTES, SILENCE[:1]), speech[FRAME_BYTES:]
            await send(socket, "media", media={"track": "inbound", "payload": base64.b64encode(frame).decode()})
            due_s += FRAME_S
            try:  # receive until it is time for the next frame
                async with asyncio.timeout_at(due_s):
                    while True:
                        message = json.loads(await socket.recv())
                        if message["event"] == "media":
                            to_play += base64.b64decode(message["media"]["payload"])
                        elif message["event"] == "clear":  # the caller interrupted
                            to_play.clear()
                        elif message["event"] == "mark":  # is sent back when everything before it was heard
                            marks.append((len(heard) + len(to_play), message["mark"]))
            except TimeoutError:
                heard += to_play[:FRAME_BYTES]
                silent_s = 0.0 if to_play else silent_s + FRAME_S
                del to_play[:FRAME_BYTES]
                while marks and (marks[0][0] <= len(heard) or not to_play):
                    await send(socket, "mark", mark=marks.pop(0)[1])
        await send(socket, "stop", stop={"callSid": "CA1"})
    return bytes(heard)


if __name__ == "__main__":
    sound, rate_hz = soundfile.read(sys.argv[2], dtype="float32", always_2d=True)
    pcm = (soxr.resample(sound.mean(axis=1), rate_hz, 8000) * 32767).astype(np.int16)
    answer = asyncio.run(call(*stream_of(sys.argv[1]), g711.encode_ulaw(pcm)))
    soundfile.write("heard.wav", g711.decode_ulaw(answer), 8000)
    print(f"heard.wav: {len(answer) / 8000:.1f} s")
