"""The model on this machine: llama.cpp's server as a child process, with a model whose answers are known."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from support.models.synthetic_gguf import ANSWER, write_gguf

from llm.chat import ChatEvent, ChatOptions, Finished, Message, Token
from llm.errors import LlmBroken, LlmUnreachable
from llm.local import chat as local_chat
from llm.local import process
from llm.local.chat import LocalChat
from llm.local.gguf_header import GgufError, read_header
from llm.local.process import LocalServerError, ServerAddress, ServerSettings, check
from llm.openai.chat import OpenAIChat

slow = pytest.mark.slow

QUESTION = (Message("system", "Answer. "), Message("user", "what time is it?"))
STORY = (Message("system", "Answer. "), Message("user", "tell me a story"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_gguf(path)
    return path


class Starts:
    """The addresses of the started servers."""

    def __init__(self) -> None:
        self.addresses: list[ServerAddress] = []

    def client_of(self, address: ServerAddress) -> OpenAIChat:
        self.addresses.append(address)
        return OpenAIChat("near", address.url, "local", max_tokens=40, temperature=0.0, api_key=address.key)


@asynccontextmanager
async def chatting(model: Path, starts: Starts | None = None) -> AsyncGenerator[LocalChat]:
    starts = starts or Starts()
    chat = LocalChat("near", "tiny", ServerSettings(model, 32_768), starts.client_of, instructions="Answer. ")
    try:
        await chat.load()
        yield chat
    finally:
        await chat.aclose()


async def ask(chat: LocalChat, messages: tuple[Message, ...], options: ChatOptions | None = None) -> list[ChatEvent]:
    async with aclosing(chat.stream(messages, options or ChatOptions())) as events:
        return [event async for event in events]


def text_of(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


def runs(pid: int) -> bool:
    """Returns whether a process runs; an ended one that was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def until(true: Callable[[], bool], timeout_s: float = 20.0) -> None:
    async with asyncio.timeout(timeout_s):
        for _ in count():
            if true():
                return
            await asyncio.sleep(0.02)


def slot_is_busy(address: ServerAddress) -> bool:
    headers = {"authorization": f"Bearer {address.key}"}
    (slot,) = httpx.get(f"{address.url.removesuffix('/v1')}/slots", headers=headers, timeout=5).json()
    busy: bool = slot["is_processing"]
    return busy


# Answers.


@slow
def test_answer_is_streamed(model: Path) -> None:
    async def main() -> None:
        async with chatting(model) as chat:
            events = await ask(chat, QUESTION)
            assert text_of(events) == ANSWER
            assert len([event for event in events if isinstance(event, Token)]) > 3
            finished = events[-1]
            assert isinstance(finished, Finished)
            assert finished.reason == "stop"

    asyncio.run(main())


@slow
def test_instructions_are_cached_before_first_question(model: Path) -> None:
    async def main() -> None:
        async with chatting(model) as chat:
            finished = (await ask(chat, QUESTION))[-1]
            assert isinstance(finished, Finished)
            assert finished.cached_tokens is not None
            assert finished.cached_tokens >= len("Answer. ")

    asyncio.run(main())


@slow
def test_prefilled_turns_are_cached_and_question_stops_prefill(model: Path) -> None:
    async def main() -> None:
        async with chatting(model) as chat:
            earlier = (Message("system", "Answer. "), Message("user", "who? "), Message("assistant", "nobody. "))
            await chat.prefill(earlier)
            finished = (await ask(chat, (*earlier, Message("user", "what time is it?"))))[-1]
            assert isinstance(finished, Finished)
            assert finished.cached_tokens is not None
            assert finished.cached_tokens >= len("Answer. who? nobody. ")
            long = asyncio.get_running_loop().create_task(chat.prefill((Message("user", "a " * 12_000),)))
            await asyncio.sleep(0.02)
            assert text_of(await ask(chat, QUESTION)) == ANSWER
            await long  # it ends without an error

    asyncio.run(main())


@slow
def test_cancelled_answer_frees_slot(model: Path) -> None:
    async def main() -> None:
        starts = Starts()
        async with chatting(model, starts) as chat:
            async with aclosing(chat.stream(STORY, ChatOptions(max_tokens=30_000))) as events:
                async for event in events:
                    if isinstance(event, Token):
                        break
                assert await asyncio.to_thread(slot_is_busy, starts.addresses[0])
            async with asyncio.timeout(10):
                for _ in count():
                    if not await asyncio.to_thread(slot_is_busy, starts.addresses[0]):
                        break
                    await asyncio.sleep(0.01)
                assert text_of(await ask(chat, QUESTION)) == ANSWER

    asyncio.run(main())


# The process.


