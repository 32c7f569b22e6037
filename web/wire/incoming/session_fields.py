"""Parses the session of a session.update and the options of a response.

Fields are checked one by one: valid fields take effect, invalid ones are refused by name. Missing fields keep their
values.
"""

from dataclasses import replace
from typing import Any

from assistant.tools.client_mcp import ClientServer
from llm.chat import Function
from web.wire.home.home_fields import HOME_FIELD
from web.wire.incoming.choice_fields import choice_changes, choice_fields, with_voice
from web.wire.incoming.commands import ResponseOptions
from web.wire.incoming.conversation_fields import REASONING, prompt_field, tracing_check, truncation_field
from web.wire.incoming.keeping_field import keeping
from web.wire.incoming.mcp_fields import DeclaredTools, add_server, allowed_servers, chosen_tool, is_choice
from web.wire.incoming.satellite_fields import ROOM, WAKE_PHRASE, wake_word_field
from web.wire.incoming.transcription_fields import (
    include_field,
    noise_reduction_field,
    refuse_type_change,
    transcription_field,
)
from web.wire.incoming.turn_detection_fields import turn_detection
from web.wire.items.response_input import input_of
from web.wire.values.beta import present
from web.wire.values.fields import (
    IDENTIFIER,
    TEXT,
    Field,
    FieldError,
    Refusals,
    accepted,
    any_value,
    checked,
    dropped_value,
    flag,
    hint,
    in_parts,
    json_text,
    listed,
    listing,
    not_supported,
    number,
    one_of,
    text,
    whole,
    wrong_type,
    wrong_value,
)
from web.wire.values.session_config import (
    AudioFormat,
    Limit,
    Modality,
    SessionConfig,
    SessionKind,
    SessionOffer,
    TurnDetection,
)

MAX_TOOLS = 128
MAX_TOOLS_CHARS = 256_000
"""Limit for all descriptions and schemas together, which are part of each prompt: 2,000 for each of 128 tools."""
MAX_OUTPUT_TOKENS = 32_768
MAX_METADATA = 16
SPEED = (0.25, 1.5)
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
    limit: int = whole(1, MAX_OUTPUT_TOKENS)(value, path)
    return limit


def _modality(value: object, path: str) -> Modality:
    modalities = listing(one_of("audio", "text"), maximum=2)(value, path)
    if modalities == ["text"]:
        return "text"
    if modalities != ["audio"]:
        raise wrong_value(path, "has both or none", '["audio"] (with its transcript) or ["text"]')
    return "audio"


def _format(value: object, path: str) -> AudioFormat:
    fields = checked(value, path, _FORMAT)
    form = AudioFormat(fields["type"])
    if fields.get("rate", form.rate_hz) != form.rate_hz:
        raise wrong_value(f"{path}.rate", f"is {fields['rate']}", f"{form.rate_hz} for {form.value!r}")
    return form


def _voice(value: object, path: str) -> str:
    voice_name: str = checked(value, path, _VOICE)["id"] if isinstance(value, dict) else IDENTIFIER(value, path)
    return voice_name


def _function(value: object, path: str, refusals: Refusals) -> Function:
    fields = accepted(value, path, _TOOL, refusals)
    return Function(fields["name"], fields.get("description", ""), fields.get("parameters", '{"type": "object"}'))


def _tools(value: object, path: str, refusals: Refusals) -> DeclaredTools:
    """Parses the tools; invalid ones are left out."""
    functions: dict[str, Function] = {}
    servers: dict[str, ClientServer] = {}
    for index, entry in enumerate(listing(any_value, maximum=MAX_TOOLS)(value, path)):
        where = f"{path}[{index}]"
        try:
            if isinstance(entry, dict) and entry.get("type") == "mcp":
                add_server(entry, where, servers)
                continue
            function = _function(entry, where, refusals)
            if function.name in functions:
                raise wrong_value(f"{where}.name", "names a function twice", "each name once")
        except FieldError as error:
            refusals.add_error(error)
        else:
            functions[function.name] = function
    chars = sum(len(function.description) + len(function.parameters) for function in functions.values())
    if chars > MAX_TOOLS_CHARS:
        raise wrong_value(
            path, f"have {chars} characters in descriptions and parameters", f"at most {MAX_TOOLS_CHARS} in all"
        )
    return DeclaredTools(tuple(functions.values()), tuple(servers.values()))


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


_COMMON = {
    "instructions": Field(TEXT),
    "max_output_tokens": Field(_limit),
    "output_modalities": Field(_modality),
    "parallel_tool_calls": Field(hint(flag)),  # the model decides
    "reasoning": Field(REASONING),
    "tool_choice": Field(_choice),
    "tools": Field(dropped_value, parts=_tools),
}


