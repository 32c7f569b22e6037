"""Parses a client's messages: one JSON text becomes one command, or the error that answers it. Never raises."""

import json
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, NoReturn

import orjson

from assistant.history.items import ItemId
from assistant.skills.lists.items import MAX_ITEMS
from assistant.skills.ringing.shown_timers import TIMER_ACTIONS
from assistant.turns.events import ReplyId
from web.wire.home.home_fields import STATES_FIELD
from web.wire.incoming.base64_steps import STEP_CHARS, Base64Steps
from web.wire.incoming.commands import (
    Append,
    CancelBackground,
    CancelResponse,
    ChangeTimer,
    ClearInput,
    ClearOutput,
    Command,
    CommitInput,
    CreateItem,
    CreateResponse,
    DeleteItem,
    EndHomeCall,
    PlayoutReport,
    RemoveListItems,
    ReportWakeWord,
    RetrieveItem,
    TruncateItem,
    UpdateHomeStates,
    UpdateSession,
)
from web.wire.incoming.event_limits import append_members
from web.wire.incoming.session_fields import response_options, updated
from web.wire.incoming.transcription_fields import in_transcription_session
from web.wire.items.items import created_item
from web.wire.items.message_content import NO_IMAGES, ContentRules
from web.wire.items.sound_field import audio_bytes, not_base64, whole_samples
from web.wire.values.beta import client_event
from web.wire.values.errors import ProtocolError
from web.wire.values.fields import (
    IDENTIFIER,
    Field,
    FieldError,
    Refusals,
    Table,
    accepted,
    checked,
    flag,
    listed,
    listing,
    number,
    one_of,
    shown,
    text,
    whole,
    wrong_type,
    wrong_value,
)
from web.wire.values.reply_ids import UNKNOWN_REPLY, reply_of
from web.wire.values.session_config import SessionConfig, SessionOffer

MAX_EVENT_ID_CHARS = 512
MAX_APPEND_BYTES = 15 << 20
"""Decoded audio of one append; the limit of OpenAI's service."""

MAX_MS = 24 * 3600 * 1000

_LONG_CHARS = 1 << 16
_MAX_KEPT_CHARS = 1 << 14
"""Longest message with sound that is kept to recognize its repetition: 250 ms."""

JsonObject = dict[str, Any]


class Reader:
    """Parses a client's events.

    Attributes:
        config: The settings that were requested last; the next session.update changes them.
    """

    def __init__(self, config: SessionConfig, spoken: str, offer: SessionOffer | None = None) -> None:
        """Creates a reader.

        Args:
            config: The initial settings.
            spoken: The conversation's language.
            offer: What the server offers sessions.
        """
        self.config = config
        self._spoken = spoken
        self._offer = offer or SessionOffer()
        self._begun = False  # the client has sent more than settings
        self._last_append: tuple[str, SessionConfig, Append] | None = None

    def read(self, message: str) -> Command | ProtocolError:
        """Parses a message to a command or an error."""
        last = self._last_append
        if last is not None and last[0] == message and last[1] is self.config:
            return last[2]  # a muted microphone sends the same message fifty times a second
        try:
            event = object_of(message)
        except FieldError as error:
            return ProtocolError(error.code, str(error), None, None)
        event = client_event(event)
        event_id = event.get("event_id")
        if not isinstance(event_id, str) or len(event_id) > MAX_EVENT_ID_CHARS:
            event_id = None
        kind = event.get("type")
        known = _EVENTS.get(kind) if isinstance(kind, str) else None
        try:
            if known is None:
                _refuse_type(kind)
            if self.config.kind == "transcription" and (refused := in_transcription_session(str(kind))) is not None:
                raise refused
            command = known(self, event, event_id)
        except FieldError as error:
            return _error(error, f"{kind}: " if known else "", event_id)
        self._begun = self._begun or not isinstance(command, UpdateSession)
        self._last_append = (
            (message, self.config, command) if isinstance(command, Append) and len(message) < _MAX_KEPT_CHARS else None
        )
        return command

    def read_in_steps(self, message: str) -> Generator[None, None, Command | ProtocolError]:
        """Parses a message as `read` does. Yields where other tasks of the event loop may run: after about 2 ms.

        The sound of a large append is decoded piece by piece; the rest of the message is parsed without it.
        """
        members = append_members(message) if len(message) > STEP_CHARS else None
        if members is None or "audio" not in members:
            return self.read(message)
        begin, end = members["audio"][0] + 1, members["audio"][1] - 1
        if end - begin > MAX_APPEND_BYTES // 3 * 4 or not message.startswith('"', begin - 1):
            return self.read(message)
        command = self.read(message[:begin] + message[end:])
        if not isinstance(command, Append):
            return command
        yield
        decoder, audio = Base64Steps(), bytearray()
        try:
            for start in range(begin, end, STEP_CHARS):
                audio += decoder.feed(message[start : min(start + STEP_CHARS, end)])
                yield
            audio += decoder.finish()
            whole = whole_samples(bytes(audio), "audio", command.format)
        except ValueError:
            return _error(not_base64("audio"), "input_audio_buffer.append: ", command.event_id)
        except FieldError as error:
            return _error(error, "input_audio_buffer.append: ", command.event_id)
        return replace(command, audio=whole)

    def _session_update(self, event: JsonObject, event_id: str | None) -> Command:
        refusals = Refusals()
        table = {**_ENVELOPE, "session": Field(_unchecked, required=True)}
        session = accepted(event, "", table, refusals)["session"]
        config = updated(self.config, session, self._spoken, refusals, self._offer, begun=self._begun)
        return UpdateSession(event_id, config, _refused("session.update", refusals, event_id))

    def _append(self, event: JsonObject, event_id: str | None) -> Command:
        # Fifty times a second, so the usual case is not checked against a table.
        sound = event["audio"] if event.keys() == _APPEND_FIELDS else _checked(event, _APPEND)["audio"]
        form = self.config.input_format
        audio = audio_bytes(sound, "audio", form, MAX_APPEND_BYTES)
        return Append(event_id, audio, form)

    def _item_create(self, event: JsonObject, event_id: str | None) -> Command:
        fields = _checked(event, _ITEM_CREATE)
        refusals, config = Refusals(), self.config
        no_images = "" if self._offer.images else NO_IMAGES
        rules = ContentRules(no_images, True, config.input_format, config.output_format)
        created = created_item(fields["item"], "item", rules, refusals)
        after = fields.get("previous_item_id")
        return CreateItem(
            event_id,
            created.item,
            None if after is None else ItemId(after),
            created.recordings,
            created.written,
            _refused("conversation.item.create", refusals, event_id),
        )

    def _response_create(self, event: JsonObject, event_id: str | None) -> Command:
        refusals = Refusals()
        fields = accepted(event, "", {**_ENVELOPE, "response": Field(_unchecked)}, refusals)
        options = response_options(self.config, fields.get("response", {}), refusals, self._offer)
        return CreateResponse(event_id, options, _refused("response.create", refusals, event_id))


