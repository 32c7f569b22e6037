"""The session object: updates by a client, and what it is sent."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.protocol.wire_client import SERVICE, Client, check_shape

from assistant.config.turn_settings import ProfileName
from llm.chat import Function
from web.wire.incoming.commands import CreateResponse, ResponseOptions, UpdateSession
from web.wire.incoming.parse import Reader
from web.wire.outgoing.session_object import SessionDescription, session_object
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import (
    AudioFormat,
    Extensions,
    SemanticVad,
    ServerVad,
    SessionConfig,
    Tracing,
    Truncation,
)

Json = dict[str, Any]
TOOL = {"type": "function", "name": "get_time", "description": "The time.", "parameters": {"type": "object"}}


DEEP = json.loads('{"a":' * 33 + "1" + "}" * 33)


def update(session: object, config: SessionConfig | None = None, spoken: str = "en") -> SessionConfig | ProtocolError:
    before = config or SessionConfig()
    reader = Reader(before, spoken)
    found = reader.read(json.dumps({"type": "session.update", "session": session}))
    assert reader.config is before
    if isinstance(found, ProtocolError):
        return found
    assert isinstance(found, UpdateSession)
    return found.refused[0] if found.refused else found.config


def detection(value: object, config: SessionConfig | None = None) -> object:
    found = update({"audio": {"input": {"turn_detection": value}}}, config)
    return found if isinstance(found, ProtocolError) else found.turn_detection


def test_all_settings_can_be_updated_at_once() -> None:
    found = update(
        {
            "type": "realtime",
            "model": "gpt-realtime",
            "instructions": "Be brief.",
            "output_modalities": ["text"],
            "audio": {
                "input": {
                    "format": {"type": "audio/pcmu"},
                    "transcription": None,
                    "noise_reduction": {"type": "near_field"},
                    "turn_detection": {"type": "server_vad", "silence_duration_ms": 300, "threshold": 0.7},
                },
                "output": {"format": {"type": "audio/pcma"}, "voice": {"id": "voice_1"}, "speed": 1.25},
            },
            "tools": [TOOL],
            "tool_choice": {"type": "function", "name": "get_time"},
            "max_output_tokens": 100,
            "tracing": "auto",
            "truncation": "disabled",
            "include": [],
            "parallel_tool_calls": True,
            "repartee": {"duck": True},
        }
    )
    assert found == SessionConfig(
        instructions="Be brief.",
        modality="text",
        input_format=AudioFormat.ULAW,
        output_format=AudioFormat.ALAW,
        turn_detection=ServerVad(threshold=0.7, silence_duration_ms=300),
        transcription=False,
        voice="voice_1",
        speed=1.25,
        tools=(Function("get_time", "The time.", '{"type": "object"}'),),
        tool_choice="get_time",
        max_output_tokens=100,
        extensions=Extensions(events=True, duck=True),
        noise_reduction="near_field",
        tracing=Tracing(),
        truncation=Truncation("disabled"),
    )


def test_missing_and_null_fields_keep_their_values() -> None:
    config = SessionConfig(instructions="x", voice="amy", transcription=False, extensions=Extensions(duck=True))
    assert update({}, config) == config
    nothing = {"instructions": None, "tools": None, "audio": {"input": None, "output": {"voice": None, "speed": None}}}
    assert update(nothing, config) == config
    assert update({"repartee": {"playout": True}}, config) == SessionConfig(
        instructions="x", voice="amy", transcription=False, extensions=Extensions(events=True, duck=True, playout=True)
    )


def test_interrupt_after_ms_stays_until_reset() -> None:
    asked = update({"repartee": {"interrupt_after_ms": 300}})
    assert asked == SessionConfig(extensions=Extensions(events=True, interrupt_after_ms=300))
    assert update({"repartee": {"duck": True}}, asked) == SessionConfig(
        extensions=Extensions(events=True, duck=True, interrupt_after_ms=300)
    )
    assert update({"repartee": {"interrupt_after_ms": None}}, asked) == SessionConfig(
        extensions=Extensions(events=True)
    )


def test_turn_detection_keeps_values_or_takes_defaults_by_type() -> None:
    eager = SessionConfig(turn_detection=SemanticVad(eagerness="high"))
    assert detection({"type": "semantic_vad", "interrupt_response": False}, eager) == SemanticVad(
        "high", interrupt_response=False
    )
    assert detection({"create_response": False}, eager) == SemanticVad("high", create_response=False)
    assert detection({"type": "server_vad"}, eager) == ServerVad()
    assert detection({"type": "semantic_vad"}, SessionConfig(turn_detection=ServerVad())) == SemanticVad()
    assert detection(None, eager) is None
    assert detection({"type": "semantic_vad"}, SessionConfig(turn_detection=None)) == SemanticVad()


@pytest.mark.parametrize("profile", ["auto", "patient", "balanced", "eager"])
def test_profiles_map_to_eagerness(profile: ProfileName) -> None:
    assert SemanticVad.of_profile(profile).profile_name(profile) == profile
    assert SemanticVad("auto").profile_name(profile) == profile
    assert SemanticVad("medium").profile_name(profile) == "balanced"


@pytest.mark.parametrize(
    ("session", "code", "param", "text"),
    [
        (5, "invalid_type", "session", "session is a number; it must be an object"),
        ({"type": "translation"}, "invalid_value", "session.type", "'transcription'"),
        ({"instructions": 5}, "invalid_type", "session.instructions", "a number"),
        ({"output_modalities": ["text", "audio"]}, "invalid_value", "session.output_modalities", "both or none"),
        ({"output_modalities": ["video"]}, "invalid_value", "session.output_modalities[0]", "'video'"),
        ({"max_output_tokens": 0}, "invalid_value", "session.max_output_tokens", "1 to 32768"),
        ({"max_output_tokens": "lots"}, "invalid_type", "session.max_output_tokens", "or 'inf'"),
        ({"prompt": {"id": "p"}}, "invalid_value", "session.prompt.id", "is 'p', which is not in server.prompts"),
        (
            {"tools": [{"type": "mcp", "server_label": "x", "server_url": "https://x"}]},
            "not_supported", "session.tools[0].server_url", "allows no MCP servers",
        ),
        ({"tools": [TOOL, TOOL]}, "invalid_value", "session.tools[1].name", "twice"),
        ({"tools": [{"type": "function"}]}, "missing_required_parameter", "session.tools[0].name", "is missing"),
        ({"tools": [{"name": "f", "parameters": []}]}, "invalid_type", "session.tools[0].parameters", "a list"),
        ({"tools": [{"name": "f", "parameters": DEEP}]}, "invalid_value", "session.tools[0].parameters", "32 levels"),
        ({"tool_choice": "some"}, "invalid_value", "session.tool_choice", "'required'"),
        ({"tool_choice": {"type": "mcp"}}, "missing_required_parameter", "session.tool_choice.server_label", "missing"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "invalid_value", "session.tool_choice", "not among"),
        ({"audio": {"output": {"speed": 2}}}, "invalid_value", "session.audio.output.speed", "is 2; allowed: 0.25"),
        ({"audio": {"output": {"voice": 5}}}, "invalid_type", "session.audio.output.voice", "a string"),
        ({"audio": {"input": {"format": "pcm16"}}}, "invalid_type", "session.audio.input.format", "an object"),
        (
            {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}},
            "invalid_value", "session.audio.input.format.rate", "is 16000; allowed: 24000",
        ),
        (
            {"audio": {"input": {"transcription": {"language": "de"}}}},
            "not_supported", "session.audio.input.transcription.language", "speaks 'en'",
        ),
        (
            {"audio": {"input": {"turn_detection": {"type": "client_vad"}}}},
            "invalid_value", "session.audio.input.turn_detection.type", "'semantic_vad'",
        ),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 500}}}},
            "invalid_value", "session.audio.input.turn_detection.idle_timeout_ms", "5000 is used",
        ),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": 20}}}},
            "invalid_value", "session.audio.input.turn_detection.silence_duration_ms", "100 to 10000",
        ),
        ({"audio": {"input": {"turn_detection": "off"}}}, "invalid_type", "session.audio.input.turn_detection", "null"),
        ({"repartee": {"duck": "yes"}}, "invalid_type", "session.repartee.duck", "true or false"),
        (
            {"repartee": {"interrupt_after_ms": 20}},
            "invalid_value", "session.repartee.interrupt_after_ms", "is 20; allowed: 40 to 2000",
        ),
        ({"repartee": {"interrupt_after_ms": "long"}}, "invalid_type", "session.repartee.interrupt_after_ms", "number"),
        ({"repartee": {"volume": 1}}, "unknown_parameter", "session.repartee.volume", "duck"),
    ],
    ids=[
        "session is a number", "type transcription", "instructions are a number",
        "two modalities", "unknown modality", "zero token limit", "token limit is a word", "prompt template",
        "MCP tool", "duplicate tool", "tool without name", "parameters are a list", "parameters nested too deeply",
        "unknown tool choice", "MCP tool choice", "unknown function", "speed out of range", "voice is a number",
        "format is a text", "unsupported rate", "other language", "unknown turn detection", "idle timeout",
        "silence out of range", "turn detection is a text", "duck is a text", "interrupt_after_ms too small",
        "interrupt_after_ms is a word", "unknown extension",
    ],
)  # fmt: skip
def test_invalid_field_is_refused_and_others_take_effect(session: object, code: str, param: str, text: str) -> None:
    client = Client()
    before = client.wire.config
    if not isinstance(session, dict):
        (event,) = client.send({"type": "session.update", "event_id": "mine", "session": session})
        assert client.commands == []
    else:
        good = {"output_modalities": ["text"], "max_output_tokens": 7}
        (event,) = client.send({"type": "session.update", "event_id": "mine", "session": {**good, **session}})
        (command,) = client.commands
        assert isinstance(command, UpdateSession)
        assert (command.config.modality, command.config.max_output_tokens) == (
            "audio" if "output_modalities" in session else "text",
            "inf" if "max_output_tokens" in session else 7,
        )
    error = event["error"]
    assert (error["code"], error["param"], error["event_id"]) == (code, param, "mine")
    assert text in error["message"]
    assert error["message"].startswith("session.update: ")
    assert client.wire.config.instructions == before.instructions


DETECTION = "session.audio.input.turn_detection"


def judged(session: Json, config: SessionConfig | None = None) -> tuple[list[str | None], SessionConfig]:
    """Returns the refused fields and the resulting settings."""
    found = Reader(config or SessionConfig(), "en").read(json.dumps({"type": "session.update", "session": session}))
    assert isinstance(found, UpdateSession)
    return [error.param for error in found.refused], found.config


@pytest.mark.parametrize(
    ("session", "params", "expected"),
    [
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": "soon",
                                                    "create_response": False}}}},
            [f"{DETECTION}.idle_timeout_ms"],
            SessionConfig(turn_detection=ServerVad(create_response=False)),
        ),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": 50000,
                                                    "prefix_padding_ms": 9000, "threshold": 0.7}}}},
            [f"{DETECTION}.silence_duration_ms", f"{DETECTION}.prefix_padding_ms"],
            SessionConfig(turn_detection=ServerVad(0.7, silence_duration_ms=10_000, prefix_padding_ms=2000)),
        ),
        (
            {"audio": {"input": {"transcription": {"language": "de", "model": "m"}, "format": {"type": "audio/pcmu"}},
                       "output": {"speed": 9, "voice": "amy"}}},
            ["session.audio.input.transcription.language", "session.audio.output.speed"],
            SessionConfig(input_format=AudioFormat.ULAW, voice="amy"),
        ),
        ({"prompt": {"id": "pmpt_1"}, "instructions": "Hi."}, ["session.prompt.id"], SessionConfig(instructions="Hi.")),
        (
            {"tools": [{"type": "mcp", "server_label": "x"}, TOOL, {"type": "function"}, {**TOOL, "strict": True}]},
            [*(f"session.tools[{field}" for field in ("2].name", "3].strict", "3].name", "0].server_url"))],
            SessionConfig(tools=(Function("get_time", "The time.", '{"type": "object"}'),)),
        ),
        (
            {"tool_choice": {"type": "function", "name": "nope"}, "tools": [TOOL]},
            ["session.tool_choice"],
            SessionConfig(tools=(Function("get_time", "The time.", '{"type": "object"}'),)),
        ),
        (
            {"modalities": ["audio", "text"], "voice": "amy", "input_audio_format": "pcm16", "turn_detection": None,
             "temperature": 0.8, "max_response_output_tokens": "inf", "instructions": "Hi."},
            [],
            SessionConfig(instructions="Hi.", voice="amy", turn_detection=None),
        ),
        (
            {"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}, "turn_detection": {"type": "x"}}},
             "instructions": "Hi."},
            ["session.audio.input.format.rate", f"{DETECTION}.type"],
            SessionConfig(instructions="Hi."),
        ),
        ({"audio": 5, "repartee": [], "instructions": "Hi."}, ["session.audio", "session.repartee"],
         SessionConfig(instructions="Hi.")),
        ({"type": "transcription", "instructions": "Hi."}, ["session.instructions"],
         SessionConfig(kind="transcription")),
        ({"audio": {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "very", "threshold": 0.5}}}},
         [f"{DETECTION}.eagerness", f"{DETECTION}.threshold"], SessionConfig()),
    ],
    ids=["idle timeout", "server_vad", "language", "prompt", "tools", "tool choice", "beta fields", "whole objects",
         "wrong types", "kind of session", "semantic_vad"],
)  # fmt: skip
def test_each_field_of_an_update_is_checked_separately(
    session: Json, params: list[str], expected: SessionConfig
) -> None:
    assert judged(session) == (params, expected)


def test_number_of_field_errors_is_bounded() -> None:
    client = Client()
    events = client.send({"type": "session.update", "session": {f"x{n}": 1 for n in range(5000)}})
    assert [event["type"] for event in events] == ["error"] * 32
    assert "4968 more fields are refused" in events[-1]["error"]["message"]
    assert len(client.commands) == 1


def test_tool_parameters_need_finite_numbers() -> None:
    text = '{"type": "session.update", "session": {"tools": [{"name": "f", "parameters": {"x": [1e999]}}]}}'
    found = Reader(SessionConfig(), "en").read(text)
    assert isinstance(found, UpdateSession)
    assert [(error.code, error.param) for error in found.refused] == [("invalid_value", "session.tools[0].parameters")]


def test_turn_detection_needs_a_type_if_it_was_off() -> None:
    found = detection({"create_response": True}, SessionConfig(turn_detection=None))
    assert isinstance(found, ProtocolError)
    assert found.code == "missing_required_parameter"


def test_tool_choice_is_auto_after_its_tool_is_removed() -> None:
    config = SessionConfig(tools=(Function("f", "", "{}"),), tool_choice="f")
    assert judged({"tools": []}, config) == (["session.tool_choice"], SessionConfig())


@pytest.mark.parametrize("language", ["en", "en-GB", "EN_us"])
def test_variants_of_the_language_are_accepted(language: str) -> None:
    assert update({"audio": {"input": {"transcription": {"language": language}}}}, spoken="en-US") == SessionConfig()


def test_session_shows_the_voice_in_use() -> None:
    client = Client()
    client.send({"type": "session.update", "session": {"audio": {"output": {"voice": "alloy"}}}})
    command = client.commands[-1]
    assert isinstance(command, UpdateSession)
    assert command.config.voice == "alloy"
    (event,) = client.do(lambda wire: wire.session_updated(voice="amy"))
    assert event["session"]["audio"]["output"]["voice"] == "amy"
    assert client.wire.config.voice == "amy"


def test_session_object_has_all_fields() -> None:
    config = SessionConfig(
        voice="amy", tools=(Function("get_time", "The time.", '{"type": "object"}'),), tool_choice="get_time"
    )
    shown = session_object(SessionDescription("s1", SERVICE, expires_at_s=1000), config)
    assert shown == {
        "type": "realtime",
        "object": "realtime.session",
        "id": "s1",
        "model": "skills",
        "expires_at": 1000,
        "output_modalities": ["audio"],
        "instructions": "",
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": 24_000},
                "transcription": {"model": "faster-whisper", "language": "en", "prompt": None},
                "noise_reduction": None,
                "turn_detection": {
                    "type": "semantic_vad",
                    "eagerness": "auto",
                    "create_response": True,
                    "interrupt_response": True,
                },
            },
            "output": {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": "amy", "speed": 1.0},
        },
        "tools": [TOOL],
        "tool_choice": {"type": "function", "name": "get_time"},
        "max_output_tokens": "inf",
        "truncation": "auto",
        "tracing": None,
        "prompt": None,
        "include": None,
        "repartee": {
            "version": "0.1",
            "resume_token": "token",
            "resumed": False,
            "heard_ms": 0.0,
            "language": "en",
            "engines": [
                {"stage": "vad", "name": "silero", "detail": "20 ms frames", "why": "as configured", "fallback": False}
            ],
            "events": False,
            "duck": False,
            "playout": False,
            "listening_sounds": False,
            "reloads": False,
            "markup": False,
            "turn_events": False,
            "interrupt_after_ms": None,
            "wake_phrase": None,
            "wake_word": None,
            "room": "",
            "wake_window_s": 8.0,
            "wake_words": [],
            "endpoint": None,
            "words": None,
        },
    }


DETECTIONS = st.one_of(
    st.none(),
    st.builds(
        ServerVad,
        st.floats(0, 1),
        st.integers(100, 3000),
        st.integers(0, 1000),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(SemanticVad, st.sampled_from(["low", "medium", "high", "auto"]), st.booleans(), st.booleans()),
)
CONFIGS = st.builds(
    SessionConfig,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(["audio", "text"]),
    st.sampled_from(AudioFormat),
    st.sampled_from(AudioFormat),
    DETECTIONS,
    st.booleans(),
    st.just("amy"),
    st.floats(0.25, 1.5),
    st.just((Function("f", "d", '{"type": "object"}'),)),
    st.sampled_from(["auto", "none", "required", "f"]),
    st.integers(1, 4096) | st.just("inf"),
    st.builds(
        Extensions,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.none() | st.integers(40, 2000),
        st.booleans(),
    ),
)


@given(CONFIGS)
def test_session_object_round_trips_and_matches_sdk_types(config: SessionConfig) -> None:
    shown: Json = session_object(SessionDescription("s1", SERVICE), config)
    check_shape({"type": "session.updated", "event_id": "e", "session": shown})
    assert update(shown, config) == config


def test_response_options_are_parsed() -> None:
    event = {
        "type": "response.create",
        "response": {"tools": [TOOL], "tool_choice": "required", "audio": {"output": {"voice": "amy"}}},
    }
    found = Reader(SessionConfig(), "en").read(json.dumps(event))
    assert isinstance(found, CreateResponse)
    assert found.options.tools == (Function("get_time", "The time.", '{"type": "object"}'),)
    assert (found.options.tool_choice, found.options.modality) == ("required", None)


def test_response_tools_must_include_the_chosen_function() -> None:
    lamp = Function("set_lamp", "", '{"type": "object"}')
    reader = Reader(SessionConfig(tools=(lamp,), tool_choice="set_lamp"), "en")

    def read(**response: object) -> object:
        return reader.read(json.dumps({"type": "response.create", "response": response}))

    found = read(tools=[TOOL])
    assert isinstance(found, CreateResponse)
    assert [(error.code, error.param) for error in found.refused] == [("invalid_value", "response.tool_choice")]
    assert found.options.tool_choice == "auto"
    for good in (read(tools=[TOOL], tool_choice="auto"), read()):
        assert isinstance(good, CreateResponse)
        assert good.refused == ()


def test_invalid_response_options_are_refused_singly() -> None:
    client = Client()
    response = {"prompt": {"id": "x"}, "metadata": {"a": 1}, "temperature": "hot", "instructions": "Be brief.",
                "audio": {"output": {"voice": "amy", "speed": 2}}, "max_output_tokens": 0, "tools": 5}  # fmt: skip
    events = client.send({"type": "response.create", "event_id": "mine", "response": response})
    assert [(event["error"]["param"], event["error"]["event_id"]) for event in events] == [
        (f"response.{name}", "mine")
        for name in ("prompt.id", "metadata.a", "temperature", "audio.output.speed", "max_output_tokens", "tools")
    ]
    (command,) = client.commands
    assert isinstance(command, CreateResponse)
    assert command.options == ResponseOptions(instructions="Be brief.")


@pytest.mark.parametrize(
    "other",
    [{"conversation": "conv_1"}, {"input": "hello"}, {"conversation": 5}],
    ids=["another conversation", "input of another type", "invalid conversation"],
)
def test_unsupported_response_kind_is_refused(other: Json) -> None:
    client = Client()
    (event,) = client.send({"type": "response.create", "response": {"instructions": "Be brief.", **other}})
    assert event["error"]["param"] == f"response.{next(iter(other))}"
    assert client.commands == []
