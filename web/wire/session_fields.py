"""Parses the session of a session.update and the options of a response.

Fields are checked one by one: valid fields take effect, invalid ones are refused by name. Missing fields keep their
values.
"""

from dataclasses import replace
from typing import Any

from assistant.tools.client_mcp import ClientServer
from llm.chat import Function
from web.wire.commands import ResponseOptions
from web.wire.fields import (
    IDENTIFIER,
    TEXT,
    Check,
    Field,
    FieldError,
    Refusals,
    accepted,
    anything,
    checked,
    flag,
    in_parts,
    json_text,
    listed,
    listing,
    missing_here,
    moved,
    not_supported,
    number,
    one_of,
    text,
    whole,
    wrong_type,
    wrong_value,
)
from web.wire.mcp_fields import DeclaredTools, add_server, allowed_servers, chosen_tool, is_choice
from web.wire.session_config import AudioFormat, Limit, Modality, SemanticVad, ServerVad, SessionConfig, TurnDetection

MAX_TOOLS = 128
MAX_TOOLS_CHARS = 256_000
"""Limit for all descriptions and schemas together, which are part of each prompt: 2,000 for each of 128 tools."""
MAX_OUTPUT_TOKENS = 32_768
MAX_METADATA = 16
SPEED = (0.25, 1.5)
HANGOVER_MS = (100, 3000)
PRE_ROLL_MS = (0, 1000)
INTERRUPT_AFTER_MS = (40, 2000)

_CHOICES = ("auto", "none", "required")
_TOOL = {
    "type": Field(one_of("function"), essential=True),
    "name": Field(text(min_chars=1, max_chars=64), required=True),
    "description": Field(TEXT),
    "parameters": Field(json_text, essential=True),
}
_CHOSEN = {
    "type": Field(one_of("function"), required=True),
    "name": Field(IDENTIFIER, required=True),
}
_VOICE = {"id": Field(IDENTIFIER, required=True)}
_FORMAT = {
    "type": Field(one_of(*(known.value for known in AudioFormat)), required=True),
    "rate": Field(whole(1, 1_000_000)),
}


def _limit(value: object, path: str) -> Limit:
    if value == "inf":
        return "inf"
    if isinstance(value, str):
        raise wrong_type(path, value, "a whole number or 'inf'")
    found: int = whole(1, MAX_OUTPUT_TOKENS)(value, path)
    return found


def _modality(value: object, path: str) -> Modality:
    found = listing(one_of("audio", "text"), maximum=2)(value, path)
    if found == ["text"]:
        return "text"
    if found != ["audio"]:
        raise wrong_value(path, "has both or none", '["audio"] (with its transcript) or ["text"]')
    return "audio"


def _format(value: object, path: str) -> AudioFormat:
    found = checked(value, path, _FORMAT)
    form = AudioFormat(found["type"])
    if found.get("rate", form.rate_hz) != form.rate_hz:
        raise wrong_value(f"{path}.rate", f"is {found['rate']}", f"{form.rate_hz} for {form.value!r}")
    return form


def _voice(value: object, path: str) -> str:
    found: str = checked(value, path, _VOICE)["id"] if isinstance(value, dict) else IDENTIFIER(value, path)
    return found


def _function(value: object, path: str, refusals: Refusals) -> Function:
    found = accepted(value, path, _TOOL, refusals)
    return Function(found["name"], found.get("description", ""), found.get("parameters", '{"type": "object"}'))


def _tools(value: object, path: str, refusals: Refusals) -> DeclaredTools:
    """Parses the tools; invalid ones are left out."""
    found: dict[str, Function] = {}
    servers: dict[str, ClientServer] = {}
    for index, entry in enumerate(listing(_any_value, maximum=MAX_TOOLS)(value, path)):
        where = f"{path}[{index}]"
        try:
            if isinstance(entry, dict) and entry.get("type") == "mcp":
                add_server(entry, where, servers)
                continue
            function = _function(entry, where, refusals)
            if function.name in found:
                raise wrong_value(f"{where}.name", "names a function twice", "each name once")
        except FieldError as error:
            refusals.add(error)
        else:
            found[function.name] = function
    chars = sum(len(function.description) + len(function.parameters) for function in found.values())
    if chars > MAX_TOOLS_CHARS:
        raise wrong_value(
            path, f"have {chars} characters in descriptions and parameters", f"at most {MAX_TOOLS_CHARS} in all"
        )
    return DeclaredTools(tuple(found.values()), tuple(servers.values()))


def _any_value(value: object, _path: str) -> object:
    return value


