"""Downloads files from the hub and checks them. Blocking.

huggingface_hub is not used: version 2.4 deletes interrupted downloads, does not check hashes of plain HTTP downloads,
and retries for a long time without a network. Two requests suffice: HEAD returns the commit, size and hash, GET with a
range returns the bytes. No token and no data about this machine are sent.
"""

import fcntl
import hashlib
import os
import queue
import re
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx

from declarations.models import HubFile, Model
from llm.environment import environment_of_client, proxy_for
from llm.http.encoding import PLAIN, CompressedError, refuse_compressed

FIRST_ANSWER_S = 2.5
"""Longest wait for the first answer, including the name lookup. Without a network the error appears within 3 s."""

READ_TIMEOUT_S = 15.0
"""Longest pause during a download."""

MAX_REDIRECTS = 5
BLOCK_BYTES = 1 << 18


class HubError(Exception):
    """A download that failed.

    Attributes:
        what: What happened, as a clause.
        remedy: What to do, as a clause.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy


class BusyError(HubError):
    """Another process is downloading the file."""


class FileMissingError(HubError):
    """The hub has no such file, or requires a token for it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The hub's description of a file.

    Attributes:
        file: The file.
        url: Address of the content.
        size_bytes: Size of the whole file.
        etag: SHA-256 of a large file, git's SHA-1 of a small one; the file's name in the cache.
        commit: Commit that the revision currently points to.
    """

    file: HubFile
    url: str
    size_bytes: int
    etag: str
    commit: str


def hub_client() -> httpx.Client:
    """Returns a client for one download; the caller closes it. Raises HubError for unusable certificates.

    Its requests raise HubError for an unusable proxy.
    """
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=FIRST_ANSWER_S)
    # With compression, sizes and ranges would not refer to the file.
    headers = {"user-agent": "repartee", **PLAIN}
    hooks = {"response": [refuse_compressed]}
    with _environment():
        return httpx.Client(timeout=timeout, headers=headers, transport=_ProxyTransport(), event_hooks=hooks)


@contextmanager
def _environment() -> Generator[None]:
    try:
        with environment_of_client():
            yield
    except ValueError as error:
        raise HubError(str(error), "then pull the model again") from error


class _ProxyTransport(httpx.BaseTransport):
    """Sends each request through the proxy configured for its address, because a hub redirects to other hosts."""

    def __init__(self) -> None:
        self._ssl_context = httpx.create_ssl_context()
        self._transports: dict[str | None, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends the request. Raises HubError for an unusable proxy."""
        with _environment():
            proxy = proxy_for(request.url)
            if proxy not in self._transports:
                self._transports[proxy] = httpx.HTTPTransport(verify=self._ssl_context, proxy=proxy)
        return self._transports[proxy].handle_request(request)

    def close(self) -> None:
        """Closes all connections."""
        for transport in self._transports.values():
            transport.close()


def offers(client: httpx.Client, hub: str, model: Model) -> list[Offer]:
    """Requests the description of every file before downloading, so that a missing file is reported first.

    All descriptions refer to the same commit.

    Raises:
        HubError: The hub cannot be reached, or its files differ from the known ones.
    """
    try:
        first = _call_within(FIRST_ANSWER_S, lambda: _ask(client, hub, model, model.files[0], model.revision))
        return [first, *_ask_remaining(client, hub, model, first.commit)]
    except (httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError) as error:
        raise HubError(f"{hub} is not the address of a hub", "check HF_ENDPOINT") from error
    except CompressedError as error:
        raise _compressed(hub, error) from error
    except (httpx.HTTPError, TimeoutError) as error:
        raise HubError(f"{hub} cannot be reached", "check the network, then pull the model again") from error


def _ask_remaining(client: httpx.Client, hub: str, model: Model, commit: str) -> Iterator[Offer]:
    """Requests the descriptions of all files but the first."""
    for file in model.files[1:]:
        try:
            yield _ask(client, hub, model, file, commit)
        except FileMissingError:
            if not file.optional:
                raise


def _ask(client: httpx.Client, hub: str, model: Model, file: HubFile, revision: str) -> Offer:
    url = httpx.URL(f"{hub}/{model.repository}/resolve/{revision}/{file.path}")
    commit = ""
    for _ in range(MAX_REDIRECTS):
        answer = client.head(url)
        commit = answer.headers.get("x-repo-commit", commit)
        # A large file redirects to a store, but its headers come before; a renamed repository redirects without them.
        if not answer.has_redirect_location or "x-linked-etag" in answer.headers:
            break
        url = url.join(answer.headers["location"])
    if answer.status_code in {401, 403, 404}:
        what = f"{hub} has no {model.repository}/{file.path} (status {answer.status_code})"
        raise FileMissingError(what, "check the name")
    if answer.status_code >= 400:
        raise HubError(f"{hub} answers with status {answer.status_code}", "pull the model again later")
    etag = (answer.headers.get("x-linked-etag") or answer.headers.get("etag", "")).removeprefix("W/").strip('"')
    size = answer.headers.get("x-linked-size") or answer.headers.get("content-length", "")
    # ETag and commit are used as file names, so only hashes are accepted.
    if not (_is_hash(etag) and size.isdecimal() and _is_hash(commit)):
        raise HubError(f"{hub} does not answer like a model hub", "check HF_ENDPOINT and the proxy")
    if file.size_bytes not in {None, int(size)} or (file.sha256 and len(etag) == 64 and etag != file.sha256):
        raise HubError(f"{file.path} on {hub} is not the expected file", "update Repartee")
    return Offer(file, str(url), int(size), etag, commit)


