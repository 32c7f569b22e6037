"""A proxy or certificates that the environment names, and that cannot be used."""

import pytest

from llm.environment import environment_of_client


def test_what_belongs_to_no_endpoint_names_none() -> None:
    with pytest.raises(ValueError, match=r"^the proxy in the environment"), environment_of_client():
        raise ImportError("socksio")