_BETA = {
    "client_secret": Field(dropped_value, listed=False),
    "temperature": Field(hint(number(0, 2)), listed=False),  # the language model has its own
}
"""Fields of the beta without a place of their own; the others are those of `beta.present`."""


def _session(kind: SessionKind, spoken: str, offer: SessionOffer) -> dict[str, Field]:
    audio_input = {
        "format": Field(_format),
        "noise_reduction": noise_reduction_field(offer),
        "transcription": transcription_field(kind, spoken, offer.options),
        "turn_detection": Field(any_value, null=True),
    }
    # The server sends these: a client may send back the session object that it got. Only the model may be another.
    shown = {name: Field(dropped_value) for name in ("id", "object", "expires_at", "model")}
    common = {
        "type": Field(one_of("realtime", "transcription")),
        "include": include_field(offer),
        "repartee": in_parts({**_REPARTEE, "wake_word": wake_word_field(offer), **choice_fields(offer)}),
        **shown,
    }
    if kind == "transcription":
        return {**common, "audio": in_parts({"input": in_parts(audio_input)}), **_BETA}
    audio_output = {"format": Field(_format), "speed": Field(number(*SPEED)), "voice": Field(_voice)}
    return {
        **_COMMON,
        **common,
        "audio": in_parts({"input": in_parts(audio_input), "output": in_parts(audio_output)}),
        "prompt": prompt_field(offer),
        "tracing": Field(tracing_check, null=True),
        "truncation": truncation_field(offer),
        **_BETA,
    }


_FLAGS = ("events", "duck", "playout", "listening_sounds", "turn_events", "reloads", "markup")
_SENT = (
    *("version", "resume_token", "resumed", "heard_ms", "language", "languages", "engines", "wake_window_s"),
    "wake_words",
)
_DECLARED = (*_FLAGS, "interrupt_after_ms", "wake_phrase", "wake_word", "room")
_REPARTEE = {
    **{name: Field(flag) for name in _FLAGS},
    "interrupt_after_ms": Field(whole(*INTERRUPT_AFTER_MS), null=True),
    "wake_phrase": WAKE_PHRASE,
    "room": ROOM,
    "conversation": Field(keeping, null=True),
    "home": HOME_FIELD,
    # Fields that the server sends: a client may send back the session object that it got.
    **{name: Field(dropped_value) for name in _SENT},
}
_RESPONSE_OUTPUT = {"format": Field(_format), "voice": Field(_voice)}
_RESPONSE = {
    **_COMMON,
    **_BETA,
    "audio": in_parts({"output": in_parts(_RESPONSE_OUTPUT)}),
    # Essential, because ignoring them would answer something else.
    "conversation": Field(one_of("auto", "none"), essential=True),
    "input": Field(input_of, essential=True),
    "metadata": Field(_metadata),
}


def updated(
    config: SessionConfig,
    value: object,
    spoken: str,
    refusals: Refusals,
    offer: SessionOffer = SessionOffer(),  # noqa: B008 - immutable
    *,
    begun: bool = False,
) -> SessionConfig:
    """Returns the session's settings after an update.

    Invalid fields are added to the refusals and keep their values.

    Args:
        config: The settings before.
        value: The session of the event.
        spoken: The conversation's language.
        refusals: Receives the errors.
        offer: What the server offers.
        begun: The client has sent more than settings, so that the session keeps its type.

    Raises:
        FieldError: The update is not an object.
    """
    if isinstance(value, dict) and value.get("type") in ("realtime", "transcription"):
        wrong_type_change = refuse_type_change(config.kind, value["type"], begun=begun)
        if wrong_type_change is None:
            config = replace(config, kind=value["type"])
        else:
            refusals.add_error(wrong_type_change)
    fields = accepted(present(value), "session", _session(config.kind, spoken, offer), refusals)
    audio = fields.get("audio", {})
    changes = _text_changes(fields) | _input_changes(config, audio.get("input", {}), offer, refusals)
    output = audio.get("output", {})
    if "tools" in fields:
        changes["tools"] = fields["tools"].functions
        changes["mcp_servers"] = allowed_servers(fields["tools"].servers, config, refusals)
    changes |= {name: output[name] for name in ("voice", "speed") if name in output}
    changes |= choice_changes(fields)
    if "format" in output:
        changes["output_format"] = output["format"]
    if "repartee" in fields:
        declared = {name: value for name, value in fields["repartee"].items() if name in _DECLARED}
        changes["extensions"] = replace(config.extensions, **{"events": True, **declared})
        changes["keeping"] = fields["repartee"].get("conversation", config.keeping)
        changes["home"] = fields["repartee"].get("home", config.home)
    after = with_voice(
        replace(config, **changes), config, output.get("voice"), spoken=spoken, offer=offer, refusals=refusals
    )
    wrong = _wrong_choice(after.tool_choice, after.tools, after.mcp_servers, "session.tool_choice")
    if wrong is not None:
        refusals.add_error(wrong)
        before_holds = _wrong_choice(config.tool_choice, after.tools, after.mcp_servers, "") is None
        after = replace(after, tool_choice=config.tool_choice if before_holds else "auto")
    return after