def _compressed(where: str, error: CompressedError) -> HubError:
    what = f"{where.partition('?')[0]} sends compressed answers ({error.header}), which are not supported"
    return HubError(what, "turn off compression in the proxy in front of it, then pull the model again")


def _is_hash(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def _call_within(limit_s: float, ask: Callable[[], Offer]) -> Offer:
    """Returns the result of `ask` in time, or raises TimeoutError: a name lookup without a network can hang."""
    answers: queue.SimpleQueue[Offer | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except Exception as error:  # noqa: BLE001 - raised again below, in the caller's thread
            answers.put(error)

    threading.Thread(target=run, name="hub", daemon=True).start()
    try:
        answer = answers.get(timeout=limit_s)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def download(client: httpx.Client, offer: Offer, part: Path, on_bytes: Callable[[int], None]) -> None:
    """Downloads a file into `part`, continuing after the bytes already there, and checks the whole file.

    Args:
        client: From `hub_client`.
        offer: The file to download.
        part: Kept if the connection ends early, so that the next download continues; removed if the content is wrong.
        on_bytes: Receives the number of new bytes; negative if bytes were discarded.

    Raises:
        HubError: The download failed, or the content differs from the hub's description.
        OSError: The file cannot be written.
    """
    with part.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError("another download of it is running", "wait until it has ended") from error
        if file.tell() > offer.size_bytes:
            _empty(file)
        on_bytes(file.tell())
        _download_with_retries(client, offer, file, on_bytes)
        file.flush()
        os.fsync(file.fileno())  # it is renamed next, and must not be empty after a power cut
        if (wrong := difference(part, offer)) is not None:
            part.unlink()
            raise HubError(f"the download of {offer.file.path} has {wrong} and was removed", "pull the model again")


def _download_with_retries(client: httpx.Client, offer: Offer, file: BinaryIO, on_bytes: Callable[[int], None]) -> None:
    """Retries after an early end of the connection, as long as each attempt brings more bytes."""
    while (start_bytes := file.tell()) < offer.size_bytes:
        cause: Exception | None = None
        try:
            _stream(client, offer, file, on_bytes)
        except CompressedError as error:
            raise _compressed(offer.url, error) from error
        except httpx.HTTPError as error:
            cause = error
        if file.tell() <= start_bytes:
            megabytes = f"{file.tell() / 1e6:.1f} of {offer.size_bytes / 1e6:.1f} MB"
            remedy = "pull the model again to continue from there"
            raise HubError(f"the connection ended after {megabytes}", remedy) from cause


def _stream(client: httpx.Client, offer: Offer, file: BinaryIO, on_bytes: Callable[[int], None]) -> None:
    start_bytes = file.tell()
    headers = {"range": f"bytes={start_bytes}-"} if start_bytes else {}
    with client.stream("GET", offer.url, headers=headers, follow_redirects=True) as answer:
        if answer.status_code >= 400:
            what = f"the request for {offer.file.path} is answered with status {answer.status_code}"
            raise HubError(what, "pull the model again later")
        continues = answer.headers.get("content-range", "").startswith(f"bytes {start_bytes}-")
        if start_bytes and not (answer.status_code == 206 and continues):  # the server sent the file from its beginning
            _empty(file)
            on_bytes(-start_bytes)
        # unbuffered: bytes gathered into larger blocks would be lost when the connection breaks
        for block in answer.iter_raw():
            file.write(block)
            on_bytes(len(block))
            if file.tell() > offer.size_bytes:
                return  # too long, so the content is wrong in any case


def _empty(file: BinaryIO) -> None:
    file.seek(0)
    file.truncate()


def difference(path: Path, offer: Offer) -> str | None:
    """Describes how a file differs from the offer; None if it does not."""
    size_bytes = path.stat().st_size
    if size_bytes != offer.size_bytes:
        return f"{size_bytes} bytes instead of {offer.size_bytes}"
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if offer.file.sha256 not in {None, sha256}:
        return "a hash that is not the expected one"
    if offer.etag != (sha256 if len(offer.etag) == 64 else git_hash(path)):
        return "a hash that differs from the hub's"
    return None


def git_hash(path: Path) -> str:
    """Returns git's hash of a file, by which the hub identifies small files."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def hub_address() -> str:
    """Returns HF_ENDPOINT, or the address of the public hub."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
