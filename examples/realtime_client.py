"""Asks one question with the openai package and writes the spoken answer to answer.wav.

    pip install openai
    python examples/realtime_client.py "What time is it?"

REPARTEE_URL names another server than http://127.0.0.1:8765/v1, and REPARTEE_TOKEN its token.
"""

import asyncio
import base64
import os
import sys
import wave

from openai import AsyncOpenAI

RATE_HZ = 24_000
TIMEOUT_S = 60


async def ask(question: str) -> tuple[str, bytes]:
    """Returns the words and the sound of the answer: 16-bit mono PCM."""
    client = AsyncOpenAI(
        base_url=os.environ.get("REPARTEE_URL", "http://127.0.0.1:8765/v1"),
        api_key=os.environ.get("REPARTEE_TOKEN", "any"),  # a server without a token accepts any
    )
    words, sound = "", b""
    async with client.realtime.connect(model="repartee") as connection:
        await connection.session.update(session={"type": "realtime", "instructions": "Answer in one sentence."})
        # Typed. For speech, call connection.input_audio_buffer.append(audio=...) every 20 ms instead: the server finds
        # the end of the turn and answers without response.create().
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}
        )
        await connection.response.create()
        async for event in connection:
            if event.type == "response.output_audio_transcript.delta":
                words += event.delta
            elif event.type == "response.output_audio.delta":
                sound += base64.b64decode(event.delta)
            elif event.type == "response.done":
                break
            elif event.type == "error":
                raise SystemExit(f"the server refused: {event.error.message}")
    return words, sound


async def main() -> None:
    """Asks the question of the command line."""
    question = sys.argv[1] if len(sys.argv) > 1 else "What time is it?"
    async with asyncio.timeout(TIMEOUT_S):
        words, sound = await ask(question)
    print(words)
    with wave.open("answer.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(sound)
    print(f"answer.wav: {len(sound) / 2 / RATE_HZ:.1f} s")


if __name__ == "__main__":
    asyncio.run(main())
