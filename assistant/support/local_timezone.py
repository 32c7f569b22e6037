"""The local time zone with daylight saving, where `datetime.astimezone()` gives only a fixed offset."""

from datetime import UTC, datetime, timedelta, tzinfo


class LocalZone(tzinfo):
    """The operating system's local time zone, with its offset changes."""

    def utcoffset(self, moment: datetime | None, /) -> timedelta | None:
        """Returns the offset of a local time; `fold` selects one of the two moments of a repeated hour."""
        return None if moment is None else moment.replace(tzinfo=None).astimezone().utcoffset()

    def tzname(self, moment: datetime | None, /) -> str | None:
        """Returns the name of the zone, such as "CET"."""
        return None if moment is None else moment.replace(tzinfo=None).astimezone().tzname()

    def dst(self, _moment: datetime | None, /) -> None:
        """Returns None: the daylight saving part of the offset is not known."""

    def fromutc(self, moment: datetime, /) -> datetime:
        """Converts a moment in UTC, which carries this zone, to local time."""
        # Without a zone, `fromtimestamp` returns local time, with `fold`.
        local = datetime.fromtimestamp(moment.replace(tzinfo=UTC).timestamp())  # noqa: DTZ006
        return local.replace(tzinfo=self)


LOCAL = LocalZone()