def check_privacy(address: ServerAddress, pid: int | None) -> None:
    """Checks that the server listens on loopback only, and that no other user can see its key."""
    listening = Path("/proc/net/tcp").read_text(encoding="ascii")
    port = f"{int(address.url.split(':')[2].removesuffix('/v1')):04X}"
    assert f"0100007F:{port}" in listening
    assert f"00000000:{port}" not in listening
    for file in ("cmdline", "environ"):
        assert address.key.encode() not in Path(f"/proc/{pid}/{file}").read_bytes()


@slow
def test_server_listens_on_loopback_and_needs_private_key(model: Path) -> None:
    async def main() -> None:
        starts = Starts()
        async with chatting(model, starts) as chat:
            (address,) = starts.addresses
            assert address.url.startswith("http://127.0.0.1:")
            async with httpx.AsyncClient() as client:
                body = {"messages": [{"role": "user", "content": "hello?"}], "max_tokens": 1}
                for headers in ({}, {"authorization": "Bearer wrong"}):
                    answer = await client.post(f"{address.url}/chat/completions", json=body, headers=headers)
                    assert answer.status_code == 401
            await asyncio.to_thread(check_privacy, address, chat.pid)

    asyncio.run(main())


@slow
def test_each_start_has_its_own_key_and_port(model: Path) -> None:
    async def main() -> None:
        one, other = Starts(), Starts()
        async with chatting(model, one), chatting(model, other):
            assert one.addresses[0].key != other.addresses[0].key
            assert one.addresses[0].url != other.addresses[0].url

    asyncio.run(main())


@slow
def test_stop_leaves_no_process(model: Path) -> None:
    async def main() -> int:
        async with chatting(model) as chat:
            pid = chat.pid
            assert pid is not None
            assert runs(pid)
        assert chat.pid is None
        await chat.aclose()  # idempotent
        return pid

    assert not runs(asyncio.run(main()))


@slow
def test_stop_during_answer_leaves_no_process(model: Path) -> None:
    async def main() -> int:
        async with chatting(model) as chat:
            pid = chat.pid
            assert pid is not None
            async with aclosing(chat.stream(STORY, ChatOptions(max_tokens=30_000))) as events:
                async for event in events:
                    if isinstance(event, Token):
                        break
                await chat.aclose()
        return pid

    assert not runs(asyncio.run(main()))


@slow
def test_crashed_server_is_restarted_and_reported_once(
    model: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "FIRST_BACKOFF_S", 0.05)

    async def main() -> None:
        starts = Starts()
        async with chatting(model, starts) as chat:
            for crashes in (1, 2):
                pid = chat.pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                await until(lambda pid=pid: chat.pid not in {None, pid})  # type: ignore[misc]
                await until(lambda crashes=crashes: len(starts.addresses) == crashes + 1)  # type: ignore[misc]
                assert text_of(await ask(chat, QUESTION)) == ANSWER
        assert len({address.key for address in starts.addresses}) == 3

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert len([record for record in caplog.records if "is restarted" in record.getMessage()]) == 1


async def ask_and_kill(chat: LocalChat) -> None:
    async with aclosing(chat.stream(STORY, ChatOptions(max_tokens=30_000))) as events:
        async for event in events:
            if isinstance(event, Token) and chat.pid is not None:
                with suppress(ProcessLookupError):  # killed at an earlier token
                    os.kill(chat.pid, signal.SIGKILL)


@slow
def test_crash_refuses_questions_until_restart(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_chat, "until_repetition", lambda answer: answer)  # the story has no end

    async def main() -> None:
        async with chatting(model) as chat:
            assert chat.pid is not None
            with pytest.raises(LlmBroken):
                await ask_and_kill(chat)
            await until(lambda: chat.pid is None)
            with pytest.raises(LlmUnreachable, match="wait for its restart") as caught:
                await ask(chat, QUESTION)
            assert caught.value.retryable

    asyncio.run(main())


