"""Names of enrolled voices."""

import pytest

from assistant.enrolment.voice_names import VoiceNameError, same_name, voice_name


@pytest.mark.parametrize("text", ["Ann", "ann", "Jean-Luc O'Neill jr.", "Зоя", "Ann 2", "Se\u0301bastien"])
def test_usual_names_are_accepted(text: str) -> None:
    assert same_name(voice_name(f"  {text} "), text)


@pytest.mark.parametrize("text", ["", " ", "S1", "s12", "2nd", "a]b", "[Ann]", "Ann\x07", "<b>", "x" * 41, "a:b", "_a"])
def test_names_that_could_mislead_are_refused(text: str) -> None:
    with pytest.raises(VoiceNameError, match="use up to 40 letters"):
        voice_name(text)


def test_blanks_are_joined() -> None:
    assert voice_name("Ann \n Lee") == "Ann Lee"
