"""Transcript on the screen of `repartee talk`: labelled paragraphs that follow the conversation."""

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
    """A label and beside it a text, wrapped in the remaining width."""

    def __init__(self, label: Content, text: Content) -> None:
        """Places the text beside the label."""
        self.label = label
        self.text = text

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """Renders the lines; the label is on the first."""
        texts = self.text.render_strips(max(1, width - LABEL_CELLS), height, style, options)
        labels = self.label.render_strips(LABEL_CELLS, 1, style, options) or [Strip([])]
        blank = Strip.blank(LABEL_CELLS, style.rich_style)
        firsts = [labels[0].adjust_cell_length(LABEL_CELLS, style.rich_style), *[blank] * len(texts)]
        return [Strip.join([first, text]) for first, text in zip(firsts, texts, strict=False)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Returns the full width."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Returns the number of lines of the text."""
        return self.text.get_height(rules, max(1, width - LABEL_CELLS))


class Paragraph(Widget):
    """An entry of the transcript."""

    ALLOW_SELECT = False

    def __init__(self, entry: Entry) -> None:
        """Shows this entry."""
        super().__init__(classes="first" if entry.first else "")
        self.entry = entry

    def show(self, entry: Entry) -> None:
        """Shows the changed entry."""
        if entry != self.entry:
            longer = (entry.text, entry.mark, entry.settled) != (self.entry.text, self.entry.mark, self.entry.settled)
            self.entry = entry
            self.refresh(layout=longer)

    def render(self) -> Hanging:
        """Returns label and text."""
        return Hanging(*paragraph(self.entry))


class TranscriptView(VerticalScroll):
    """The transcript.

    Attributes:
        following: Whether the last or currently spoken words are kept in view; not while the user scrolls back.
    """

    can_focus = False

    def __init__(self) -> None:
        """Starts empty."""
        super().__init__(id="words")
        self.following = True
        self._entries: tuple[Entry, ...] = ()
        self._paragraphs: dict[int, Paragraph] = {}

    def show(self, entries: tuple[Entry, ...]) -> None:
        """Shows these entries: updates known ones, adds and removes others."""
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
        """Scrolls back by `rows`, or forward if negative; at the end, follows again."""
        self.following = False
        self.scroll_relative(y=-rows, animate=False, force=True)
        self.call_after_refresh(self._follow_at_end)

    def look_at(self, *, end: bool) -> None:
        """Scrolls to the end and follows, or scrolls to the beginning."""
        self.following = end
        if end:
            self.follow()
        else:
            self.scroll_home(animate=False, force=True)

    def follow(self) -> None:
        """Scrolls to the last words, unless the user scrolls back.

        While a reply is spoken, scrolls to the passage being spoken, because more of it may be shown already.
        """
        if not self.following:
            return
        highlight = next((entry.key for entry in self._entries if entry.highlight is not None), None)
        if highlight is None:
            self.scroll_end(animate=False, force=True)
        else:
            self.call_after_refresh(self.scroll_to_widget, self._paragraphs[highlight], animate=False, force=True)

    def on_mouse_scroll_up(self) -> None:
        """The mouse wheel scrolls back."""
        self.following = False

    def on_mouse_scroll_down(self) -> None:
        """The mouse wheel scrolls forward."""
        self.call_after_refresh(self._follow_at_end)

    def on_resize(self) -> None:
        """Scrolls again after lines are wrapped anew."""
        self.follow()

    def _follow_at_end(self) -> None:
        self.following = self.is_vertical_scroll_end
