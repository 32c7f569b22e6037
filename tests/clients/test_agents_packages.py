"""The packages openai-agents and @openai/agents-realtime as clients of the server."""

from pathlib import Path

import pytest
from clients.checking import check_client

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.calm, pytest.mark.timeout(600)]


@pytest.mark.parametrize("name", ["openai-agents", "openai-agents-voice", "agents-node", "agents-browser"])
def test_client_gets_expected_answers(name: str, tmp_path: Path) -> None:
    check_client(name, tmp_path)
