"""A node of a Ray cluster on this machine, as a process in the foreground."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from audio.errors import EngineLoadError
from audio.private_file import make_private_folder

OBJECT_STORE_BYTES = 200_000_000
"""Shared memory for sounds between processes. A segment has at most 1 MB."""

CLIENT_PORT_DISTANCE = 1
"""Distance of the port of Ray's client server from the head's own port."""

LOOPBACK = "127.0.0.1"


def head_command(
    python: str, *, port: int, host: str = LOOPBACK, cpus: int | None = None, folder: Path | None = None
) -> list[str]:
    """Returns the command that runs a head until it is ended.

    Args:
        python: The interpreter that has Ray.
        port: Of the head.
        host: Address of this machine, for the other machines.
        cpus: CPU cores that replicas can reserve; None: those of the machine.
        folder: For Ray's logs and sockets; None: Ray's default, /tmp/ray.
    """
    return [
        *(python, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        f"--node-ip-address={host}",
        f"--port={port}",
        f"--ray-client-server-port={port + CLIENT_PORT_DISTANCE}",
        "--include-dashboard=false",
        *_common(cpus),
        *([] if folder is None else [f"--temp-dir={folder}"]),
    ]


def join_command(python: str, address: str, *, cpus: int | None = None) -> list[str]:
    """Returns the command that makes this machine a node of the cluster at `address` until it is ended."""
    return [*(python, "-m", "ray.scripts.scripts", "start", "--block"), f"--address={address}", *_common(cpus)]


def node_environment(environ: Mapping[str, str], home: Path, *, joins: bool = False) -> dict[str, str]:
    """Returns the environment of a node, with a token that every process of the cluster must show.

    Without one, everyone who reaches the machine's ports could run programs on it: Ray listens on all its addresses.
    The token is that of RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, else of ~/.ray/auth_token. A head writes it if it is
    missing, readable by its owner only. A node that `joins` needs that of its head. Raises EngineLoadError without it.
    """
    changed = dict(environ)
    changed.setdefault("RAY_AUTH_MODE", "token")
    named = environ.get("RAY_AUTH_TOKEN") or environ.get("RAY_AUTH_TOKEN_PATH")
    token = home / ".ray" / "auth_token"
    if changed["RAY_AUTH_MODE"] == "token" and not named and not token.exists():
        if joins:
            raise EngineLoadError(
                "this machine has no token of the cluster: copy ~/.ray/auth_token from the machine of the head, "
                "readable by its owner only."
            )
        make_private_folder(token.parent)
        file = os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w", encoding="ascii") as opened:
            opened.write(secrets.token_hex(32))
    return changed


def _common(cpus: int | None) -> list[str]:
    return [
        "--min-worker-port=0",
        "--max-worker-port=0",
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        "--disable-usage-stats",
        *([] if cpus is None else [f"--num-cpus={cpus}"]),
    ]