@slow
def test_hanging_server_is_replaced(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FIRST_BACKOFF_S", 0.05), ("HEALTH_INTERVAL_S", 0.05), ("HEALTH_TIMEOUT_S", 0.2)):
        monkeypatch.setattr(process, name, value)
    monkeypatch.setattr(process, "STOP_TIMEOUT_S", 0.3)

    async def main() -> None:
        async with chatting(model) as chat:
            pid = chat.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            await until(lambda: chat.pid not in {None, pid})
            assert not runs(pid)

    asyncio.run(main())


@slow
def test_cancelled_stop_leaves_no_process_that_hangs(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STOP_TIMEOUT_S", 30.0)

    async def main() -> None:
        server = process.ServerProcess("near", ServerSettings(model, 4096), lambda _address: None)
        await server.start()
        pid = server.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        stopping = asyncio.get_running_loop().create_task(server._stop())
        await asyncio.sleep(0.05)
        stopping.cancel()
        await until(lambda: not runs(pid))
        await server.aclose()

    asyncio.run(main())


@pytest.mark.timeout(20)
def test_long_line_on_standard_error_does_not_end_reading(model: Path) -> None:
    async def main() -> list[str]:
        server = process.ServerProcess("near", settings_of(model), lambda _address: None)
        errors = asyncio.StreamReader(limit=100)
        reading = asyncio.get_running_loop().create_task(server._read_errors(SimpleNamespace(stderr=errors)))  # type: ignore[arg-type]
        errors.feed_data(b"x" * 1000 + b"\n")
        await asyncio.sleep(0)
        errors.feed_data(b"0.1 E no memory\n")
        errors.feed_eof()
        await reading
        return list(server._last_lines)

    assert asyncio.run(main()) == ["0.1 E no memory"]


PARENT = """
import asyncio, sys
from pathlib import Path
from llm.local.chat import LocalChat
from llm.local.process import ServerSettings
from llm.openai.chat import OpenAIChat

async def main():
    settings = ServerSettings(Path(sys.argv[1]), 4096)
    chat = LocalChat("near", "tiny", settings, lambda at: OpenAIChat("near", at.url, "local", api_key=at.key))
    if sys.argv[2] == "loading":
        asyncio.get_running_loop().create_task(chat.load())
        while chat.pid is None:
            await asyncio.sleep(0.001)
    else:
        await chat.load()
    print(chat.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@slow
@pytest.mark.parametrize("moment", ["loading", "serving"])
@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_server_ends_with_killed_parent(model: Path, moment: str, signal_number: signal.Signals) -> None:
    root = Path(process.__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, model, moment], stdout=subprocess.PIPE, text=True, cwd=root
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal_number)
        parent.wait(10)
        ends_by = time.monotonic() + 10
        while runs(child) and time.monotonic() < ends_by:
            time.sleep(0.02)
        assert not runs(child)


# Refusals before the start.


def settings_of(model: Path) -> ServerSettings:
    return ServerSettings(model, 4096)


def test_header_is_read(model: Path) -> None:
    header = read_header(model)
    assert (header.architecture, header.context_tokens, header.has_template) == ("llama", 32_768, True)
    assert header.cache_bytes_per_token == 1 * 4 * (16 + 16) * 2


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04 something else", b"GGUF\x03\0\0\0" + b"\xff" * 16])
def test_other_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError):
        read_header(path)
    with pytest.raises(LocalServerError, match="name a chat model in GGUF format"):
        check(settings_of(path))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalServerError, match="cannot be read"):
        check(settings_of(tmp_path / "none.gguf"))


def test_too_little_memory_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "available_bytes", lambda: 200_000_000)
    with pytest.raises(LocalServerError, match=r"needs 0\.3 GB of memory, and 0\.2 GB are free.*smaller model"):
        check(settings_of(model))
    monkeypatch.setattr(process, "available_bytes", lambda: None)
    check(settings_of(model))


@slow
def test_truncated_model_is_refused_at_start(model: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(model.read_bytes()[:-1000])

    async def main() -> None:
        async with chatting(cut):
            pass

    with pytest.raises(LlmUnreachable, match=r"cannot be loaded \(.+\): remove it and pull it again"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("os.kill(os.getpid(), 11)", r"ended with signal 11 \(SIGSEGV\) while it loaded .+, without a message: use"),
        ("os._exit(3)", r"ended with status 3 while it loaded .+, without a message"),
        ("os.write(2, b'Illegal'); os.abort()", r"signal 6 \(SIGABRT\) .+, its last lines are in the log on standard"),
    ],
)
def test_crash_without_a_message_is_not_a_damaged_file(
    program: str,
    how: str,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "server.py").write_text(f"import os, sys\nsys.stdin.readline()\n{program}\n")
    monkeypatch.setattr(process, "PROGRAM", tmp_path / "server.py")

    async def main() -> None:
        async with chatting(model):
            pass

    with pytest.raises(LlmUnreachable, match=how) as raised:
        asyncio.run(main())
    assert "remove it" not in str(raised.value)
    assert ("last lines of its server: Illegal" in caplog.text) == ("Illegal" in program)


def test_server_program_imports_nothing_of_this_program() -> None:
    names = {
        line.split()[1].partition(".")[0]
        for line in process.PROGRAM.read_text(encoding="utf-8").splitlines()
        if line.startswith(("import ", "from "))
    }
    assert names <= {"importlib", "json", "os", "sys", "threading", "contextlib", "typing"}
