"""What words are to turn taking: a listener's "mhm" or more, an echo, the same as others or not. Pure."""

BACKCHANNELS = frozenset(
    ["mhm", "mm", "mmm", "hm", "hmm", "uh", "huh", "uhhuh", "um", "ah", "oh", "yeah", "okay", "right"]
)
"""What people say to show that they listen: alone it does not take the floor so soon."""


def is_backchannel(text: str) -> bool:
    """Whether it is nothing but what people say to show that they listen."""
    return all(word.strip(".,!?") in BACKCHANNELS for word in text.lower().replace("-", "").split())


def is_echo(text: str, said: str) -> bool:
    """Whether it is nothing but words that were `said`, in a row: a loudspeaker's sound in the microphone."""
    words = plain_words(text)
    return bool(words) and f" {words} " in f" {plain_words(said)} "


def plain_words(text: str) -> str:
    """The words alone: case and punctuation are the recognizer's taste."""
    words = ("".join(char for char in word if char.isalnum()) for word in text.lower().split())
    return " ".join(word for word in words if word)
