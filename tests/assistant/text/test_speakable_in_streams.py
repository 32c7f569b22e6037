"""LaTeX outside dollar signs and SSML in a reply, for any token boundary."""

import pytest
from support.texts.token_boundaries import speakable_results

from assistant.text.chunker import Chunker
from assistant.text.normalization.reading import spoken

FORMULAS = {
    "fraction": (r"It is \frac{7}{10} of it.", "It is 7 over 10 of it."),
    "short fraction": (r"\frac12 and \sqrt2", "1 over 2 and square root of 2"),
    "nested": (r"So \dfrac{\sqrt{2}}{2}.", "So square root of 2 over 2."),
    "indices in braces": (r"So 6{x}_{1} + 4{x}_{2} \leq {24}.", "So 6x₁ + 4x₂ ≤ 24."),
    "the same in dollars": (r"$6{x}_{1} + 4{x}_{2} \leq {24}$", "6x₁ + 4x₂ ≤ 24"),
    "index of letters": ("the speed v_{max} here", "the speed v max here"),
    "power": ("x^{2} and x^{10}", "x² and x to the power of 10"),
    "signs": (r"3 \times \pi \cdot 2", "3 × pi × 2"),
    "behind a variable": (r"3x\leq 5", "3x ≤ 5"),
    "degrees": (r"90^\circ or 90^{\circ}", "90° or 90°"),
    "cube root": (r"\sqrt[3]{8} is 2", "cube root of 8 is 2"),
    "text": (r"\text{if so} then \boxed{7}.", "if so then 7."),
    "sum": (r"\sum_{i=1}^{n} i", "sum from i=1 to n of i"),
    "brackets": (r"\left(\frac{a}{b}\right)^{2}", "( a over b)²"),
    "Windows path": (r"Open C:\Users\right\times\sum now", "Open C: Users right times sum now"),
    "network path": (r"\\server\left\pi", "server left pi"),
    "relative path": (r"src\times\file.py", "src times file.py"),
    "escape": (r"Use \n here", "Use n here"),
    "braces of code": ('{name} and {"a": 1}, {1, 2}', '{name} and {"a": 1}, {1, 2}'),
    "unclosed": (r"so \frac{7}{10 of it", "so frac 7{10 of it"),
}


@pytest.mark.parametrize(("text", "said"), FORMULAS.values(), ids=FORMULAS)
def test_bare_formula_is_spoken_in_words_for_any_token_boundary(text: str, said: str) -> None:
    assert speakable_results(text) == {said}


@pytest.mark.parametrize(
    ("language", "heard"),
    [
        ("en", "six x one plus four x two is at most twenty-four"),
        ("de", "sechs x eins plus vier x zwei kleiner oder gleich vierundzwanzig"),
        ("fr", "six x un plus quatre x deux inférieur ou égal à vingt-quatre"),
        ("es", "seis x uno más cuatro x dos menor o igual que veinticuatro"),
    ],
    ids=["English", "German", "French", "Spanish"],
)
def test_index_is_not_read_as_a_factor(language: str, heard: str) -> None:
    sentences = Chunker()
    units = [*sentences.feed(r"$6{x}_{1} + 4{x}_{2} \leq {24}$"), *sentences.finish()]
    assert [spoken(unit.text, language) for unit in units] == [heard]
    assert spoken("H₂O", language) == "H2O"


SSML = {
    "indented code": ("```\n  x = 1\n  ```\nDone", "I'll leave out the code.\n\nDone"),
    "break": ('One. <break time="0.5s" /> Two.', "One.\n\nTwo."),
    "break without attributes": ("One<BREAK/>two", "One\n\ntwo"),
    "break that asks for no pause": ('One<break strength="none"/> two <break time="0ms"/>three', "One two three"),
    "speak": ("<speak>Hello there.</speak>", "Hello there."),
    "document": (
        '<?xml version="1.0"?>\n<speak version="1.1"\n  xml:lang="en-US"><p><s>One</s><s>Two</s></p></speak>',
        "One\n\nTwo",
    ),
    "emphasis": ('Say <emphasis level="strong">now</emphasis> please.', "Say now please."),
    "prosody": ('Say <prosody rate="slow" pitch="+2st">now</prosody>.', "Say now."),
    "phoneme": ('A <phoneme alphabet="ipa" ph="təˈmeɪtoʊ">tomato</phoneme>.', "A tomato."),
    "voice and lang": ("<voice name='Ana'>Hi <lang xml:lang='fr-FR'>toi</lang></voice>", "Hi toi"),
    "voice without attributes": ("<voice>Hi</voice>", "Hi"),
    "audio, mark, word": ('<audio src="a.mp3"/>Now <mark name="b"/><w role="amazon:VB">read</w>.', "Now read."),
    "vendor elements": ('<amazon:effect name="whispered">psst</amazon:effect> <ssml:break/>now', "psst\n\nnow"),
    "vendor style": ('<mstts:express-as style="sad">Oh</mstts:express-as>', "Oh"),
    "alias": ('The <sub alias="World Wide Web">WWW</sub> and H<sub>2</sub>O', "The World Wide Web and H2O"),
    "alias without end": ('<sub alias="x">y and on', "y and on"),
    "letters": ('Say <say-as interpret-as="characters">ABC12</say-as>.', "Say A.B.C 1 2."),
    "date": ('<say-as interpret-as="date" format="mdy">11/20/2026</say-as>', "11/20/2026"),
    "strike in HTML": ("an <s>old</s> word", "an old word"),
    "placeholder": ("Hi <your_name>, go to <host> as <me@host.org>", "Hi your name, go to host as me@host.org"),
    "placeholder named like an element": ("use -v <voice> now", "use -v voice now"),
    "comparison": ("a < b, i <3 you, x <y = 3", "a < b, i <3 you, x < y = 3"),
    "comparison before a line end": ("x <y = 3\nThen", "x < y = 3\n\nThen"),
}


@pytest.mark.parametrize(("text", "said"), SSML.values(), ids=SSML)
def test_ssml_is_not_spoken_for_any_token_boundary(text: str, said: str) -> None:
    assert speakable_results(text) == {said}
