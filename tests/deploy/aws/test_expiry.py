"""Names and expiry of what the programs for AWS create."""

from datetime import UTC, datetime

import pytest

from deploy.aws.expiry import DELETE_AFTER, expiry, full_name, has_expired

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_expiry_is_the_time_in_utc() -> None:
    assert expiry(NOON, 1.5) == "2026-01-01T13:30:00Z"


@pytest.mark.parametrize("tag", [{"Key": DELETE_AFTER, "Value": "2026-01-01T12:00:00Z"},
                                 {"key": DELETE_AFTER, "value": "2026-01-01T12:00:00Z"}])  # fmt: skip
def test_tags_of_both_services_are_read(tag: dict[str, str]) -> None:
    assert has_expired([{"Key": "Name", "Value": "x"}, tag], NOON)
    assert not has_expired([tag], NOON.replace(hour=11))
    assert not has_expired([], NOON)


def test_names_have_the_prefix_once() -> None:
    assert full_name("voice-1") == full_name("repartee-voice-1") == "repartee-voice-1"


@pytest.mark.parametrize("name", ["", "a b", "a--b", "ä", "a/b", "x" * 60])
def test_name_that_aws_would_refuse_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="the name must have letters, digits and single hyphens"):
        full_name(name)
