"""Lines of the program about the machine it runs on; they are right on a slow or busy one, whatever is tested."""

import re

_MACHINE_NOTE = re.compile(r"this machine is busy|Smart Turn uses 4 s of speech: .* on this machine")


def without_machine_notes(complaints: str) -> str:
    """Returns a program's standard error without the lines that a slow or busy machine causes."""
    return "".join(line for line in complaints.splitlines(keepends=True) if not _MACHINE_NOTE.search(line))
