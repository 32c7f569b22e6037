"""The local time zone with daylight saving."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from support.texts.text_cases import named_cases

from assistant.setup.build import local_now
from assistant.support.local_timezone import LOCAL


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@named_cases(
    ("moment", "local"),
    {
        "summer time, repeated hour": ("2026-10-25T00:10:00", "2026-10-25T02:10:00+02:00"),
        "winter time, repeated hour": ("2026-10-25T01:10:00.123456", "2026-10-25T02:10:00.123456+01:00"),
        "before the clock is put forward": ("2027-03-28T00:59:59", "2027-03-28T01:59:59+01:00"),
        "after the clock is put forward": ("2027-03-28T01:00:00", "2027-03-28T03:00:00+02:00"),
    },
)
def test_conversion_to_utc_and_back_is_exact(moment: str, local: str) -> None:
    utc = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    there = utc.astimezone(LOCAL)
    assert there.isoformat() == local
    assert there.astimezone(UTC) == utc
    assert there.tzname() == ("CEST" if local.endswith("+02:00") else "CET")


def test_current_time_has_a_zone_with_daylight_saving() -> None:
    now = local_now()
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    assert now.replace(month=1, day=1).utcoffset() == timedelta(hours=1)
    assert now.replace(month=7, day=1).utcoffset() == timedelta(hours=2)
