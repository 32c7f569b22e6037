"""Keeps the language of each turn, for conversations that follow the user's language."""

from dataclasses import dataclass, field

_KEPT_TURNS = 16
"""Turns whose language is kept: more than are open at the same time."""


@dataclass(slots=True)
class TurnLanguages:
    """The languages of the turns of one conversation; "" is the conversation's own language.

    Attributes:
        current: Language of the last committed turn.
        drafted: Language of a draft from which a reply is prepared just now; "" for none.
    """

    current: str = ""
    drafted: str = ""
    _of_turns: dict[int, str] = field(default_factory=dict)

    def note(self, turn: int, language: str) -> None:
        """Notes the language of the newest transcript of a turn; "": unknown."""
        if language:
            self._of_turns[turn] = language
            while len(self._of_turns) > _KEPT_TURNS:
                del self._of_turns[next(iter(self._of_turns))]

    def of(self, turn: int) -> str:
        """Returns the language of a turn, as far as it is known; that of the last turn where nothing was spoken."""
        return self._of_turns.get(turn) or self.drafted or self.current

    def commit(self, turn: int) -> bool:
        """Makes the language of a turn the conversation's current one. Returns whether it is another one."""
        before, self.current = self.current, self.of(turn)
        return self.current != before

    def reset(self) -> None:
        """Returns to the conversation's own language, because the client has chosen one."""
        self.current, self._of_turns = "", {}