def _text_changes(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the changes that are not about audio."""
    names = ("tool_choice", "max_output_tokens", "tracing", "truncation", "prompt", "instructions")
    changes = {name: fields[name] for name in names if name in fields}
    if "prompt" in fields and "instructions" not in fields:
        changes["instructions"] = fields["prompt"].text
    if "include" in fields:
        changes["logprobs"] = fields["include"]
    if "output_modalities" in fields:
        changes["modality"] = fields["output_modalities"]
    return changes


def _input_changes(
    config: SessionConfig, heard: dict[str, Any], offer: SessionOffer, refusals: Refusals
) -> dict[str, Any]:
    """Returns the changes about the client's audio."""
    changes: dict[str, Any] = {}
    if "format" in heard:
        changes["input_format"] = heard["format"]
    if "noise_reduction" in heard:
        changes["noise_reduction"] = heard["noise_reduction"]
    if "transcription" in heard:
        changes["transcription"] = heard["transcription"] is not None
        names = {"prompt": "transcription_prompt", "keywords": "keywords", "delay": "transcription_delay"}
        given = heard["transcription"] or {}
        changes |= {name: given[sent] for sent, name in names.items() if given.get(sent) is not None}
    if "turn_detection" in heard:
        changes["turn_detection"] = _detection_after(config, heard["turn_detection"], offer, refusals)
    return changes


def _detection_after(
    config: SessionConfig, value: object, offer: SessionOffer, refusals: Refusals
) -> TurnDetection | None:
    if value is None:
        return None
    now, path = config.turn_detection, "session.audio.input.turn_detection"
    try:
        return turn_detection(value, path, now, config.kind, offer, refusals)
    except FieldError as error:
        refusals.add_error(error)
        return now


def response_options(
    config: SessionConfig,
    value: object,
    refusals: Refusals,
    offer: SessionOffer = SessionOffer(),  # noqa: B008 - immutable
) -> ResponseOptions:
    """Parses the options of one response. Invalid options are added to the refusals; the session's settings apply.

    Raises:
        FieldError: The options are not an object, or have invalid input.
    """
    fields = accepted(present(value), "response", {**_RESPONSE, "prompt": prompt_field(offer)}, refusals)
    if "prompt" in fields:
        fields = {"instructions": fields["prompt"].text, **fields}
    output, declared = fields.get("audio", {}).get("output", {}), fields.get("tools")
    options = ResponseOptions(
        instructions=fields.get("instructions"),
        modality=fields.get("output_modalities"),
        max_output_tokens=fields.get("max_output_tokens"),
        tools=None if declared is None else declared.functions,
        tool_choice=fields.get("tool_choice"),
        output_format=output.get("format"),
        metadata=fields.get("metadata"),
        out_of_band=fields.get("conversation") == "none",
        input=fields.get("input"),
        mcp_servers=None if declared is None else allowed_servers(declared.servers, config, refusals, in_response=True),
    )
    tools = config.tools if options.tools is None else options.tools
    servers = config.mcp_servers if options.mcp_servers is None else options.mcp_servers
    if options.out_of_band:
        options, servers = _without_servers(options, config, refusals), ()
    wrong = _wrong_choice(options.tool_choice or config.tool_choice, tools, servers, "response.tool_choice")
    if wrong is None:
        return options
    refusals.add_error(wrong)
    return replace(options, tool_choice="auto" if _wrong_choice(config.tool_choice, tools, servers, "") else None)


def _without_servers(options: ResponseOptions, config: SessionConfig, refusals: Refusals) -> ResponseOptions:
    """Returns the options of a response outside of the conversation, which has no tools of MCP servers."""
    if options.mcp_servers:
        refusals.add_error(
            not_supported("response.tools", "MCP servers are offered only to responses in the conversation")
        )
    inherits = options.tool_choice is None and is_choice(config.tool_choice, config.mcp_servers)
    return replace(options, mcp_servers=None, tool_choice="auto" if inherits else options.tool_choice)


def _wrong_choice(
    choice: str, tools: tuple[Function, ...], servers: tuple[ClientServer, ...], path: str
) -> FieldError | None:
    names = tuple(function.name for function in tools)
    if choice in _CHOICES or choice in names or is_choice(choice, servers):
        return None
    return wrong_value(path, "names a function that is not among the tools", listed(names) or "none")
