"""The words on the screen of `repartee talk`: paragraphs that hang under their label and follow the conversation."""

from textual.containers import VerticalScroll
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widget import Widget

from assistant.commands.talk.panels import LABEL_CELLS, paragraph
from assistant.commands.talk.view import Entry


class Hanging(Visual):
    """A label, and beside it a text that is wrapped in what is left of the width."""

    def __init__(self, label: Content, text: Content) -> None:
        """This text beside this label."""
        self.label = label
        self.text = text

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """The lines; the label is on the first."""
        texts = self.text.render_strips(max(1, width - LABEL_CELLS), height, style, options)
        labels = self.label.render_strips(LABEL_CELLS, 1, style, options) or [Strip([])]
        blank = Strip.blank(LABEL_CELLS, style.rich_style)
        firsts = [labels[0].adjust_cell_length(LABEL_CELLS, style.rich_style), *[blank] * len(texts)]
        return [Strip.join([first, text]) for first, text in zip(firsts, texts, strict=False)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """All there is."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """How many lines the text takes."""
        return self.text.get_height(rules, max(1, width - LABEL_CELLS))


class Paragraph(Widget):
    """An entry of the transcript."""

    ALLOW_SELECT = False

    def __init__(self, entry: Entry) -> None:
        """Show this entry."""
        super().__init__(classes="first" if entry.first else "")
        self.entry = entry

    def show(self, entry: Entry) -> None:
        """Show what has become of the entry."""
        if entry != self.entry:
            longer = (entry.text, entry.mark, entry.settled) != (self.entry.text, self.entry.mark, self.entry.settled)
            self.entry = entry
            self.refresh(layout=longer)

    def render(self) -> Hanging:
        """Label and text."""
        return Hanging(*paragraph(self.entry))


class TranscriptView(VerticalScroll):
    """The conversation.

    Attributes:
        following: The last words, or those being spoken, are kept in sight; not while the person looks back.
    """

    can_focus = False

    def __init__(self) -> None:
        """Nothing said so far."""
        super().__init__(id="words")
        self.following = True
        self._entries: tuple[Entry, ...] = ()
        self._paragraphs: dict[int, Paragraph] = {}

    def show(self, entries: tuple[Entry, ...]) -> None:
        """Show these entries: those that are known change, others come and go."""
        if entries == self._entries:
            return
        self._entries = entries
        keys = {entry.key for entry in entries}
        for key in self._paragraphs.keys() - keys:
            self._paragraphs.pop(key).remove()
        before: Paragraph | None = None
        for entry in entries:
            known = self._paragraphs.get(entry.key)
            if known is None:
                known = self._paragraphs[entry.key] = Paragraph(entry)
                if before is None:
                    self.mount(known, before=0)
                else:
                    self.mount(known, after=before)
            known.show(entry)
            before = known
        self.follow()

    def look(self, rows: int) -> None:
        """Look back by so many rows, or forward again if they are negative; at the end, follow."""
        self.following = False
        self.scroll_relative(y=-rows, animate=False, force=True)
        self.call_after_refresh(self._follow_at_end)

    def look_at(self, *, end: bool) -> None:
        """Look at the end, and follow; or at the beginning."""
        self.following = end
        if end:
            self.follow()
        else:
            self.scroll_home(animate=False, force=True)

    def follow(self) -> None:
        """Bring the last words into sight, unless the person looks back.

        While a reply is spoken, what counts is the passage being spoken: more of it may be there already.
        """
        if not self.following:
            return
        lit = next((entry.key for entry in self._entries if entry.lit is not None), None)
        if lit is None:
            self.scroll_end(animate=False, force=True)
        else:
            self.call_after_refresh(self.scroll_to_widget, self._paragraphs[lit], animate=False, force=True)

    def on_mouse_scroll_up(self) -> None:
        """The wheel looks back."""
        self.following = False

    def on_mouse_scroll_down(self) -> None:
        """The wheel looks forward."""
        self.call_after_refresh(self._follow_at_end)

    def on_resize(self) -> None:
        """Lines are wrapped anew."""
        self.follow()

    def _follow_at_end(self) -> None:
        self.following = self.is_vertical_scroll_end