def _choice(value: object, path: str) -> str:
    if isinstance(value, str):
        word: str = one_of(*_CHOICES)(value, path)
        return word
    if isinstance(value, dict) and value.get("type") == "mcp":
        return chosen_tool(value, path)
    name: str = checked(value, path, _CHOSEN)["name"]
    return name


def _metadata(value: object, path: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object of strings")
    if len(value) > MAX_METADATA or any(len(key) > 64 for key in value):
        raise wrong_value(path, "is too large", f"{MAX_METADATA} entries with names of up to 64 characters")
    return {key: text(max_chars=512)(inner, f"{path}.{key}") for key, inner in value.items()}


_SERVER_VAD = {
    "type": Field(anything),
    "threshold": Field(number(0, 1)),
    "silence_duration_ms": Field(whole(*HANGOVER_MS)),
    "prefix_padding_ms": Field(whole(*PRE_ROLL_MS)),
    "create_response": Field(flag),
    "interrupt_response": Field(flag),
    "idle_timeout_ms": Field(missing_here("this server does not prompt users to speak; leave it out")),
}
_SEMANTIC_VAD = {
    "type": Field(anything),
    "eagerness": Field(one_of("low", "medium", "high", "auto")),
    "create_response": Field(flag),
    "interrupt_response": Field(flag),
}
_VAD_TYPE = one_of("server_vad", "semantic_vad")


def _turn_detection(value: object, path: str, now: TurnDetection | None, refusals: Refusals) -> TurnDetection:
    """Parses turn detection.

    Missing fields keep the values of `now` if the type is the same, else take their defaults.
    """
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object or null")
    if value.get("type") is None and now is None:
        raise FieldError("missing_required_parameter", f"{path}.type is missing", f"{path}.type")
    if value.get("type") is not None:
        base: TurnDetection = ServerVad() if _VAD_TYPE(value["type"], f"{path}.type") == "server_vad" else SemanticVad()
        now = now if type(now) is type(base) else base
    assert now is not None
    found = accepted(value, path, _SERVER_VAD if isinstance(now, ServerVad) else _SEMANTIC_VAD, refusals)
    found.pop("type", None)
    return replace(now, **found)


def _language(spoken: str) -> Check:
    """Returns a check for the conversation's language, in any variant."""

    def check(value: object, path: str) -> None:
        found: str = IDENTIFIER(value, path)
        if found.replace("_", "-").lower().split("-")[0] != spoken.lower().split("-")[0]:
            raise not_supported(path, f"this server speaks {spoken!r}; leave it out")

    return check


_PROMPT = Field(missing_here("this server does not store prompts; use instructions"))
_COMMON = {
    "instructions": Field(TEXT),
    "max_output_tokens": Field(_limit),
    "output_modalities": Field(_modality),
    "parallel_tool_calls": Field(flag),
    "prompt": _PROMPT,
    "reasoning": Field(anything),
    "tool_choice": Field(_choice),
    "tools": Field(anything, parts=_tools),
}


_BETA = {
    "modalities": moved("output_modalities"),
    "max_response_output_tokens": moved("max_output_tokens"),
    "output_audio_format": moved("audio.output.format"),
    "temperature": moved(""),
    "voice": moved("audio.output.voice"),
}
_BETA_SESSION = {
    **_BETA,
    "input_audio_format": moved("audio.input.format"),
    "input_audio_noise_reduction": moved("audio.input.noise_reduction"),
    "input_audio_transcription": moved("audio.input.transcription"),
    "speed": moved("audio.output.speed"),
    "turn_detection": moved("audio.input.turn_detection"),
}


def _session(spoken: str) -> dict[str, Field]:
    transcription = {
        "model": Field(IDENTIFIER),
        "language": Field(_language(spoken)),
        **{name: Field(anything) for name in ("prompt", "delay", "keywords", "languages")},
    }
    audio_input = {
        "format": Field(_format),
        "noise_reduction": Field(anything),
        "transcription": in_parts(transcription, null=True),
        "turn_detection": Field(_any_value, null=True),
    }
    audio_output = {"format": Field(_format), "speed": Field(number(*SPEED)), "voice": Field(_voice)}
    audio = {"input": in_parts(audio_input), "output": in_parts(audio_output)}
    return {
        **_COMMON,
        "type": Field(one_of("realtime", unsupported={"transcription": "this server offers only conversations"})),
        "audio": in_parts(audio),
        "repartee": in_parts(_REPARTEE),
        # Accepted without effect, so that common clients need no change (docs/protocol.md).
        **{
            name: Field(anything)
            for name in ("id", "object", "expires_at", "include", "model", "tracing", "truncation")
        },
        **_BETA_SESSION,
    }


_FLAGS = ("events", "duck", "playout", "listening_sounds", "told")
_DECLARED = (*_FLAGS, "interrupt_after_ms")
_REPARTEE = {
    **{name: Field(flag) for name in _FLAGS},
    "interrupt_after_ms": Field(whole(*INTERRUPT_AFTER_MS), null=True),
    # Fields that the server sends: a client may send back the session object that it got.
    **{name: Field(anything) for name in ("version", "resume_token", "resumed", "heard_ms", "language", "engines")},
}
_RESPONSE_OUTPUT = {"format": Field(_format), "voice": Field(_voice)}
_RESPONSE = {
    **_COMMON,
    **_BETA,
    "audio": in_parts({"output": in_parts(_RESPONSE_OUTPUT)}),
    # Essential, because ignoring them would answer something else.
    "conversation": Field(
        one_of("auto", unsupported={"none": "every response belongs to the conversation; leave it out"}),
        essential=True,
    ),
    "input": Field(missing_here("a response answers the conversation; create items in it instead"), essential=True),
    "metadata": Field(_metadata),
}


def updated(config: SessionConfig, value: object, spoken: str, refusals: Refusals) -> SessionConfig:
    """Returns the session's settings after an update; `spoken` is the conversation's language.

    Invalid fields are added to the refusals and keep their values.

    Raises:
        FieldError: The update is not an object.
    """
    found = accepted(value, "session", _session(spoken), refusals)
    audio = found.get("audio", {})
    heard, said = audio.get("input", {}), audio.get("output", {})
    changes: dict[str, Any] = {
        name: found[name] for name in ("instructions", "tool_choice", "max_output_tokens") if name in found
    }
    if "tools" in found:
        changes["tools"] = found["tools"].functions
        changes["mcp_servers"] = allowed_servers(found["tools"].servers, config, refusals)
    changes |= {name: said[name] for name in ("voice", "speed") if name in said}
    if "output_modalities" in found:
        changes["modality"] = found["output_modalities"]
    if "format" in heard:
        changes["input_format"] = heard["format"]
    if "format" in said:
        changes["output_format"] = said["format"]
    if "transcription" in heard:
        changes["transcription"] = heard["transcription"] is not None
    if "turn_detection" in heard:
        changes["turn_detection"] = _detection_after(config.turn_detection, heard["turn_detection"], refusals)
    if "repartee" in found:
        declared = {name: value for name, value in found["repartee"].items() if name in _DECLARED}
        changes["extensions"] = replace(config.extensions, **{"events": True, **declared})
    after = replace(config, **changes)
    wrong = _wrong_choice(after.tool_choice, after.tools, after.mcp_servers, "session.tool_choice")
    if wrong is not None:
        refusals.add(wrong)
        before_holds = _wrong_choice(config.tool_choice, after.tools, after.mcp_servers, "") is None
        after = replace(after, tool_choice=config.tool_choice if before_holds else "auto")
    return after


def _detection_after(now: TurnDetection | None, value: object, refusals: Refusals) -> TurnDetection | None:
    if value is None:
        return None
    try:
        return _turn_detection(value, "session.audio.input.turn_detection", now, refusals)
    except FieldError as error:
        refusals.add(error)
        return now


def response_options(config: SessionConfig, value: object, refusals: Refusals) -> ResponseOptions:
    """Parses the options of one response. Invalid options are added to the refusals; the session's settings apply.

    Raises:
        FieldError: The options are not an object, or ask for an unsupported kind of response.
    """
    found = accepted(value, "response", _RESPONSE, refusals)
    said, declared = found.get("audio", {}).get("output", {}), found.get("tools")
    options = ResponseOptions(
        instructions=found.get("instructions"),
        modality=found.get("output_modalities"),
        max_output_tokens=found.get("max_output_tokens"),
        tools=None if declared is None else declared.functions,
        tool_choice=found.get("tool_choice"),
        output_format=said.get("format"),
        metadata=found.get("metadata"),
        mcp_servers=None if declared is None else allowed_servers(declared.servers, config, refusals, in_response=True),
    )
    tools = config.tools if options.tools is None else options.tools
    servers = config.mcp_servers if options.mcp_servers is None else options.mcp_servers
    wrong = _wrong_choice(options.tool_choice or config.tool_choice, tools, servers, "response.tool_choice")
    if wrong is None:
        return options
    refusals.add(wrong)
    return replace(options, tool_choice="auto" if _wrong_choice(config.tool_choice, tools, servers, "") else None)


def _wrong_choice(
    choice: str, tools: tuple[Function, ...], servers: tuple[ClientServer, ...], path: str
) -> FieldError | None:
    names = tuple(function.name for function in tools)
    if choice in _CHOICES or choice in names or is_choice(choice, servers):
        return None
    return wrong_value(path, "names a function that is not among the tools", listed(names) or "none")
