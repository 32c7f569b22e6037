"""The section [cluster]."""

import pytest

from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:6379", "head.example:6379", "[::1]:6379"])
def test_address_of_a_head_is_accepted(address: str) -> None:
    assert load_settings(None, {}, [f"cluster.address={address}"]).settings.cluster.address == address


@pytest.mark.parametrize("address", ["", "127.0.0.1", "ray://127.0.0.1:10001", "http://127.0.0.1:6379", "a b:1"])
def test_other_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"host:port as in 127\.0\.0\.1:6379"):
        load_settings(None, {}, [f"cluster.address={address}"])
