"""The zone of this machine, whose clocks change: `datetime.astimezone()` gives only the offset of its own moment."""

from datetime import UTC, datetime, timedelta, tzinfo


class LocalZone(tzinfo):
    """What the operating system knows of the clock on the wall, before and after it is changed."""

    def utcoffset(self, moment: datetime | None, /) -> timedelta | None:
        """Of local time; `fold` says which of the two where an hour comes twice."""
        return None if moment is None else moment.replace(tzinfo=None).astimezone().utcoffset()

    def tzname(self, moment: datetime | None, /) -> str | None:
        """ "CET"."""
        return None if moment is None else moment.replace(tzinfo=None).astimezone().tzname()

    def dst(self, _moment: datetime | None, /) -> None:
        """How much of it is summer time is not known."""

    def fromutc(self, moment: datetime, /) -> datetime:
        """Local time, of a moment in UTC that has this zone beside it."""
        # Without a zone it is the machine's local time, with `fold`.
        local = datetime.fromtimestamp(moment.replace(tzinfo=UTC).timestamp())  # noqa: DTZ006
        return local.replace(tzinfo=self)


LOCAL = LocalZone()
