"""Runs all client programs and writes the matrix of clients and features: `python -m tests.clients.matrix`.

With `--expected` it runs none, and writes what expected.toml says.
"""

import sys
import tempfile
from pathlib import Path

# Run as a module of the repository, the folder tests is not yet on the path.
sys.path.insert(0, str(Path(__file__).parent.parent))

from clients.checking import run_checked
from clients.expectations import PAGE, expected_answers, page_with, rendered
from clients.running import CLIENT_PROGRAMS


def main() -> int:
    """Writes docs/lab/clients.md. Returns 1 if an answer is not the expected one."""
    answers: dict[str, dict[str, str]] = {}
    unexpected: list[str] = []
    if sys.argv[1:] == ["--expected"]:
        answers = {client.name: expected_answers(client) for client in CLIENT_PROGRAMS}
        PAGE.write_text(page_with(rendered(answers)), encoding="utf-8")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        for client in CLIENT_PROGRAMS:
            outcomes, wrong = run_checked(client.name, Path(temporary) / client.name)
            answers[client.name] = {feature: outcome.answer for feature, outcome in outcomes.items()}
            unexpected += wrong
    if unexpected:
        sys.stderr.write("\n".join(["not as in tests/clients/expected.toml; the page is unchanged:", *unexpected, ""]))
        return 1
    PAGE.write_text(page_with(rendered(answers)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
