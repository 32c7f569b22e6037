"""Names the tools of several servers for the model. Pure.

A name consists of the server and the tool, even with a single server. It therefore does not depend on other servers,
and the list at the beginning of every prompt stays the same when a server disconnects and returns.
"""

import re
from collections.abc import Iterable
from hashlib import blake2b

MAX_NAME_CHARS = 64
"""Characters that language-model services accept in a name. They accept only letters, digits, - and _."""

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def allowed(name: str) -> str:
    """Returns a name that services accept; unchanged if it is accepted already."""
    return _REFUSED.sub("_", name)[:MAX_NAME_CHARS]


def named(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Maps the name for the model to the tool's own name, sorted by the latter, because a server's order may vary.

    If a changed name is too long or already taken, it ends with a digest of the tool's own name.
    """
    names: dict[str, str] = {}
    for tool in sorted(set(tools)):
        name = _REFUSED.sub("_", f"{server}_{tool}")
        if len(name) > MAX_NAME_CHARS or name in names:
            digest = blake2b(tool.encode(errors="replace"), digest_size=4).hexdigest()
            name = f"{name[: MAX_NAME_CHARS - len(digest) - 1]}_{digest}"
        names[name] = tool
    return names
