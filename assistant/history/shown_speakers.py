"""Decides which labels of speakers are shown: names of enrolled voices; numbers once a second person speaks. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from assistant.history.items import Item, UserMessage
from assistant.trace.record import is_numbered


@dataclass(slots=True)
class ShownSpeakers:
    """The speakers of a running conversation so far."""

    _known: set[str] = field(default_factory=set)

    def shown(self, label: str) -> str:
        """Takes the label of the next message. Returns what is shown beside it; "" for nothing."""
        if label:
            self._known.add(label)
        return label if len(self._known) > 1 or not is_numbered(label) else ""


def shown_speakers(labels: Iterable[str]) -> list[str]:
    """Returns what is shown beside each message of a whole conversation."""
    known = list(labels)
    several = len({label for label in known if label}) > 1
    return [label if several or not is_numbered(label) else "" for label in known]


def without_numbers(items: Iterable[Item]) -> list[Item]:
    """Returns items of an earlier session. Its S1 may be another person than the S1 of this one, so only names stay."""
    return [
        replace(item, speaker="") if isinstance(item, UserMessage) and is_numbered(item.speaker) else item
        for item in items
    ]
