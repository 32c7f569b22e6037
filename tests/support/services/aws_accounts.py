"""An AWS account in memory (moto), and a clock that never sleeps."""

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.services.aws_server import own_environment

from deploy.aws.waiting import Waiting

REGION = "us-west-2"
ROLE = "arn:aws:iam::123456789012:role/SageMakerRole"


@contextmanager
def account(patch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[None]:
    """Replaces AWS by moto while the block runs; no request leaves the process."""
    own_environment(patch, tmp_path)
    patch.setenv("AWS_DEFAULT_REGION", REGION)
    with importlib.import_module("moto").mock_aws():
        yield


def fault(code: str, message: str) -> Exception:
    """Returns a fault as boto3 raises it."""
    answer = {"Error": {"Code": code, "Message": message}}
    error = importlib.import_module("botocore.exceptions").ClientError(answer, "Operation")
    assert isinstance(error, Exception)
    return error


@dataclass
class VirtualWait:
    """Sleeps by moving its clock.

    Attributes:
        now_s: The clock.
        said: What was reported.
    """

    now_s: float = 0.0
    said: list[str] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Moves the clock."""
        self.now_s += seconds

    def waiting(self, limit_s: float = 600.0) -> Waiting:
        """Returns a Waiting on this clock."""
        return Waiting(limit_s, clock=lambda: self.now_s, sleep=self.sleep, say=self.said.append)


class Scripted:
    """A client whose methods return the next of some results, or raise it. The last one is repeated."""

    def __init__(self, real: Any = None, **results: list[Any]) -> None:
        """`real`: client for the methods that have no results; `results`: by method."""
        self._real, self._results = real, results
        self.called: list[str] = []

    def __getattr__(self, method: str) -> Any:
        """Returns a method."""
        results = self._results.get(method)
        if results is None:
            return getattr(self._real, method)

        def call(**_arguments: object) -> Any:
            self.called.append(method)
            result = results.pop(0) if len(results) > 1 else results[0]
            if isinstance(result, BaseException):
                raise result
            return result

        return call
