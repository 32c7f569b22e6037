"""The openai SDK names an MCP server: a real one over HTTP, the real server, and a language model that calls."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from support.servers.session_server import real_engines, session_server
from support.services.llm_server import answer, calling, serving

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[2] / "support" / "mcp" / "mcp_program.py"


def test_sdk_client_approves_a_call(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    async def talk(base_url: str) -> list[Any]:
        tool: Any = {"type": "mcp", "server_label": "home", "server_url": f"http://127.0.0.1:{port}/mcp"}
        session: Any = {"type": "realtime", "output_modalities": ["text"], "tools": [tool]}
        events = []
        async with AsyncOpenAI(base_url=base_url, api_key="none").realtime.connect(model="repartee") as connection:
            await connection.session.update(session=session)
            async for received in connection:
                events.append(received)
                if received.type == "mcp_list_tools.failed":  # the program is not up yet
                    await asyncio.sleep(0.3)
                    await connection.session.update(session=session)
                elif received.type == "mcp_list_tools.completed":
                    text: Any = [{"type": "input_text", "text": "What is the weather in Rome?"}]
                    await connection.conversation.item.create(item={"type": "message", "role": "user", "content": text})
                    await connection.response.create()
                elif received.type == "conversation.item.done" and received.item.type == "mcp_approval_request":
                    response: Any = {
                        "type": "mcp_approval_response", "approval_request_id": received.item.id, "approve": True
                    }  # fmt: skip
                    await connection.conversation.item.create(item=response)
                elif received.type == "response.done" and [one.type for one in received.response.output or []] == [
                    "message"
                ]:
                    break
        return events

    async def test() -> None:
        hosts = f"tools.client_mcp_hosts=127.0.0.1:{port}"
        async with (
            serving(calling("home_weather", '{"place": "Rome"}'), answer("It is sunny in Rome.")) as llm,
            session_server(real_engines(tmp_path, llm.url, hosts, "skills.before_llm=false")) as server,
        ):
            events = await asyncio.wait_for(talk(server.openai), 40)
        (call,) = [one.item for one in events if one.type == "conversation.item.done" and one.item.type == "mcp_call"]
        assert call.output == "In Rome it is sunny."
        assert events[-1].response.output[0].content[0].text == "It is sunny in Rome."

    with subprocess.Popen([sys.executable, str(PROGRAM), str(port)], **silent) as program:
        try:
            asyncio.run(test())
        finally:
            program.kill()
