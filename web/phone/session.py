"""Marks a connection as a telephone call, and sets the session of one."""

from dataclasses import replace

from starlette.types import Scope

from web.wire.session_config import AudioFormat, Extensions, SessionConfig

_PHONE = "repartee.phone_call"


def mark_as_call(scope: Scope) -> None:
    """Marks the connection as a telephone call."""
    scope.setdefault("state", {})[_PHONE] = True


def is_call(scope: Scope) -> bool:
    """Returns whether the connection is a telephone call. The conversation of a call cannot be resumed."""
    return bool(scope.get("state", {}).get(_PHONE))


def config_of_call(config: SessionConfig) -> SessionConfig:
    """Returns the server's initial settings for a telephone call: mu-law both ways, and marks that report playback.

    A telephone has no volume that the server could lower, so there is no ducking.
    """
    return replace(
        config,
        input_format=AudioFormat.ULAW,
        output_format=AudioFormat.ULAW,
        extensions=Extensions(playout=True),
    )
