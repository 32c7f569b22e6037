"""WebRTC calls to the real server by aiortc, in real time, with scripted engines."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI
from support.protocol.webrtc_caller import WebRtcCaller, has_network, in_call, offered
from support.servers.call_server import LONG, TOKEN, loader, over, run, voice
from support.servers.session_server import SessionServer, connected_client, eventually, session_server

from web.http_api import bodies
from web.limits.session_limits import CloseNotice, busy
from web.webrtc import call as webrtc_call
from web.webrtc import calls as webrtc_calls
from web.webrtc.candidates import with_checked_candidates

SDP = {"Content-Type": "application/sdp"}


pytestmark = [pytest.mark.real_time, pytest.mark.skipif(not has_network(), reason="this machine has no network")]


async def post(server: SessionServer, path: str = "", *, token: str = "", **body: Any) -> tuple[int, Any]:
    """Posts below /v1/realtime/calls. Returns the status and the `error` of the answer."""
    headers = dict(body.pop("headers", {})) | ({"Authorization": f"Bearer {token}"} if token else {})
    async with httpx.AsyncClient(timeout=20) as http:
        answer = await http.post(f"{server.openai}/realtime/calls{path}", headers=headers, **body)
    return answer.status_code, answer.json()["error"] if answer.content else None


def test_spoken_turn_is_answered_and_reported_as_heard(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server, in_call(server.port) as caller:
            caller.microphone.say(voice(600))
            await caller.until("output_audio_buffer.stopped")
            kinds = [event["type"] for event in caller.events]
            assert kinds.index("response.created") < kinds.index("output_audio_buffer.started")
            await eventually(lambda: bool(server.records()))
            (record,) = server.records()
            assert record["outcome"] == "answered"
            assert record["counters"]["silent_clients"] == 0
            stopped = caller.when("input_audio_buffer.speech_stopped")
            assert caller.loud_at_s[0] - stopped < 0.6

    run(main)


def test_interruption_stops_the_sound_and_history_ends_at_what_was_heard(tmp_path: Path) -> None:
    async def main() -> None:
        engines = loader(tmp_path, answers=(LONG, "Fine."))
        async with session_server(engines) as server, in_call(server.port) as caller:
            caller.microphone.say(voice(600))
            await caller.until("output_audio_buffer.started")
            began_s = asyncio.get_running_loop().time()
            await asyncio.sleep(1.5)
            caller.microphone.say(voice(600))
            await caller.until("output_audio_buffer.cleared")
            cleared_s = asyncio.get_running_loop().time()
            await caller.until("output_audio_buffer.started", 2)
            gap = [
                at_s for at_s in caller.loud_at_s if cleared_s + 0.2 < at_s < caller.when("output_audio_buffer.started")
            ]
            assert gap == []  # what the client's own buffer held
            (truncated,) = caller.of("conversation.item.truncated")
            assert truncated["audio_end_ms"] / 1000 == pytest.approx(cleared_s - began_s, abs=0.3)
            words = str(engines.models[0].asked[1][-2].content or "").split()
            assert len(words) == pytest.approx(truncated["audio_end_ms"] / 200, abs=1.5)
            await caller.peer.close()
            await over(server, within_s=2.0)

    run(main)


def test_client_clears_the_output(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path, answers=(LONG,))) as server, in_call(server.port) as caller:
            caller.request_reply("Tell me a story.")
            await caller.until("output_audio_buffer.started")
            caller.send("output_audio_buffer.clear")
            await caller.until("output_audio_buffer.cleared")
            await asyncio.sleep(0.3)
            assert len(caller.of("output_audio_buffer.cleared")) == 1
            assert caller.of("error") == []

    run(main)


def test_text_response_has_no_sound(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server, in_call(server.port) as caller:
            caller.send("session.update", session={"type": "realtime", "output_modalities": ["text"]})
            await caller.until("session.updated")
            caller.request_reply("What time is it?")
            await caller.until("response.done")
            assert caller.of("response.output_text.done")[0]["text"] == "It is ten o'clock."
            assert caller.of("output_audio_buffer.started") == []

    run(main)


def test_hang_up_by_the_server_ends_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server, in_call(server.port) as caller:
            assert caller.location.startswith("/v1/realtime/calls/rtc_")
            call_id = caller.location.rpartition("/")[2]
            assert (await post(server, f"/{call_id}/hangup"))[0] == 200
            await over(server)
            await eventually(lambda: caller.peer.connectionState == "closed")
            status, error = await post(server, f"/{call_id}/hangup")
            assert (status, error["code"]) == (404, "call_not_found")

    run(main)


def test_lost_network_ends_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioice.ice.CONSENT_INTERVAL", 0.2)
    monkeypatch.setattr("aioice.ice.CONSENT_FAILURES", 2)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server, in_call(server.port) as caller:
            await caller.peer.getSenders()[0].transport.transport._connection.close()
            await over(server)

    run(main)


def test_call_that_is_never_connected_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webrtc_call, "CONNECT_TIMEOUT_S", 0.3)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            caller = await offered()
            status, _ = await post_offer(server, caller)
            assert status == 201
            await caller.peer.close()
            await over(server)

    run(main)


async def post_offer(server: SessionServer, caller: WebRtcCaller, token: str = "") -> tuple[int, str]:
    headers = SDP | ({"Authorization": f"Bearer {token}"} if token else {})
    async with httpx.AsyncClient(timeout=20, headers=headers) as http:
        answer = await http.post(f"{server.openai}/realtime/calls", content=caller.peer.localDescription.sdp)
    return answer.status_code, answer.text


def test_full_server_refuses_with_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        engines = loader(tmp_path, "server.max_sessions=1")
        async with session_server(engines) as server, connected_client(server):
            caller = await offered()
            status, answer = await post_offer(server, caller)
            assert (status, json.loads(answer)["error"]["code"]) == (503, "server_full")
            await caller.peer.close()

    run(main)


class HighLoad:
    """Refuses every conversation."""

    def refusal(self, _sessions: int) -> CloseNotice | None:
        return busy("event loop lag p99 is 61 ms, limit 50 ms", 10.0)

    def began(self) -> None:
        raise AssertionError("nothing may begin")

    def ended(self, lasted_s: float) -> None:
        pass


def test_busy_server_names_the_retry_time_in_the_header(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            server.limits._load_limit = HighLoad()
            caller = await offered()
            async with httpx.AsyncClient(timeout=20, headers=SDP) as http:
                answer = await http.post(f"{server.openai}/realtime/calls", content=caller.peer.localDescription.sdp)
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_busy")
            assert answer.headers["Retry-After"] == "10"
            await caller.peer.close()

    run(main)


def test_token_or_client_secret_opens_a_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path), TOKEN) as server:
            for token, code in (("", "token_missing"), ("wrong", "token_wrong"), ("ek_old", "client_secret_invalid")):
                status, error = await post(server, token=token, content="v=0", headers=SDP)
                assert (status, error["code"]) == (401, code)
            async with in_call(server.port, token=TOKEN):
                pass
            async with AsyncOpenAI(base_url=server.openai, api_key=TOKEN) as client:
                session: Any = {"type": "realtime", "instructions": "Be a pirate."}
                secret = await client.realtime.client_secrets.create(session=session)
            async with in_call(server.port, token=secret.value) as caller:
                assert caller.of("session.created")[0]["session"]["instructions"] == "Be a pirate."

    run(main)


def test_form_sets_the_session(tmp_path: Path) -> None:
    async def main() -> None:
        session = {"type": "realtime", "instructions": "Be brief.", "audio": {"output": {"speed": 1.25}}}
        async with session_server(loader(tmp_path)) as server, in_call(server.port, session=session) as caller:
            created = caller.of("session.created")[0]["session"]
            assert (created["instructions"], created["audio"]["output"]["speed"]) == ("Be brief.", 1.25)

    run(main)


def test_wrong_requests_get_errors_that_say_why(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            for body, status, code in (
                ({"json": {}}, 415, "invalid_content_type"),
                ({"content": "", "headers": SDP}, 400, "invalid_offer"),
                ({"content": "v=0\r\n", "headers": SDP}, 400, "invalid_offer"),
                ({"content": b"x" * 3_000_000, "headers": SDP}, 413, "body_too_large"),
                ({"files": {"session": (None, "{}")}}, 400, "missing_required_parameter"),
                ({"files": {"sdp": (None, "v=0"), "model": (None, "x")}}, 400, "unknown_parameter"),
            ):
                found = await post(server, **body)
                assert (found[0], found[1]["code"]) == (status, code)
            for action in ("accept", "reject", "refer"):
                status, error = await post(server, f"/rtc_1/{action}", json={})
                assert (status, error["code"], error["param"]) == (400, "not_supported", "call_id")
            # The text is right and aiortc does not understand it.
            lines = ("v=0", "m=audio 9 x 111", "a=rtpmap:111 opus/48000/2", "a=fingerprint:x", "a=ice-ufrag:a", "")
            wrong = "\r\n".join(lines)
            status, error = await post(server, content=wrong, headers=SDP)
            assert (status, error["code"]) == (400, "invalid_offer")
            caller = await offered()
            sdp = caller.peer.localDescription.sdp
            await caller.peer.close()
            for session, code, param in (
                ("{", "invalid_json", ""),
                ('{"audio": {"output": {"speed": 9}}}', "invalid_value", ".audio.output.speed"),
                ('{"audio": {"output": {"format": {"type": "audio/pcmu"}}}}', "not_supported", ".audio.output.format"),
                ('{"colour": 1}', "unknown_parameter", ".colour"),
            ):
                status, error = await post(server, files={"sdp": (None, sdp), "session": (None, session)})
                assert (status, error["code"], error["param"]) == (400, code, f"session{param}")
            await over(server)

    run(main)


def test_offers_that_arrive_slowly_do_not_block_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webrtc_calls, "MAX_ANSWERING", 1)
    monkeypatch.setattr(bodies, "OFFER_TIMEOUT_S", 1.0)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = f"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 9000\r\n"
            writer.write(f"{head}Content-Type: application/sdp\r\n\r\nv=0".encode())
            await writer.drain()
            await asyncio.sleep(0.2)
            async with in_call(server.port):
                pass
            assert b" 408 " in await reader.readline()
            writer.close()

    run(main)


def test_call_waits_while_webrtc_is_being_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_call = webrtc_calls._make_call

    def loaded_late() -> object:
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.7)
        return make_call()

    monkeypatch.setattr(webrtc_calls, "_make_call", loaded_late)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server, in_call(server.port):
            pass

    run(main)


def test_addresses_of_an_offer_are_filtered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filtered: list[tuple[bool, str]] = []

    def note(sdp: str, *, is_local: bool) -> str:
        filtered.append((is_local, with_checked_candidates(sdp, is_local=is_local)))
        return filtered[-1][1]

    monkeypatch.setattr(webrtc_calls, "with_checked_candidates", note)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            caller = await offered()
            last = "a=end-of-candidates"
            sdp = caller.peer.localDescription.sdp.replace(
                last, f"a=candidate:1 1 udp 1 169.254.169.254 5000 typ host\r\n{last}"
            )
            assert "169.254.169.254" in sdp
            async with httpx.AsyncClient(trust_env=False, timeout=20) as http:
                answer = await http.post(f"{server.openai}/realtime/calls", content=sdp, headers=SDP)
            assert answer.status_code == 201
            ((is_local, checked),) = filtered
            assert is_local
            assert "169.254.169.254" not in checked
            assert "a=candidate:" in checked
            await caller.peer.close()

    run(main)


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webrtc_calls, "_make_call", lambda: None)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            status, error = await post(server, content="v=0", headers=SDP)
            assert (status, error["code"]) == (501, "webrtc_not_installed")
            assert ".[webrtc]" in error["message"]

    run(main)


def test_client_resumes_its_conversation_on_another_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioice.ice.CONSENT_INTERVAL", 0.2)
    monkeypatch.setattr("aioice.ice.CONSENT_FAILURES", 2)

    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            async with in_call(server.port) as caller:
                caller.send("session.update", session={"type": "realtime", "repartee": {}})
                await caller.until("session.updated")
                caller.request_reply("What time is it?")
                await caller.until("output_audio_buffer.stopped")
                token = caller.of("session.created")[0]["session"]["repartee"]["resume_token"]
                await caller.peer.getSenders()[0].transport.transport._connection.close()
                await eventually(lambda: bool(server.connections.waiting))
            async with in_call(server.port, query=f"?resume={token}") as caller:
                assert caller.of("session.created")[0]["session"]["repartee"]["resumed"] is True
                await caller.until("conversation.item.added", 2)
            await over(server)

    run(main)


def test_openai_client_creates_and_hangs_up_a_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server:
            caller = await offered()
            async with AsyncOpenAI(base_url=server.openai, api_key="none") as client:
                answer = await client.realtime.calls.with_raw_response.create(
                    sdp=caller.peer.localDescription.sdp, session={"type": "realtime", "instructions": "Be brief."}
                )
                assert answer.status_code == 201
                await client.realtime.calls.hangup(answer.headers["Location"].rpartition("/")[2])
            await caller.peer.close()
            await over(server)

    run(main)


def test_shutdown_ends_calls(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(loader(tmp_path)) as server, in_call(server.port) as caller:
            server.server.should_exit = True
            await caller.until("error")
            assert caller.of("error")[0]["error"]["code"] == "server_draining"
            await eventually(lambda: caller.peer.connectionState == "closed")

    run(main)
