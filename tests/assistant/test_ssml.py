"""SSML in a reply is not spoken."""

import pytest
from support.texts.token_boundaries import speakable_results

SSML = {
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
