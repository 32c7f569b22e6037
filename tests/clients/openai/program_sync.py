"""The blocking openai SDK as a client program (see reporting.py): it has a connection of its own.

The events are those of the asynchronous SDK.
"""

import base64
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from openai import OpenAI
from reporting import (
    ANSWER,
    LAMP,
    LAMP_ANSWER,
    LAMP_REQUEST,
    QUESTION,
    SILENCE,
    STORY_REQUEST,
    Pace,
    RefusedError,
    Settings,
    blocks,
    feature,
    run_features,
)


class Talk:
    """A connection, and the events that came over it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.events: list[Any] = []

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def until(self, kind: str, count: int = 1) -> Any:
        """Receives until `count` events of a type have come. Returns the last of them; raises at an error."""
        while len(found := self.of(kind)) < count:
            event = self.connection.recv()
            self.events.append(event)
            if event.type == "error":
                raise RefusedError(f"{event.error.code}: {event.error.param or event.error.message}")
        return found[count - 1]

    def write(self, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        self.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})

    def update(self, **session: Any) -> Any:
        seen = len(self.of("session.updated"))
        self.connection.session.update(session={"type": "realtime", **session})
        return self.until("session.updated", seen + 1).session

    def answer(self, count: int = 1, **response: Any) -> Any:
        """Requests a response. Returns it when it is done."""
        self.connection.response.create(**({"response": response} if response else {}))
        return self.until("response.done", count).response

    @contextmanager
    def speaking(self, speech: bytes) -> Iterator[None]:
        """Says the speech, then silence, in real time while the block runs."""
        ended = threading.Event()

        def speak() -> None:
            pace = Pace()
            parts = blocks(speech)
            while not ended.is_set():
                part = parts.pop(0) if parts else SILENCE
                self.connection.input_audio_buffer.append(audio=base64.b64encode(part).decode())
                time.sleep(pace.wait_s())

        thread = threading.Thread(target=speak)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def text_of(response: Any) -> str:
    part = response.output[-1].content[0]
    return part.transcript or part.text or ""


@contextmanager
def talking(settings: Settings, key: str = "none") -> Iterator[Talk]:
    with (
        OpenAI(base_url=settings.url, api_key=key, max_retries=0, timeout=20) as client,
        client.realtime.connect(model="repartee") as connection,
    ):
        talk = Talk(connection)
        talk.until("session.created")
        yield talk


@feature("text")
def text(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.write("What time is it?")
        done = talk.answer(output_modalities=["text"])
        assert (done.status, text_of(done)) == ("completed", ANSWER)


@feature("speech")
def speech(settings: Settings) -> None:
    with talking(settings) as talk, talk.speaking(settings.speech):
        done = talk.until("response.done").response
        assert (done.status, text_of(done)) == ("completed", ANSWER)
        heard = talk.of("conversation.item.input_audio_transcription.completed")[0]
        assert heard.transcript.lower() == QUESTION


@feature("stalled network")
def stalled_network(settings: Settings) -> None:
    speech(settings.stalled)


@feature("function call")
def function_call(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.update(tools=[LAMP], output_modalities=["text"])
        talk.write(LAMP_REQUEST)
        call = talk.answer().output[0]
        assert (call.type, call.name, call.arguments) == ("function_call", "set_lamp", '{"on": true}')
        talk.connection.conversation.item.create(
            item={"type": "function_call_output", "call_id": call.call_id, "output": "done"}
        )
        assert text_of(talk.answer(2)) == LAMP_ANSWER


@feature("interruption")
def interruption(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.write(STORY_REQUEST)
        talk.connection.response.create()
        talk.until("response.output_audio.delta", 5)
        with talk.speaking(settings.speech):
            done = talk.until("response.done").response
            assert talk.until("conversation.item.truncated").item_id == done.output[0].id


@feature("session settings")
def session_settings(settings: Settings) -> None:
    with talking(settings) as talk:
        detection = {"type": "semantic_vad", "eagerness": "high"}
        session = talk.update(instructions="Be brief.", audio={"input": {"turn_detection": detection}}, tools=[LAMP])
        assert session.instructions == "Be brief."
        assert session.audio.input.turn_detection.eagerness == "high"
        assert session.tools[0].name == "set_lamp"


@feature("client secret")
def client_secret(settings: Settings) -> None:
    with OpenAI(base_url=settings.url, api_key="none", max_retries=0) as client:
        secret = client.realtime.client_secrets.create(session={"type": "realtime", "instructions": "Be brief."})
    with talking(settings, secret.value) as talk:
        assert talk.of("session.created")[0].session.instructions == "Be brief."


@feature("TLS")
def tls(settings: Settings) -> None:
    trusted = ssl.create_default_context(cafile=settings.certificate)
    with (
        OpenAI(base_url=settings.tls_url, api_key="none") as client,
        client.realtime.connect(model="repartee", websocket_connection_options={"ssl": trusted}) as connection,
    ):
        talk = Talk(connection)
        talk.write("What time is it?")
        assert text_of(talk.answer(output_modalities=["text"])) == ANSWER


if __name__ == "__main__":
    run_features()