def _refused(kind: str, refusals: Refusals, event_id: str | None) -> tuple[ProtocolError, ...]:
    return tuple(_error(error, f"{kind}: ", event_id) for error in refusals.for_client())


def _error(error: FieldError, name: str, event_id: str | None) -> ProtocolError:
    return ProtocolError(error.code, f"{name}{error}", error.param or None, event_id)


def _item_truncate(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    fields = _checked(event, _ITEM_TRUNCATE)
    return TruncateItem(event_id, ItemId(fields["item_id"]), fields["audio_end_ms"])


def _playout(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    fields = _checked(event, _PLAYOUT)
    return PlayoutReport(
        event_id,
        fields["response_id"],
        fields["played_ms"],
        fields.get("finished", False),
        fields.get("latency_ms"),
        fields.get("device_ms"),
    )


def _cancel(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    name = _checked(event, {"response_id": Field(IDENTIFIER)}).get("response_id")
    return CancelResponse(event_id, None if name is None else reply_of(name) or UNKNOWN_REPLY)


_Read = Callable[[Reader, JsonObject, str | None], Command]


def _plain(command: Callable[[str | None], Command]) -> _Read:
    """Returns a parser for an event without fields."""

    def read(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
        _checked(event, {})
        return command(event_id)

    return read


def _of_item(command: Callable[[str | None, ItemId], Command]) -> _Read:
    """Returns a parser for an event about an item."""

    def read(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
        return command(event_id, ItemId(_checked(event, _ITEM)["item_id"]))

    return read


def _timer(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    fields = _checked(event, _TIMER)
    return ChangeTimer(event_id, fields["id"], fields["action"])


def _list(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    return RemoveListItems(event_id, tuple(_checked(event, _LIST)["remove"]))


def _home_result(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    fields = _checked(event, _HOME_RESULT)
    return EndHomeCall(event_id, fields["call_id"], fields.get("error"), fields.get("states", ()))


def _home_states(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    return UpdateHomeStates(event_id, _checked(event, _HOME_STATES)["states"])


def _wake_word(_reader: Reader, event: JsonObject, event_id: str | None) -> Command:
    fields = _checked(event, _WAKE_WORD)
    return ReportWakeWord(event_id, fields["level_dbfs"], fields["audio_end_ms"])


def _unchecked(value: object, _path: str) -> object:
    return value


def _reply(value: object, path: str) -> ReplyId:
    name: str = IDENTIFIER(value, path)
    reply_id = reply_of(name)
    if reply_id is None:
        raise wrong_value(path, f"is {shown(name)}", "the id of a response from response.created")
    return reply_id


_ENVELOPE: Table = {"type": Field(_unchecked), "event_id": Field(text(max_chars=MAX_EVENT_ID_CHARS))}
_APPEND_FIELDS = frozenset({"type", "audio"})
_APPEND: Table = {"audio": Field(_unchecked, required=True)}
_ITEM: Table = {"item_id": Field(IDENTIFIER, required=True)}
_ITEM_CREATE: Table = {"item": Field(_unchecked, required=True), "previous_item_id": Field(IDENTIFIER)}
_ITEM_TRUNCATE: Table = {
    **_ITEM,
    "content_index": Field(whole(0, 0), required=True),
    "audio_end_ms": Field(whole(0, MAX_MS), required=True),
}
_PLAYOUT: Table = {
    "response_id": Field(_reply, required=True),
    "played_ms": Field(number(0, MAX_MS), required=True),
    "finished": Field(flag),
    "latency_ms": Field(number(-MAX_MS, MAX_MS)),
    "device_ms": Field(number(0, MAX_MS)),
}

_TIMER: Table = {
    "id": Field(whole(0, 2**53), required=True),
    "action": Field(one_of(*TIMER_ACTIONS), required=True),
}

_WAKE_WORD: Table = {
    "level_dbfs": Field(number(-200, 20), required=True),
    "audio_end_ms": Field(number(0, MAX_MS), required=True),
}

_LIST: Table = {"remove": Field(listing(IDENTIFIER, maximum=MAX_ITEMS, minimum=1), required=True)}

_HOME_RESULT: Table = {
    "call_id": Field(IDENTIFIER, required=True),
    "error": Field(one_of("not_found", "refused", "broken", "late", "busy")),
    "states": STATES_FIELD,
}
_HOME_STATES: Table = {"states": replace(STATES_FIELD, required=True)}

_EVENTS: dict[str, _Read] = {
    "session.update": Reader._session_update,
    "input_audio_buffer.append": Reader._append,
    "input_audio_buffer.commit": _plain(CommitInput),
    "input_audio_buffer.clear": _plain(ClearInput),
    "conversation.item.create": Reader._item_create,
    "conversation.item.retrieve": _of_item(RetrieveItem),
    "conversation.item.delete": _of_item(DeleteItem),
    "conversation.item.truncate": _item_truncate,
    "response.create": Reader._response_create,
    "response.cancel": _cancel,
    "output_audio_buffer.clear": _plain(ClearOutput),
    "repartee.playout": _playout,
    "repartee.cancel_background": _plain(CancelBackground),
    "repartee.timer": _timer,
    "repartee.list": _list,
    "repartee.home.result": _home_result,
    "repartee.home.states": _home_states,
    "repartee.wake_word.heard": _wake_word,
}

CLIENT_EVENTS = tuple(_EVENTS)
"""Types of the events that the server understands."""


def _checked(event: JsonObject, table: Table) -> JsonObject:
    return checked(event, "", {**_ENVELOPE, **table})


def _refuse_type(kind: object) -> NoReturn:
    if kind is None:
        raise FieldError("missing_required_parameter", "type is missing", "type")
    if not isinstance(kind, str):
        raise wrong_type("type", kind, "a string")
    raise wrong_value("type", f"is {shown(kind)}", listed(CLIENT_EVENTS))


def object_of(message: str) -> JsonObject:
    """Parses a JSON object. Raises FieldError."""
    if (flat := _flat_object(message)) is not None:
        return flat
    try:
        document = _DECODER.decode(message)
    except json.JSONDecodeError as error:
        # The decoder's own text is left out, because it can quote what the user said.
        raise FieldError("invalid_json", f"the message is not JSON: an error at character {error.pos}", "") from error
    except (ValueError, RecursionError) as error:
        raise FieldError(
            "invalid_json", "the message cannot be read as JSON: it is too deeply nested or a number is too long", ""
        ) from error
    if not isinstance(document, dict):
        raise wrong_type("", document, "an object")
    if _may_be_half(message) and _has_half_character(document):
        raise FieldError(
            "invalid_json", "the message contains half a character (a lone surrogate); send whole characters", ""
        )
    return document


def _flat_object(message: str) -> JsonObject | None:
    """Returns the object of a message without inner objects and lists, as audio is; None for any other message.

    It is parsed by orjson, in a fifth of the time. All other messages, and messages with an error, are left to the
    standard library, which has other limits of depth and other error positions.
    """
    if len(message) > _LONG_CHARS and message.find("{", 1) >= 0:
        return None  # saves a second parse of a large message
    try:
        document = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(document, dict) or any(isinstance(value, dict | list) for value in document.values()):
        return None
    return document


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Shared, because `json.loads` with an own `parse_constant` creates a decoder for every message."""


def _may_be_half(message: str) -> bool:
    """Returns whether a message may contain a lone surrogate, as an escape or raw. Cheap, and true for few messages."""
    # A search for one character takes a fiftieth of the time.
    return ("\\" in message and ("\\ud" in message or "\\uD" in message)) or not message.isascii()


def _has_half_character(document: object) -> bool:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                return True
    return False
