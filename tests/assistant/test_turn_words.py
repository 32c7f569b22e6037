import pytest

from assistant.turn_words import is_backchannel, is_echo


@pytest.mark.parametrize(
    ("text", "said", "echo"),
    [
        ("Fossil fuels", "The fossil fuels include coal.", True),
        ("include coal", "The fossil fuels include - coal.", True),
        ("fuels coal", "The fossil fuels include coal.", False),
        ("fuel", "The fossil fuels include coal.", False),
        ("", "The fossil fuels include - coal.", False),
        ("...", "", False),
    ],
)
def test_an_echo_is_words_that_were_said_in_a_row(text: str, said: str, *, echo: bool) -> None:
    assert is_echo(text, said) is echo


@pytest.mark.parametrize(("text", "listens"), [("Uh-huh, right.", True), ("Mhm", True), ("Right, stop", False)])
def test_a_backchannel_is_nothing_but_what_listeners_say(text: str, *, listens: bool) -> None:
    assert is_backchannel(text) is listens
