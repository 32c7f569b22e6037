"""The token of a server, from the environment."""

from collections.abc import Mapping

from assistant.config.errors import ConfigError
from web.access.access_control import TOKEN_SHAPE, is_easily_guessed

TOKEN_VARIABLE = "REPARTEE_TOKEN"  # noqa: S105 - its name


def token_of(environ: Mapping[str, str]) -> str | None:
    """Returns REPARTEE_TOKEN if it is set. Raises ConfigError if clients could not send it, or if it is too short."""
    token = environ.get(TOKEN_VARIABLE, "")
    if not token:
        return None
    if TOKEN_SHAPE.fullmatch(token) is None:
        wrong = "must be 16 to 512 characters, each a letter, a digit or one of !#$%&'*+.^_`|~-"
    elif is_easily_guessed(token):
        wrong = "is easily guessed: its characters are few, repeated or in a row"
    else:
        return token
    remedy = 'make one with python -c "import secrets; print(secrets.token_urlsafe(32))"'
    raise ConfigError([f"environment {TOKEN_VARIABLE}: {wrong}; {remedy}"])
