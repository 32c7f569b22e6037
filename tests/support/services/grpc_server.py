"""A scripted Triton server with faults: grpcio's server with the messages of Triton's own client.

The messages come from Triton itself, so the protocol is verified by what both our client and that client understand.
"""

import asyncio
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tritonclient.grpc import service_pb2 as pb  # type: ignore[import-untyped]
from tritonclient.grpc import service_pb2_grpc as pb_grpc


@dataclass(frozen=True, slots=True)
class Part:
    """One response.

    Attributes:
        text: Text of the output; None for no output at all.
        final: Final mark; None for no mark.
        error: Error message instead of an output.
        plain: Send the text in `contents` and not as raw bytes.
        more: Further outputs: text or whole number by name.
        request_id: Replaces the request's own id.
    """

    text: bytes | None = None
    final: bool | None = False
    error: str = ""
    plain: bool = False
    more: tuple[tuple[str, bytes | int], ...] = ()
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits, or until the client disconnects."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Ends with a code other than OK."""

    code: grpc.StatusCode
    details: str = ""


class Hang:
    """Repeats the previous script until the client disconnects."""


Step = Part | Wait | Fail | Hang
Script = tuple[Step, ...]

LAST = Part(final=True)


def answer(*texts: str) -> Script:
    """Returns a complete answer without faults; the end mark is a message of its own."""
    return (*(Part(text.encode()) for text in texts), LAST)


@dataclass
class Seen:
    """One request, as seen by the server."""

    request: Any
    metadata: dict[str, str]


@dataclass
class Triton(pb_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """State of the server for tests.

    Attributes:
        seen: Requests so far.
        asked_ready: Readiness requests, by peer.
        peers: Client side of every connection with a request.
        left: Set when a client disconnected before the end of a script.
        sent: Number of responses sent so far.
        spoke: Set once a response has been sent, at the latest when the next one is due.
        server: The grpcio server.
    """

    scripts: list[Script]
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    asked_ready: int = 0
    peers: set[str] = field(default_factory=set)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    sent: int = 0
    spoke: asyncio.Event = field(default_factory=asyncio.Event)
    server: grpc.aio.Server | None = None

    async def die(self) -> None:
        """Stops at once, in the middle of whatever it does."""
        assert self.server is not None
        await self.server.stop(grace=None)

    async def ServerReady(self, _: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        self.asked_ready += 1
        self.peers.add(context.peer())
        return pb.ServerReadyResponse(ready=True)

    async def ModelStreamInfer(  # noqa: N802
        self, requests: AsyncIterator[Any], context: Any
    ) -> AsyncGenerator[Any]:
        self.peers.add(context.peer())
        async for request in requests:
            self.seen.append(Seen(request, dict(context.invocation_metadata())))
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
            ended = False
            try:
                async for response in self._play(script, request.id, context):
                    self.sent += 1
                    if self.sent > 1:
                        self.spoke.set()
                    yield response
                ended = True
            except grpc.aio.AbortError:
                ended = True
                raise
            finally:
                # Cancelled while waiting, or closed while sending.
                if not ended:
                    self.left.set()

    async def _play(self, script: Script, request_id: str, context: Any) -> AsyncGenerator[Any]:
        for position, step in enumerate(script):
            match step:
                case Part():
                    yield response_of(step, request_id)
                case Wait(seconds):
                    await asyncio.sleep(seconds)
                case Fail(code, details):
                    await context.abort(code, details)
                case Hang():
                    while True:
                        for again in script[:position]:
                            assert isinstance(again, Part)
                            yield response_of(again, request_id)
                            await asyncio.sleep(0.005)


def response_of(part: Part, request_id: str) -> Any:
    """Returns a part as Triton's message."""
    if part.error:
        return pb.ModelStreamInferResponse(error_message=part.error)
    response = pb.ModelStreamInferResponse()
    inner = response.infer_response
    inner.model_name, inner.model_version = "m7", "1"
    inner.id = request_id if part.request_id is None else part.request_id
    if part.final is not None:
        inner.parameters["triton_final_response"].bool_param = part.final
    if part.text is not None:
        output = inner.outputs.add(name="text_output", datatype="BYTES", shape=[1])
        if part.plain:
            output.contents.bytes_contents.append(part.text)
        else:
            inner.raw_output_contents.append(struct.pack("<I", len(part.text)) + part.text)
    for name, value in part.more:
        kind = "UINT32" if isinstance(value, int) else "BYTES"
        inner.outputs.add(name=name, datatype=kind, shape=[1])
        raw = struct.pack("<I", value) if isinstance(value, int) else struct.pack("<I", len(value)) + value
        inner.raw_output_contents.append(raw)
    return response


@asynccontextmanager
async def serving(
    *scripts: Script,
    port: int = 0,
    tls: tuple[Path, Path] | None = None,
    options: Sequence[tuple[str, int]] = (),
) -> AsyncGenerator[Triton]:
    """Serves scripts on a free loopback port, or on the given one; `tls`: files of the key and the certificate."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0), *options])
    triton = Triton(list(scripts), server=server)
    pb_grpc.add_GRPCInferenceServiceServicer_to_server(triton, server)
    if tls is None:
        port = server.add_insecure_port(f"127.0.0.1:{port}")
        triton.url = f"grpc://127.0.0.1:{port}"
    else:
        key, certificate = (file.read_bytes() for file in tls)
        port = server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([(key, certificate)]))
        triton.url = f"grpcs://localhost:{port}"
    await server.start()
    try:
        yield triton
    finally:
        await server.stop(grace=None)


@dataclass
class Relay:
    """A relay to a server whose connection can break unnoticed. `break_next` resets it at the next data.

    Attributes:
        url: Address of the relay.
        accepted: Number of connections so far.
    """

    port: int
    url: str = ""
    accepted: int = 0
    break_next: bool = False

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relays one connection in both directions."""
        self.accepted += 1
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._carry(reader, onward_writer, outward=True))
                ways.create_task(self._carry(onward_reader, writer, outward=False))
        except* ConnectionError:
            pass
        finally:
            writer.transport.abort()
            onward_writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, outward: bool) -> None:
        while data := await reader.read(1 << 16):
            if outward and self.break_next:
                self.break_next = False
                break
            writer.write(data)
        raise ConnectionError("over")


@asynccontextmanager
async def relayed(triton: Triton) -> AsyncGenerator[Relay]:
    """Returns a relay to the server."""
    relay = Relay(int(triton.url.rpartition(":")[2]))
    listener = await asyncio.start_server(relay.handle, "127.0.0.1", 0)
    relay.url = f"grpc://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        yield relay


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Writes a key and a self-signed certificate for localhost. Returns the files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begins = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=3))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    key_file, certificate_file = folder / "key.pem", folder / "certificate.pem"
    key_file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    certificate_file.write_bytes(certificate.public_bytes(pem))
    return key_file, certificate_file
