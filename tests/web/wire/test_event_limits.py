"""Events that are refused before parsing, and the rate limit of a client's events."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from support.servers.session_server import (
    RecordingClient,
    connected_client,
    scripted_server,
)

from web.wire.incoming.event_limits import (
    BURST_BYTES,
    BYTES_PER_S,
    EVENT_BYTES,
    MAX_EVENT_BYTES,
    MAX_MEDIA_EVENT_BYTES,
    MAX_REFUSED,
    MAX_REFUSED_BYTES,
    MAX_VALUES,
    REFUSED_RESET_S,
    EventBudget,
    RefusedMessages,
    cost_of,
    has_too_many_values,
    is_append,
    refusal,
)
from web.wire.values.errors import ProtocolError

LIMIT_BYTES = 16 << 20
SOUND = "A" * 2_000_000
APPEND = '"type": "input_audio_buffer.append"'
LISTS = "[]," * 700_000
ESCAPED = '\\"' * 1_000_000
BACKSLASHES = "\\\\" * 1_000_000


def code_of(text: str, longest: int = LIMIT_BYTES) -> str | None:
    refused = refusal(text, len(text.encode()), longest)
    return None if refused is None else refused.code


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{{{APPEND}, "audio": "{SOUND}"}}', id="type first"),
        pytest.param(f'{{"audio": "{SOUND}", {APPEND}}}', id="type last"),
        pytest.param(f'\n{{\n  "event_id" : "e",\n  "audio" : "{SOUND}",\n  {APPEND}\n}}\n', id="on several lines"),
        pytest.param(f'{{"event_id":null,"audio":"{SOUND}",{APPEND}}}', id="null beside it"),
        pytest.param(f'{{"audio": "{SOUND}\\/\\/{SOUND}", {APPEND}}}', id="slashes escaped"),
        pytest.param(f'{{"event_id": "a\\"b\\\\", "audio": "{SOUND}", {APPEND}}}', id="quote escaped"),
    ],
)
def test_append_may_be_large_wherever_its_type_is(text: str) -> None:
    assert json.loads(text)["type"] == "input_audio_buffer.append"
    assert is_append(text)
    assert code_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{{"type": "session.update", "x": "{SOUND}"}}', id="another type"),
        pytest.param(f'{{"x": "{SOUND}"}}', id="no type"),
        pytest.param(f'{{"type": "session.update", "session": {{{APPEND}, "x": "{SOUND}"}}}}', id="type nested"),
        pytest.param(f'{{"type": "session.update", "x": "\\"{APPEND}, {SOUND}"}}', id="type within a string"),
        pytest.param(f'{{{APPEND}, "x": "{SOUND}", "type": "session.update"}}', id="type given twice"),
        pytest.param(f'{{{APPEND}, "audio": [{LISTS}1]}}', id="append with lists"),
        pytest.param(f'{{{APPEND}, "audio": "{SOUND}', id="string without an end"),
        pytest.param(f'{{{APPEND}, "audio": "{SOUND}"', id="object without an end"),
        pytest.param(f'{{{APPEND}, "audio": "{SOUND}"}} []', id="something behind it"),
        pytest.param(f'{{{APPEND}, "audio": "{ESCAPED}"}}', id="quotes escaped"),
        pytest.param(f'{{{APPEND}, "audio": "{BACKSLASHES}"}}', id="backslashes"),
        pytest.param("x" * 2_000_000, id="junk"),
        pytest.param(" " * 2_000_000, id="blanks"),
        pytest.param("[" * 2_000_000, id="brackets"),
        pytest.param('"' * 2_000_000, id="quotes"),
        pytest.param("{" + '"a": 1, ' * 300_000 + APPEND + "}", id="many members"),
    ],
)
def test_other_events_have_at_most_a_megabyte(text: str) -> None:
    refused = refusal(text, len(text), LIMIT_BYTES)
    assert isinstance(refused, ProtocolError)
    assert refused.code == "message_too_large"
    assert f"{MAX_EVENT_BYTES} bytes; this one has {len(text)}" in refused.message


def test_event_of_exactly_a_megabyte_passes() -> None:
    begins, ends = '{"type":"conversation.item.create","x":"', '"}'
    whole = begins + "x" * (MAX_EVENT_BYTES - len(begins) - len(ends)) + ends
    assert (len(whole), code_of(whole)) == (MAX_EVENT_BYTES, None)
    assert code_of(whole + " ") == "message_too_large"


def test_longest_message_limits_an_append_too() -> None:
    text = f'{{{APPEND}, "audio": "{SOUND}"}}'
    refused = refusal(text, len(text), 65536)
    assert refused is not None
    assert "at most 65536 bytes" in refused.message


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" + "[]," * 100_000 + "1]", id="lists"),
        pytest.param("[" + "{}," * 100_000 + "1]", id="objects"),
        pytest.param("[" * 100_000, id="nested"),
        pytest.param("[" + "1," * 100_000 + "1]", id="numbers"),
        pytest.param("[" + '"",' * 100_000 + "1]", id="strings"),
        pytest.param("{" + '"a":1,' * 100_000 + '"b":1}', id="keys"),
        pytest.param('["\\\\",' + "[]," * 100_000 + "1]", id="behind an escape"),
        pytest.param('["' + '\\"' * 100 + '",' + "[]," * 100_000 + "1]", id="behind escaped quotes"),
    ],
)
def test_event_with_too_many_values_is_refused(text: str) -> None:
    assert code_of(text) == "too_many_values"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("word, " * 100_000, id="commas"),
        pytest.param("[{" * 100_000, id="brackets"),
        pytest.param('"' * 100_000, id="quotes"),
        pytest.param("\\" * 100_000, id="backslashes"),
        pytest.param('\\"' * 100_000, id="backslashes and quotes"),
        pytest.param(json.dumps([{"a": [1, "x"]}] * 20_000), id="JSON in a string"),
    ],
)
def test_separators_within_strings_do_not_count(said: str) -> None:
    assert not has_too_many_values(json.dumps({"type": "conversation.item.create", "item": {"text": said}}))


def test_128_tools_with_100_values_each_pass() -> None:
    properties = {f"p{n}": {"type": "string", "description": "One, two, [three]."} for n in range(40)}
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": properties}}
    text = json.dumps({"type": "session.update", "session": {"tools": [tool] * 128}})
    assert len(text) > 300_000
    assert code_of(text) is None
    assert not has_too_many_values("[" + "1," * (MAX_VALUES - 2) + "1]")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('["' + '\\"' * 8_000_000, id="escaped quotes without an end"),
        pytest.param('{"a":"' + "\\" * 16_000_000, id="backslashes without an end"),
        pytest.param('{"a"' + " " * 16_000_000, id="blanks behind a key"),
        pytest.param("[" + "[]," * 5_000_000, id="lists"),
    ],
)
def test_hostile_text_is_refused_in_linear_time(text: str) -> None:
    began_s = time.thread_time()
    assert code_of(text) == "message_too_large"
    has_too_many_values(text[:MAX_EVENT_BYTES])
    assert time.thread_time() - began_s < 0.5


def test_client_is_read_at_a_bounded_rate_after_a_burst() -> None:
    budget = EventBudget()
    assert budget.wait_s(BURST_BYTES - EVENT_BYTES, 1000.0) == 0
    assert budget.wait_s(MAX_EVENT_BYTES - EVENT_BYTES, 1000.0) == pytest.approx(MAX_EVENT_BYTES / BYTES_PER_S)
    now_s, events = 2000.0, 0
    while now_s < 2010.0:
        now_s += budget.wait_s(0, now_s)
        events += 1
    assert events == pytest.approx((BURST_BYTES + 10 * BYTES_PER_S) / EVENT_BYTES, rel=0.02)


def test_normal_client_never_waits() -> None:
    budget = EventBudget()
    assert not any(budget.wait_s(2_000, 1000.0 + n / 100) for n in range(10_000))


# ---- over a socket ----


def update(parameters: str) -> str:
    tool = f'{{"type":"function","name":"f","description":"d","parameters":{parameters}}}'
    return f'{{"type":"session.update","session":{{"type":"realtime","tools":[{tool}]}}}}'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(update('{"a":[' + "[]," * 4_000_000 + "1]}"), "message_too_large", id="12 MB of schema"),
        pytest.param(update('{"a":[' + "[]," * 290_000 + "1]}"), "too_many_values", id="0.9 MB of schema"),
        pytest.param(update('{"a":"' + "x" * 900_000 + '"}'), "invalid_value", id="0.9 MB of text in a schema"),
    ],
)
async def test_large_event_is_refused_and_the_connection_stays(tmp_path: Path, text: str, code: str) -> None:
    async with scripted_server(tmp_path) as (server, _), connected_client(server) as caller:
        await caller.socket.send(text)
        error = (await caller.until("error"))["error"]
        assert error["code"] == code
        assert any(limit in error["message"] for limit in ("1000000", "20000", "256000"))
        await caller.ask()


@pytest.mark.parametrize("message", ["[" * 30_000, b"sound"], ids=["too many values", "binary"])
async def test_client_that_goes_on_with_refused_messages_is_closed_with_a_reason(
    tmp_path: Path, message: str | bytes
) -> None:
    async with (
        scripted_server(tmp_path) as (server, _),
        connected_client(server) as caller,
        connected_client(server) as other,
    ):
        for _ in range(MAX_REFUSED):
            await caller.socket.send(message)
        await caller.until("error", MAX_REFUSED)
        await caller.ask()  # so many are no reason
        await caller.socket.send(message)
        close = await caller.until_closed()
        assert len(caller.events_of("error")) == MAX_REFUSED + 1
        assert (close.code, close.reason[:11]) == (1008, "21 messages")
        await other.ask()


def test_bytes_of_refused_messages_are_limited() -> None:
    refused, few = RefusedMessages(), MAX_REFUSED_BYTES // 15_000_000
    assert [refused.problem(15_000_000, 1.0) is None for _ in range(few + 1)] == [True] * few + [False]


def test_refused_messages_are_forgotten_after_a_minute() -> None:
    refused = RefusedMessages()
    for now_s in (100.0, 100.0 + REFUSED_RESET_S):
        assert {refused.problem(10, now_s) for _ in range(MAX_REFUSED)} == {None}
    assert refused.problem(10, 101.0 + REFUSED_RESET_S) == "21 messages with 210 bytes were refused; see the errors"


async def test_append_with_its_type_last_is_accepted(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, _), connected_client(server) as caller:
        sound = "A" * 200_000
        await caller.socket.send(f'{{"audio":"{sound}","type":"input_audio_buffer.append"}}')
        await caller.socket.send(f'{{"audio":"{sound}","type":"nothing"}}')
        assert (await caller.until("error"))["error"]["param"] == "type"
        assert len(caller.events_of("error")) == 1


@pytest.mark.parametrize("kind", ["large request", "large answer"])
async def test_client_with_costly_events_waits_and_others_do_not(tmp_path: Path, kind: str) -> None:
    text = "x" * 900_000

    async def costly(caller: RecordingClient) -> None:
        item = {"type": "message", "role": "user", "id": "big", "content": [{"type": "input_text", "text": text}]}
        await caller.send("conversation.item.create", item=item)
        for _ in range(5 if kind == "large request" else 40):
            if kind == "large request":
                await caller.send("session.update", session={"type": "realtime", "instructions": text})
            else:
                await caller.send("conversation.item.retrieve", item_id="big")
        await caller.send("conversation.item.retrieve", item_id="nothing")
        await caller.until("error")

    async with (
        scripted_server(tmp_path) as (server, _),
        connected_client(server) as one,
        connected_client(server) as other,
        asyncio.TaskGroup() as tasks,
    ):
        work = tasks.create_task(costly(one))
        await asyncio.sleep(0.3)
        for _ in range(20):
            await other.send("conversation.item.retrieve", item_id="nothing")
        await other.until("error", 20)
        assert not work.done(), "more than a second: 5.4 MB at 2 MB/s, 2 MB of it at once"
        assert server.value("repartee_throttled_seconds_total") > 0


CREATE = '"type": "conversation.item.create"'


@pytest.mark.parametrize("kind", ["input_audio", "input_image"])
@pytest.mark.parametrize("head", [f'{{{CREATE}, "item": [ITEM]}}', f'{{"item": [ITEM], {CREATE}}}'])
def test_item_with_sound_or_image_may_be_large(kind: str, head: str) -> None:
    text = head.replace("ITEM", f'{{"type": "{kind}", "data": "{SOUND}"}}')
    assert code_of(text) is None
    assert cost_of(text, len(text)) == len(text) // 3
    too_long = text.replace(SOUND, "A" * MAX_MEDIA_EVENT_BYTES)
    assert code_of(too_long) == "message_too_large"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{{{CREATE}, "item": {{"type": "input_text", "text": "{SOUND}"}}}}', id="text"),
        pytest.param(f'{{{CREATE}, "item": {{"type": "input_audio", "text": "{"a b " * 500_000}"}}}}', id="words"),
        pytest.param(f'{{{CREATE}, "item": {{"type": "input_audio", "text": "{"ä" * 600_000}"}}}}', id="not ASCII"),
        pytest.param(f'{{{CREATE}, "item": {{"type": "input_audio", "text": "{ESCAPED}"}}}}', id="escaped"),
        pytest.param(f'{{{CREATE}, "item": {{"type": "input_audio", "text": [{"[]," * 400_000}0]}}}}', id="lists"),
        pytest.param(f'{{"type": "session.update", "item": {{"type": "input_audio", "x": "{SOUND}"}}}}', id="other"),
    ],
)
def test_large_item_without_sound_or_image_is_refused(text: str) -> None:
    assert code_of(text) == "message_too_large"
    assert cost_of(text, len(text)) == len(text)
