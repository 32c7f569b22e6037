"""What the tools of several servers are called towards the model: pure.

A tool is called after its server and itself, also where there is only one server: its name then does not depend on who
else is there, and the list that begins every prompt stays the same when a server goes and comes back.
"""

import re
from collections.abc import Iterable
from hashlib import blake2b

LONGEST = 64
"""What services of language models accept, as they accept only letters, digits, - and _."""

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def allowed(name: str) -> str:
    """A name as services accept it: unchanged where they do."""
    return _REFUSED.sub("_", name)[:LONGEST]


def named(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The name that the model knows to the tool's own, in order of the latter: a server may list them as it likes.

    A name that had to be changed, and is too long or taken by that, ends with a digest of the tool's own.
    """
    names: dict[str, str] = {}
    for tool in sorted(set(tools)):
        name = _REFUSED.sub("_", f"{server}_{tool}")
        if len(name) > LONGEST or name in names:
            digest = blake2b(tool.encode(errors="replace"), digest_size=4).hexdigest()
            name = f"{name[: LONGEST - len(digest) - 1]}_{digest}"
        names[name] = tool
    return names
