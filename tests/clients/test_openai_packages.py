"""The openai packages for Python and npm as clients of the server."""

from pathlib import Path

import pytest
from clients.checking import check_client

pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.calm, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    "name", ["openai", "openai-sync", "openai-1", "openai-1-beta", "openai-npm", "mastra", "openai-realtime-api"]
)
def test_client_gets_expected_answers(name: str, tmp_path: Path) -> None:
    check_client(name, tmp_path)
