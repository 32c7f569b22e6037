"""A Redis that the tests of a file share, emptied before each of them."""

from collections.abc import Iterator

import pytest
from support.servers.gateways import SharedRedis
from support.servers.redis_process import redis_process


@pytest.fixture(scope="module")
def _redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_process(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def redis_url(_redis: str) -> str:
    """Returns the address of an empty Redis."""
    SharedRedis(_redis).client.flushall()
    return _redis
