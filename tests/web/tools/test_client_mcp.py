"""MCP servers that a client names: lists, calls and approval, with scripted servers in virtual time."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from support.conversations.session_harness import CONFIG, SessionHarness
from support.engines.scripted_engines import Answer
from support.protocol.wire_client import Client, Event

from assistant.config.mcp_hosts import McpHosts
from assistant.history.untrusted_results import as_data, client_source
from assistant.tools.client_mcp import ClientServer, McpCallError, McpTool
from llm.chat import FunctionCall
from web.access import rate_limits
from web.access.rate_limits import Rate

pytestmark = pytest.mark.virtual_time

SCHEMA = '{"type":"object"}'
WEATHER = McpTool("weather", "The weather at a place.", SCHEMA, '{"readOnlyHint": true}', read_only=True)
ADD = McpTool("add", "Put something on the list.", SCHEMA)
URL = "https://tools.example.org/mcp"
HOME: Event = {"type": "mcp", "server_label": "home", "server_url": URL, "require_approval": "never"}
ROME = '{"place": "Rome"}'
CALL = FunctionCall("call_1", "home_weather", ROME)
SOURCE = client_source("home")
DONE_CALL = {
    "type": "mcp_call", "server_label": "home", "name": "weather", "arguments": ROME,
    "approval_request_id": None, "output": "sunny", "error": None,
}  # fmt: skip


@dataclass
class ScriptedServers:
    """Implements `ClientServers` without a network."""

    tools: tuple[McpTool, ...] = (WEATHER, ADD)
    list_s: float = 0.1
    call_s: float = 0.2
    list_error: str = ""
    call_error: McpCallError | None = None
    listed: list[ClientServer] = field(default_factory=list)
    called: list[tuple[str, str, str]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    cancelled: int = 0
    closed: bool = False

    async def list_tools(self, server: ClientServer) -> tuple[McpTool, ...]:
        self.listed.append(server)
        await asyncio.sleep(self.list_s)
        if self.list_error:
            raise McpCallError("protocol_error", self.list_error)
        return tuple(tool for tool in self.tools if server.allowed.matches(tool))

    async def call(self, server: ClientServer, tool: str, arguments: str) -> str:
        self.called.append((server.label, tool, arguments))
        try:
            await asyncio.sleep(self.call_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.call_error is not None:
            raise self.call_error
        return "sunny"

    def forget(self, server: ClientServer) -> None:
        self.forgotten.append(server.label)

    async def aclose(self) -> None:
        self.closed = True


@asynccontextmanager
async def naming_servers(
    *answers: Answer | tuple[Answer, ...], servers: ScriptedServers | None = None
) -> AsyncGenerator[tuple[SessionHarness, ScriptedServers]]:
    """Runs a session, while the block runs, whose client may name servers at tools.example.org."""
    config = replace(CONFIG, mcp_hosts=McpHosts.of("tools.example.org"))
    harness = SessionHarness(answers or ("Yes.",), client=Client(config))
    harness.talk.configure(config)
    servers = servers or ScriptedServers()
    harness.talk.mcp.connect = lambda _hosts: servers
    async with harness.running():
        yield harness, servers


async def listed(harness: SessionHarness, *tools: Event, **session: Any) -> None:
    """Names servers and waits until their tools are listed."""
    count = sum(tool["type"] == "mcp" for tool in tools)
    await harness.update(tools=list(tools), output_modalities=["text"], **session)
    await harness.until("mcp_list_tools.completed", len(harness.events("mcp_list_tools.completed")) + count)


async def ask(harness: SessionHarness, text: str = "What is the weather?", **response: Any) -> None:
    await harness.type_text(text)
    await harness.send("response.create", response=response)


async def answered(harness: SessionHarness, *tools: Event) -> None:
    """Names servers, asks, and waits for the answer."""
    await listed(harness, *tools)
    await ask(harness)
    await harness.until("response.done")


def without_id(item: Event) -> Event:
    return {name: value for name, value in item.items() if name != "id"}


# ---- lists ----


async def test_tools_are_listed_and_offered() -> None:
    async with naming_servers() as (harness, servers):
        await answered(harness, {**HOME, "server_description": "The house"})
    at = harness.kinds.index("session.updated")
    assert harness.kinds[at : at + 5] == [
        "session.updated", "conversation.item.added", "mcp_list_tools.in_progress", "conversation.item.done",
        "mcp_list_tools.completed",
    ]  # fmt: skip
    (added,), (done,) = harness.events("conversation.item.added")[:1], harness.events("conversation.item.done")[:1]
    assert added["item"]["tools"] == []
    assert without_id(done["item"]) == {
        "type": "mcp_list_tools",
        "server_label": "home",
        "tools": [
            {
                "name": "weather",
                "description": "The weather at a place.",
                "input_schema": {"type": "object"},
                "annotations": {"readOnlyHint": True},
            },
            {"name": "add", "description": "Put something on the list.", "input_schema": {"type": "object"}},
        ],
    }
    offered = harness.model.options[0].functions
    assert [function.name for function in offered] == ["home_add", "home_weather"]
    assert offered[1].description == "The house: The weather at a place."
    assert harness.session.history.messages()[1].role == "user", "the model sees no list"
    assert servers.closed


async def test_session_object_has_server_without_secrets() -> None:
    async with naming_servers() as (harness, servers):
        await listed(harness, {**HOME, "authorization": "secret", "headers": {"X-Key": "secret too"},
                               "allowed_tools": ["weather"]})  # fmt: skip
        assert servers.listed[0].headers == (("Authorization", "Bearer secret"), ("X-Key", "secret too"))
        assert "secret" not in repr(servers.listed[0])
    (updated,) = harness.events("session.updated")
    assert updated["session"]["tools"] == [{**HOME, "allowed_tools": ["weather"]}]
    assert "secret" not in json.dumps([event for _, event in harness.log])


@pytest.mark.parametrize(
    ("allowed", "names"),
    [
        (["weather"], ["home_weather"]),
        ({"tool_names": ["add", "other"]}, ["home_add"]),
        ({"read_only": True}, ["home_weather"]),
        ({"read_only": False, "tool_names": ["weather"]}, []),
        (None, ["home_add", "home_weather"]),
    ],
)
async def test_only_allowed_tools_are_offered(allowed: object, names: list[str]) -> None:
    async with naming_servers() as (harness, _):
        await answered(harness, {**HOME, "allowed_tools": allowed})
    assert [function.name for function in harness.model.options[0].functions] == names


async def test_failed_list_is_reported_and_tried_again_when_named_again() -> None:
    servers = ScriptedServers(list_error="no connection")
    async with naming_servers(servers=servers) as (harness, servers):
        await harness.update(tools=[HOME])
        await harness.until("error")
        servers.list_error = ""
        await listed(harness, HOME)
    assert len(harness.events("mcp_list_tools.failed")) == 1
    (error,) = harness.events("error")
    assert error["error"]["code"] == "mcp_list_tools_failed"
    assert error["error"]["message"] == "The tools of the MCP server 'home' cannot be listed: no connection"


async def test_list_that_ends_after_a_reconnection_is_reported() -> None:
    async with naming_servers() as (harness, _):
        await harness.update(tools=[HOME])
        await harness.until("mcp_list_tools.in_progress")
        harness.talk.on_disconnect()
        harness.client.comes_back()
        harness.talk.resume(None, None, None)
        harness.talk.changed = harness._fetch
        await harness.until("mcp_list_tools.completed")
    assert len(harness.events("conversation.item.done")) == 1


async def test_same_servers_are_not_listed_again_and_others_are_left() -> None:
    async with naming_servers() as (harness, servers):
        await listed(harness, HOME)
        await harness.update(tools=[{**HOME, "require_approval": "always"}])
        assert len(servers.listed) == 1
        await harness.update(tools=[])
        assert servers.forgotten == ["home"]
        await ask(harness)
        await harness.until("response.done")
    assert harness.model.options[0].functions == ()


async def test_servers_whose_headers_keep_changing_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(rate_limits.RATES, "mcp_servers", Rate(3, 0.1))
    async with naming_servers() as (harness, servers):
        for number in range(20):
            await harness.update(tools=[{**HOME, "headers": {"X-Number": str(number)}}])
        await harness.until("mcp_list_tools.failed", 17)
        assert len(servers.listed) == 3
        await asyncio.sleep(20)
        await listed(harness, {**HOME, "headers": {"X-Number": "20"}})
    assert "too many new MCP servers" in harness.events("error")[0]["error"]["message"]


async def test_servers_of_all_conversations_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rate_limits.RATES, "mcp_servers_of_all", Rate(1, 0.001))
    async with naming_servers() as (harness, servers):
        assert harness.talk.mcp.rates.allows("mcp_servers_of_all", "")  # another conversation
        await harness.update(tools=[HOME])
        await harness.until("mcp_list_tools.failed")
        assert servers.listed == []


# ---- calls ----


async def test_call_is_an_item_of_the_response_and_the_model_goes_on() -> None:
    async with naming_servers((CALL,), "It is sunny.") as (harness, servers):
        await answered(harness, HOME)
        await harness.send("conversation.item.retrieve", item_id=harness.done[0]["output"][0]["id"])
    assert servers.called == [("home", "weather", ROME)]
    at = harness.kinds.index("response.created")
    assert harness.kinds[at:-1] == [
        "response.created",
        "response.output_item.added", "conversation.item.added",
        "response.mcp_call_arguments.delta", "response.mcp_call_arguments.done", "response.mcp_call.in_progress",
        "response.mcp_call.completed", "response.output_item.done", "conversation.item.done",
        "response.output_item.added", "conversation.item.added", "response.content_part.added",
        "response.output_text.delta", "response.output_text.done", "response.content_part.done",
        "response.output_item.done", "conversation.item.done", "response.done",
    ]  # fmt: skip
    call, message = harness.done[0]["output"]
    assert without_id(call) == DONE_CALL
    assert message["content"][0]["text"] == "It is sunny."
    assert harness.events("conversation.item.retrieved")[0]["item"] == call
    asked = harness.model.asked[1]
    assert [(one.role, one.content) for one in asked[-2:]] == [("assistant", ""), ("tool", as_data(SOURCE, "sunny"))]
    assert asked[-2].calls[0].name == "home_weather"


async def test_words_before_a_call_and_after_it_are_one_message() -> None:
    async with naming_servers(("Let me look. ", CALL), "It is sunny.") as (harness, _):
        await answered(harness, HOME)
    message, call = harness.done[0]["output"]
    assert message["content"][0]["text"].split() == "Let me look. It is sunny.".split()
    assert without_id(call) == DONE_CALL


async def test_failed_call_has_its_error_and_the_model_is_told() -> None:
    servers = ScriptedServers(call_error=McpCallError("http_error", "the server answers with status 500", 500))
    async with naming_servers((CALL,), "It did not work.", servers=servers) as (harness, _):
        await answered(harness, HOME)
    assert len(harness.events("response.mcp_call.failed")) == 1
    call, _ = harness.done[0]["output"]
    assert call["error"] == {"type": "http_error", "code": 500, "message": "the server answers with status 500"}
    assert call["output"] is None
    assert harness.model.asked[1][-1].content == as_data(SOURCE, "error: the server answers with status 500")


async def test_slow_call_ends_at_its_time_limit() -> None:
    async with naming_servers((CALL,), "It took too long.", servers=ScriptedServers(call_s=60)) as (harness, servers):
        await answered(harness, HOME)
    assert servers.cancelled == 1
    assert harness.done[0]["output"][0]["error"]["message"] == "no answer within 8 s"
    assert harness.done[0]["status"] == "completed"


async def test_cancelled_response_closes_its_call() -> None:
    async with naming_servers((CALL,), servers=ScriptedServers(call_s=60)) as (harness, servers):
        await listed(harness, HOME)
        await ask(harness)
        await harness.until("response.mcp_call.in_progress")
        await harness.send("response.cancel")
        await harness.until("response.done")
        await asyncio.sleep(1)
    assert servers.cancelled == 1
    assert len(harness.events("response.mcp_call.failed")) == 1
    assert harness.done[0]["status"] == "cancelled"
    assert harness.done[0]["output"][0]["error"]["message"] == "the call was cancelled"


async def test_deleted_call_is_not_in_the_prompt() -> None:
    async with naming_servers((CALL,), "It is sunny.") as (harness, _):
        await answered(harness, HOME)
        await harness.send("conversation.item.delete", item_id=harness.done[0]["output"][0]["id"])
    assert [one.role for one in harness.session.history.messages()] == ["system", "user", "assistant"]


# ---- approval ----


async def requested(harness: SessionHarness, approval: object = "always") -> Event:
    """Has the model call a tool that needs approval; returns the request."""
    await answered(harness, {**HOME, "require_approval": approval})
    (request,) = harness.done[0]["output"]
    assert isinstance(request, dict)
    return request


async def answer(harness: SessionHarness, request: str, *, approve: bool, **more: object) -> None:
    item = {"type": "mcp_approval_response", "approval_request_id": request, "approve": approve, **more}
    await harness.send("conversation.item.create", previous_item_id=request, item=item)


async def test_approved_call_is_made_and_the_assistant_goes_on_by_itself() -> None:
    async with naming_servers((CALL,), "It is sunny.") as (harness, servers):
        request = await requested(harness)
        assert without_id(request) == {
            "type": "mcp_approval_request", "server_label": "home", "name": "weather", "arguments": ROME
        }  # fmt: skip
        assert servers.called == []
        await answer(harness, request["id"], approve=True)
        await harness.until("response.done", 2)
    assert servers.called == [("home", "weather", ROME)]
    kinds = harness.kinds[harness.kinds.index("response.done") + 1 :]
    assert kinds[:7] == [
        "conversation.item.added", "conversation.item.done",  # the client's answer
        "conversation.item.added", "response.mcp_call.in_progress", "response.mcp_call.completed",
        "conversation.item.done", "response.created",
    ]  # fmt: skip
    call = harness.events("conversation.item.done")[-2]["item"]
    request_id = harness.done[0]["output"][0]["id"]
    assert without_id(call) == {**DONE_CALL, "approval_request_id": request_id}
    assert harness.model.asked[1][-1].content == as_data(SOURCE, "sunny")
    assert harness.model.asked[1][-2].calls[0].name == "home_weather"
    assert not harness.errors


async def test_refused_call_is_not_made_and_the_model_is_told() -> None:
    async with naming_servers((CALL,), "Then I will not look.") as (harness, servers):
        request = await requested(harness)
        await answer(harness, request["id"], approve=False, reason="not today")
        await harness.until("response.done", 2)
        await answer(harness, request["id"], approve=True)
    assert servers.called == []
    assert harness.model.asked[1][-1].content == "error: not done: this call was not approved: not today"
    assert harness.errors == ["invalid_approval_request_id"], "a request is answered once"


@pytest.mark.parametrize(
    ("approval", "needed"),
    [
        ("never", False),
        ({"never": {"read_only": True}}, False),
        ({"never": {"tool_names": ["add"]}}, True),
        ({"always": {"tool_names": ["weather"]}, "never": {"read_only": True}}, True),
        ({"always": {"tool_names": ["add"]}}, True),
        (None, True),
    ],
)
async def test_approval_is_needed_unless_a_filter_says_never(approval: object, needed: bool) -> None:
    async with naming_servers((CALL,), "It is sunny.") as (harness, servers):
        await answered(harness, {**HOME, "require_approval": approval})
    assert bool(servers.called) != needed
    assert harness.done[0]["output"][0]["type"] == ("mcp_approval_request" if needed else "mcp_call")


async def test_two_calls_of_a_response_are_answered_before_the_assistant_goes_on() -> None:
    async with naming_servers((CALL, FunctionCall("call_2", "home_add", "{}")), "Done.") as (harness, servers):
        await answered(harness, {**HOME, "require_approval": "always"})
        first, second = harness.done[0]["output"]
        await answer(harness, first["id"], approve=True)
        await asyncio.sleep(2)
        assert len(harness.done) == 1
        await answer(harness, second["id"], approve=True)
        await harness.until("response.done", 2)
    assert [tool for _, tool, _ in servers.called] == ["weather", "add"]
    assert [one.role for one in harness.model.asked[1]][-4:] == ["assistant", "tool", "assistant", "tool"]


async def test_approved_call_of_a_server_that_was_left_fails() -> None:
    async with naming_servers((CALL,), "It is gone.") as (harness, servers):
        request = await requested(harness)
        await harness.update(tools=[])
        await answer(harness, request["id"], approve=True)
        await harness.until("response.done", 2)
    assert servers.called == []
    assert len(harness.events("response.mcp_call.failed")) == 1


# ---- one response, and old items ----


async def test_response_has_servers_of_its_own() -> None:
    async with naming_servers((CALL,), "It is sunny.") as (harness, _):
        await harness.update(output_modalities=["text"])
        await ask(harness, tools=[HOME])
        await harness.send("response.create")  # refused, because the first one waits for its tools
        await harness.until("response.done")
        await ask(harness, "And now?")
        await harness.until("response.done", 2)
    assert harness.errors == ["conversation_already_has_active_response"]
    assert harness.done[0]["output"][0]["output"] == "sunny"
    assert harness.model.options[-1].functions == (), "the session has no servers"


async def test_response_names_a_server_of_the_session_by_its_label() -> None:
    async with naming_servers() as (harness, servers):
        await listed(harness, HOME, {**HOME, "server_label": "other"})
        await ask(harness, tools=[{"type": "mcp", "server_label": "home"}])
        await harness.until("response.done")
        assert len(servers.listed) == 2
    assert [function.name for function in harness.model.options[0].functions] == ["home_add", "home_weather"]


async def test_response_after_a_cancelled_one_that_waited_for_the_same_tools_is_made() -> None:
    async with naming_servers() as (harness, _):
        await ask(harness, tools=[HOME], instructions="One.")
        await harness.send("response.cancel")
        await harness.send("response.create", response={"tools": [HOME], "instructions": "Two."})
        await harness.until("response.done")
    assert [messages[0].content for messages in harness.model.asked] == ["Two."]


async def test_response_is_made_although_the_list_fails_for_an_unknown_reason() -> None:
    class Broken(ScriptedServers):
        async def list_tools(self, server: ClientServer) -> tuple[McpTool, ...]:
            raise ImportError

    async with naming_servers(servers=Broken()) as (harness, _):
        await ask(harness, tools=[HOME])
        await harness.until("response.done")
    assert harness.done[0]["status"] == "completed"
    assert len(harness.events("mcp_list_tools.failed")) == 1


async def test_response_that_waits_for_tools_can_be_cancelled() -> None:
    async with naming_servers() as (harness, _):
        await ask(harness, tools=[HOME])
        await harness.send("response.cancel")
        await harness.until("mcp_list_tools.completed")
        await asyncio.sleep(1)
    assert harness.done == []
    assert not harness.errors


async def test_tool_choice_names_a_tool_of_a_server() -> None:
    choice = {"type": "mcp", "server_label": "home", "name": "weather"}
    async with naming_servers() as (harness, _):
        await harness.update(tools=[HOME], tool_choice=choice, output_modalities=["text"])
        await ask(harness, tool_choice=choice)  # not listed yet
        await harness.until("response.done")
        await harness.until("mcp_list_tools.completed")
        await ask(harness)
        await harness.until("response.done", 2)
    assert harness.events("session.updated")[0]["session"]["tool_choice"] == choice
    assert [options.choice for options in harness.model.options] == ["auto", "home_weather"]
    assert [error["error"]["param"] for error in harness.events("error")] == ["response.tool_choice"]


async def test_old_items_are_accepted_and_nothing_is_called() -> None:
    called = {"server_label": "home", "name": "weather", "arguments": ROME}
    tools = [{"name": "weather", "input_schema": {"type": "object"}}]
    async with naming_servers() as (harness, servers):
        await listed(harness, HOME)
        for item in (
            {"id": "a", "type": "mcp_list_tools", "server_label": "home", "tools": tools},
            {"id": "b", "type": "mcp_approval_request", **called},
            {"id": "c", "type": "mcp_approval_response", "approval_request_id": "b", "approve": True},
            {"id": "d", "type": "mcp_call", **called, "approval_request_id": "b", "output": "rain"},
            {"type": "mcp_call", **called, "error": {"type": "tool_execution_error", "message": "no such place"}},
        ):
            await harness.send("conversation.item.create", item=item)
        assert servers.called == []
    assert not harness.errors
    assert not harness.done
    messages = harness.session.history.messages()
    assert [(one.role, one.content) for one in messages[1:]] == [
        ("assistant", ""), ("tool", as_data(SOURCE, "rain")),
        ("assistant", ""), ("tool", as_data(SOURCE, "error: no such place")),
    ]  # fmt: skip
    items = [event["item"] for event in harness.events("conversation.item.done")]
    assert items[-5]["tools"] == tools
    assert items[-2]["output"] == "rain"


# ---- what is refused ----


@pytest.mark.parametrize(
    ("server", "code", "param"),
    [
        ({"server_url": "https://other.example.org/mcp"}, "not_supported", "server_url"),
        ({"server_url": "https://tools.example.org:8443/mcp"}, "not_supported", "server_url"),
        ({"server_url": "ftp://tools.example.org/mcp"}, "not_supported", "server_url"),
        ({"server_url": "https://me:pw@tools.example.org/mcp"}, "not_supported", "server_url"),
        ({"server_url": None}, "missing_required_parameter", "server_url"),
        ({"server_label": "no label!"}, "invalid_value", "server_label"),
        ({"connector_id": "connector_gmail"}, "not_supported", "connector_id"),
        ({"tunnel_id": "t"}, "not_supported", "tunnel_id"),
        ({"defer_loading": "yes"}, "invalid_type", "defer_loading"),
        ({"headers": {"Host": "internal"}}, "invalid_value", "headers"),
        ({"headers": {"mcp-session-id": "1"}}, "invalid_value", "headers"),
        ({"headers": {"X-Key": "a\r\nHost: internal"}}, "invalid_value", "headers.X-Key"),
        ({"headers": {"X-Key": 5}}, "invalid_type", "headers.X-Key"),
        ({"headers": {"Authorization": "x"}, "authorization": "y"}, "invalid_value", "authorization"),
        ({"require_approval": "sometimes"}, "invalid_value", "require_approval"),
        ({"require_approval": {"never": {}}}, "invalid_value", "require_approval.never"),
        ({"allowed_tools": 5}, "invalid_type", "allowed_tools"),
        ({"extra": 5}, "unknown_parameter", "extra"),
    ],
)
async def test_wrong_server_is_refused_by_its_field(server: Event, code: str, param: str) -> None:
    async with naming_servers() as (harness, servers):
        await harness.update(tools=[{**HOME, **server}], instructions="Hello.")
        await asyncio.sleep(1)
        assert servers.listed == []
    (error,) = harness.events("error")
    assert (error["error"]["code"], error["error"]["param"]) == (code, f"session.tools[0].{param}")
    session = harness.events("session.updated")[0]["session"]
    assert session["tools"] == []
    assert session["instructions"] == "Hello."


async def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.wire.incoming.mcp_fields.mcp_available", lambda: False)
    async with naming_servers() as (harness, _):
        await harness.update(tools=[HOME])
    (error,) = harness.events("error")
    assert error["error"]["code"] == "not_supported"
    assert "extra `mcp`" in error["error"]["message"]


async def test_more_than_eight_servers_are_refused_singly() -> None:
    async with naming_servers() as (harness, servers):
        await harness.update(tools=[{**HOME, "server_label": f"home{number}"} for number in range(10)])
        await harness.until("mcp_list_tools.completed", 8)
    assert [error["error"]["param"] for error in harness.events("error")] == ["session.tools[8]", "session.tools[9]"]
    assert len(servers.listed) == 8


async def test_response_outside_of_the_conversation_has_no_tools_of_servers() -> None:
    async with naming_servers("Yes.", "No.") as (harness, servers):
        await listed(harness, HOME, tool_choice={"type": "mcp", "server_label": "home", "name": "weather"})
        await ask(harness, conversation="none", tools=[{"type": "mcp", "server_label": "home"}])
        await ask(harness, conversation="none")
        await harness.until("response.done", 2)
    assert [event["error"]["param"] for event in harness.events("error")] == ["response.tools"]
    assert [options.functions for options in harness.model.options] == [(), ()]
    assert [options.choice for options in harness.model.options] == ["auto", "auto"]
    assert servers.called == []
