"""The first steps over HTTP: what they report and write, and who may not use them."""

import asyncio
import socket
from pathlib import Path

import pytest
from support.pages.page_asker import Asker, served
from support.servers.session_server import ScriptedEngineLoader, session_server, settings_for
from support.services import llm_server

from assistant.first_run.voices import voice_options
from web.page_api.same_machine import why_not_same_machine
from web.page_api.setup import COMMAND

SETUP, TEST, SAVE = "/v1/repartee/setup", "/v1/repartee/setup/test", "/v1/repartee/setup/save"
TOKEN = "a-token-of-enough-characters"
KEY = "sk-verysecret-123"
MODELS = {"object": "list", "data": [{"id": "small", "object": "model"}, {"id": "large", "object": "model"}]}


def test_first_steps_report_who_can_answer_but_no_key(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        answer = await asker.ask("GET", SETUP)
        found = answer.json()
        assert (found["offered"], found["authorized"], found["writable"]) == (True, True, True)
        assert (found["command"], found["restart"], found["default"]) == (COMMAND, False, "skills")
        assert found["file"] == str(asker.file)
        openai = next(one for one in found["answerers"] if one["name"] == "openai")
        assert (openai["variable"], openai["key_is_set"]) == ("OPENAI_API_KEY", True)
        assert KEY not in answer.text
        assert answer.headers["cache-control"] == "no-store"

    served(tmp_path, test, OPENAI_API_KEY=KEY)


def test_answers_are_written_and_need_a_restart(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        body = {
            "language": "de",
            "voice": "espeak-ng",
            "answerer": "openai",
            "model": "m",
            "variable": "OPENAI_API_KEY",
        }
        saved = (await asker.ask("POST", SAVE, body)).json()
        assert saved["changed"] == [
            'assistant.language = "de"',
            'tts.engine = "espeak-ng"',
            "LLM endpoint openai: m at https://api.openai.com/v1",
        ]
        assert (saved["restart"], saved["private"], saved["file"]) == (True, False, str(asker.file))
        assert {one["kind"] for one in saved["missing"]} >= {"whisper"}
        assert "piper" not in {one["kind"] for one in saved["missing"]}  # espeak-ng was chosen
        assert all("repartee models pull" in one["remedy"] and one["purpose"] for one in saved["missing"])
        settings = asker.settings()
        assert settings.assistant.language == "de"
        assert settings.llm.endpoints[0].api_key_env == "OPENAI_API_KEY"
        found = (await asker.ask("GET", SETUP)).json()
        assert (found["restart"], found["default"]) == (True, "keep")
        again = (await asker.ask("POST", SAVE, {"language": "de"})).json()
        assert again["changed"] == []

    served(tmp_path, test)


def test_settings_of_this_run_are_not_written(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        asker.file.parent.mkdir()
        asker.file.write_text('[assistant]\nlanguage = "fr"\n', encoding="utf-8")
        before = asker.file.read_text(encoding="utf-8")
        saved = (await asker.ask("POST", SAVE, {"language": "en", "voice": voice_options("en")[0].name})).json()
        assert (saved["changed"], saved["restart"]) == ([], False)
        assert asker.file.read_text(encoding="utf-8") == before, "this run speaks English by an option"

    served(tmp_path, test)


def test_key_is_stored_privately_and_not_returned(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        saved = await asker.ask("POST", SAVE, {"answerer": "groq", "model": "m", "key": KEY})
        assert saved.json()["private"] is True
        assert asker.file.stat().st_mode & 0o777 == 0o600
        assert asker.settings().llm.endpoints[0].headers.values == {"Authorization": f"Bearer {KEY}"}
        answers = [saved, await asker.ask("GET", SETUP), await asker.ask("GET", "/metrics")]
        assert not [answer for answer in answers if KEY in answer.text]

    served(tmp_path, test)


def test_service_is_asked_with_the_key_and_its_answer_is_cleaned(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        async with llm_server.serving(llm_server.answer("one ", "two")) as server:
            server.models = llm_server.status(200, MODELS)
            body = {"answerer": "url", "url": server.url, "key": KEY}
            listed = (await asker.ask("POST", TEST, body)).json()
            assert (listed["models"], listed["model"], server.posts) == (["small", "large"], "", [])
            asked = (await asker.ask("POST", TEST, {**body, "model": "large"})).json()
            assert (asked["problem"], asked["model"], asked["reachable"]) == ("", "large", True)
            assert asked["first_token_ms"] >= 0
            assert [one.headers["authorization"] for one in server.posts] == [f"Bearer {KEY}"]
        async with llm_server.serving(llm_server.status(401, {"error": {"message": f"bad key: {KEY}"}})) as server:
            refused = await asker.ask("POST", TEST, {**body, "url": server.url, "model": "m"})
            assert refused.json()["problem"]
            assert KEY not in refused.text
        assert not asker.file.exists()

    served(tmp_path, test)


def test_address_where_nothing_listens_is_reported(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
            found = (await asker.ask("POST", TEST, {"answerer": "url", "url": url})).json()
        assert (found["reachable"], found["models"]) == (False, [])
        assert found["problem"] == "nothing answers at this address: start the server, or check the address"

    served(tmp_path, test)


def test_variable_that_is_not_set_is_reported_without_asking(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        body = {"answerer": "url", "url": "http://127.0.0.1:9/v1", "variable": "MY_KEY", "model": "m"}
        answer = (await asker.ask("POST", TEST, body)).json()
        assert answer["problem"].startswith("MY_KEY is not set where the server runs")

    served(tmp_path, test)


WRONG_ANSWERS: list[tuple[object, int, str]] = [
    ({"language": "German!"}, 400, "setup_refused"),
    ({"voice": "../../etc/passwd"}, 400, "setup_refused"),
    ({"answerer": "nobody"}, 400, "setup_refused"),
    ({"answerer": "url", "url": "file:///etc/passwd", "model": "m"}, 400, "setup_refused"),
    ({"answerer": "openai", "variable": "REPARTEE_TOKEN"}, 400, "setup_refused"),
    ({"answerer": "openai", "key": KEY + "\n[server]\nhost='0.0.0.0'"}, 400, "setup_refused"),
    ({"answerer": "openai", "key": "x" * 600}, 400, "invalid_value"),
    ({"server": {"host": "0.0.0.0"}}, 400, "unknown_parameter"),
    (["language"], 400, "invalid_type"),
    ({"language": "x" * 20_000}, 413, "body_too_large"),
]


def test_wrong_answers_change_nothing(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        for body, status, code in WRONG_ANSWERS:
            answer = await asker.ask("POST", SAVE, body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            assert KEY not in answer.text
        assert not asker.file.exists()

    served(tmp_path, test)


def test_key_of_the_environment_goes_to_its_own_service_only(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        for who in ({"answerer": "url", "url": "http://127.0.0.1:9/v1"}, {"answerer": "groq"}):
            for path in (TEST, SAVE):
                body = {**who, "variable": "AWS_SECRET_ACCESS_KEY", "model": "m"}
                answer = await asker.ask("POST", path, body)
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, "setup_refused")
                assert "repartee endpoints add" in answer.json()["error"]["message"]
        assert not asker.file.exists()

    served(tmp_path, test, AWS_SECRET_ACCESS_KEY=KEY)


# ---- refused clients ----

ATTACKS = {
    "form of another page": {"origin": "https://evil.example", "content_type": "text/plain"},
    "script of another page": {"origin": "https://evil.example"},
    "page of another port": {"origin": "http://127.0.0.1:1"},
    "sandboxed page": {"origin": "null"},
    "form without an origin": {"origin": "", "content_type": "application/x-www-form-urlencoded"},
    "same site, not same origin": {"sec_fetch_site": "same-site"},
    "rebound name": {"host": "evil.example"},
    "reverse proxy": {"x_forwarded_for": "203.0.113.7"},
    "reverse proxy that names itself": {"via": "1.1 proxy"},
    "proxy of loopback": {"x_forwarded_for": "127.0.0.1"},
    "tunnel": {"cf_connecting_ip": "203.0.113.7"},
    "standard header": {"forwarded": "for=203.0.113.7"},
}


def test_other_machine_proxy_or_page_may_not_change_or_test(tmp_path: Path) -> None:
    codes = {"not_this_machine", "foreign_origin", "foreign_host", "foreign_address"}

    async def test(asker: Asker) -> None:
        for attack, headers in ATTACKS.items():
            for path in (SAVE, TEST):
                answer = await asker.ask("POST", path, {"language": "de", "answerer": "skills"}, **headers)
                assert answer.status_code == 403, attack
                assert answer.json()["error"]["code"] in codes, attack
        assert not asker.file.exists()

    served(tmp_path, test)


@pytest.mark.parametrize("token", [None, TOKEN], ids=["no token", "token"])
def test_client_behind_a_proxy_gets_the_command_and_no_details(tmp_path: Path, token: str | None) -> None:
    async def test(asker: Asker) -> None:
        headers = {"authorization": f"Bearer {TOKEN}"} if token else {}
        found = (await asker.ask("GET", SETUP, x_forwarded_host="voice.example", **headers)).json()
        assert found == {
            "offered": True,
            "authorized": True,
            "writable": False,
            "why_not": "the request comes through a proxy",
            "why_not_code": "through_a_proxy",
            "command": "repartee init",
            "restart": False,
        }

    served(tmp_path, test, token=token)


def test_client_without_the_token_learns_and_changes_nothing(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        for authorization in ("", "Bearer wrong-token-of-16-characters"):
            found = await asker.ask("GET", SETUP, authorization=authorization)
            assert found.json() == {"offered": True, "authorized": False}
            assert (await asker.ask("POST", SAVE, {"language": "de"}, authorization=authorization)).status_code == 401
        assert (await asker.ask("POST", SAVE, {"language": "de"}, authorization=f"Bearer {TOKEN}")).status_code == 200
        assert asker.settings().assistant.language == "de"

    served(tmp_path, test, token=TOKEN)


def test_other_machine_is_refused_even_with_the_token() -> None:
    headers = [("host", "localhost:8765"), ("content-type", "application/json")]
    assert why_not_same_machine("127.0.0.1", "http", headers, changes=True) == ""
    assert why_not_same_machine("::1", "http", [("host", "[::1]:8765")]) == ""
    for peer in ("192.168.1.7", "10.0.0.1", "testclient", None):
        assert why_not_same_machine(peer, "http", headers) == "the request comes from another machine"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "localhost"), ("host", "localhost")],
        [("host", "localhost.evil.example")],
        [("host", "127.0.0.1.evil.example")],
        [("host", "192.168.1.7:8765")],
        [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.example")],
        [("host", "localhost"), ("origin", "https://localhost")],
        [("host", "localhost"), ("x-forwarded-anything", "")],
    ],
)
def test_requests_of_other_pages_and_hosts_are_recognized(headers: list[tuple[str, str]]) -> None:
    assert why_not_same_machine("127.0.0.1", "http", headers)


def test_second_request_at_the_same_time_is_refused(tmp_path: Path) -> None:
    async def test(asker: Asker) -> None:
        async with llm_server.serving((llm_server.Wait(1.0), llm_server.Close())) as server:
            server.models = llm_server.status(200, MODELS)
            body = {"answerer": "url", "url": server.url, "model": "m"}
            codes = [
                one.status_code for one in await asyncio.gather(*(asker.ask("POST", TEST, body) for _ in range(3)))
            ]
            assert sorted(codes) == [200, 429, 429]

    served(tmp_path, test)


def test_server_without_first_steps_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with session_server(ScriptedEngineLoader(settings_for(tmp_path), {})) as server:
            asker = Asker(server, tmp_path / "none")
            assert (await asker.ask("GET", SETUP)).json() == {"offered": False}
            assert (await asker.ask("POST", SAVE, {})).status_code == 404

    asyncio.run(main())
