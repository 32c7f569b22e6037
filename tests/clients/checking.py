"""Holds a client program's run against the expected answers."""

from pathlib import Path

import pytest
from clients.environments import CannotInstallError
from clients.expectations import expected_answers
from clients.running import CLIENT_PROGRAMS, Outcomes, run

ATTEMPTS = 3
"""A feature that needs sound in real time may fail on a busy machine."""


def run_checked(name: str, folder: Path) -> tuple[Outcomes, list[str]]:
    """Runs a client program; repeats unexpected features. Returns the outcomes, and what remains unexpected."""
    (client,) = [client for client in CLIENT_PROGRAMS if client.name == name]
    expected = expected_answers(client)
    outcomes: Outcomes = {}
    waiting = tuple(expected)
    for attempt in range(ATTEMPTS):
        outcomes |= run(client, folder / str(attempt), waiting)
        waiting = tuple(
            feature
            for feature, answer in expected.items()
            if feature not in outcomes or outcomes[feature].answer != answer
        )
        if not waiting:
            break
    unexpected = [
        f"{name}, {feature}: {outcomes[feature].answer}, not {expected[feature]}: {outcomes[feature].detail}"
        if feature in outcomes
        else f"{name}, {feature}: not reported"
        for feature in waiting
    ]
    return outcomes, unexpected


def check_client(name: str, folder: Path) -> None:
    """Fails if a client gets other answers than expected; is skipped if its packages cannot be installed here."""
    try:
        outcomes, unexpected = run_checked(name, folder)
    except CannotInstallError as error:
        pytest.skip(f"the registry cannot install the client's packages: {error}")
    assert unexpected == []
    assert outcomes
