"""The blocking openai SDK as a client program (see reporting.py)."""

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
    GREETING,
    IMAGE_ANSWER,
    LAMP,
    LAMP_ANSWER,
    LAMP_REQUEST,
    PIXEL,
    QUESTION,
    SILENCE,
    STORY_REQUEST,
    MissingError,
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

    def write(self, text: str, **item: Any) -> None:
        content = [{"type": "input_text", "text": text}]
        self.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content, **item})

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
def talking(settings: Settings, key: str = "none", **options: Any) -> Iterator[Talk]:
    with (
        OpenAI(base_url=settings.url, api_key=key, max_retries=0, timeout=20) as client,
        client.realtime.connect(model="repartee", **options) as connection,
    ):
        talk = Talk(connection)
        if not options:
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


@feature("truncation by the client")
def truncation(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.write(STORY_REQUEST)
        talk.connection.response.create()
        sound = talk.until("response.output_audio.delta", 12)
        talk.connection.conversation.item.truncate(item_id=sound.item_id, content_index=0, audio_end_ms=400)
        assert talk.until("conversation.item.truncated").audio_end_ms == 400
        talk.connection.response.cancel()
        assert talk.until("response.done").response.status == "cancelled"


@feature("session settings")
def session_settings(settings: Settings) -> None:
    with talking(settings) as talk:
        detection = {"type": "semantic_vad", "eagerness": "high"}
        session = talk.update(instructions="Be brief.", audio={"input": {"turn_detection": detection}}, tools=[LAMP])
        assert session.instructions == "Be brief."
        assert session.audio.input.turn_detection.eagerness == "high"
        assert session.tools[0].name == "set_lamp"


@feature("response out of band")
def out_of_band(settings: Settings) -> None:
    with talking(settings) as talk:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What time is it?"}]}
        done = talk.answer(conversation="none", input=[message], output_modalities=["text"], metadata={"topic": "time"})
        assert (done.metadata, text_of(done)) == ({"topic": "time"}, ANSWER)


@feature("image")
def image(settings: Settings) -> None:
    with talking(settings) as talk:
        content = [{"type": "input_image", "image_url": PIXEL}]
        talk.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        assert text_of(talk.answer(output_modalities=["text"])) == IMAGE_ANSWER


@feature("sound in a message")
def sound_in_message(settings: Settings) -> None:
    with talking(settings) as talk:
        content = [{"type": "input_audio", "audio": base64.b64encode(settings.speech).decode()}]
        talk.connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        assert text_of(talk.answer(output_modalities=["text"])) == ANSWER


@feature("retrieval")
def retrieval(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.write("What time is it?", id="mine")
        talk.connection.conversation.item.retrieve(item_id="mine")
        assert talk.until("conversation.item.retrieved").item.content[0].text == "What time is it?"


@feature("retrieval of sound")
def retrieval_of_sound(settings: Settings) -> None:
    with talking(settings) as talk, talk.speaking(settings.speech):
        spoken = talk.until("input_audio_buffer.committed")
        talk.until("response.done")
        talk.connection.conversation.item.retrieve(item_id=spoken.item_id)
        if not talk.until("conversation.item.retrieved").item.content[0].audio:
            raise MissingError("the item has no sound")


@feature("turns by the client")
def turns_by_client(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.update(audio={"input": {"turn_detection": None}})
        with talk.speaking(settings.speech):
            time.sleep(2.2)
        talk.connection.input_audio_buffer.commit()
        assert text_of(talk.answer()) == ANSWER


@feature("greeting")
def greeting(settings: Settings) -> None:
    with talking(settings) as talk:
        talk.update(instructions="Greet the user first.", output_modalities=["text"])
        assert text_of(talk.answer()) == GREETING


@feature("transcription session")
def transcription_session(settings: Settings) -> None:
    with talking(settings, extra_query={"intent": "transcription"}) as talk:
        talk.until("session.created")
        transcription = {"model": "gpt-4o-transcribe"}
        talk.connection.session.update(
            session={"type": "transcription", "audio": {"input": {"transcription": transcription}}}
        )
        talk.until("session.updated")
        with talk.speaking(settings.speech):
            heard = talk.until("conversation.item.input_audio_transcription.completed")
        assert heard.transcript.lower() == QUESTION


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
