"""The homes that can be reached now, for commands that are due without a conversation."""

from dataclasses import dataclass, field

from assistant.home import SERVERS_HOME, HomePort, PlannedCalls


@dataclass(slots=True)
class HomeDirectory:
    """The homes of one user: the server's, and those of connected clients. Not thread-safe."""

    _homes: list[HomePort] = field(default_factory=list)

    def add_home(self, home: HomePort) -> None:
        """Adds a home. There is one of the server: it replaces the one before."""
        self._homes = [
            known for known in self._homes if known is not home and not known.key == home.key == SERVERS_HOME
        ] + [home]

    def remove_home(self, home: HomePort) -> None:
        """Removes a home, because its connection ends."""
        self._homes = [known for known in self._homes if known is not home]

    def find(self, planned: PlannedCalls) -> HomePort | None:
        """Returns the home of these calls, which has all their devices; None if it is not reached now."""
        for home in self._homes:
            known = {device.id for device in home.state.devices} if home.state is not None else set[str]()
            if home.key == planned.home and home.fault is None and planned.targets <= known:
                return home
        return None
