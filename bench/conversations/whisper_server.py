"""Runs `repartee` with a Whisper that has the cost of a released model and knows the words of the recordings.

    python -m bench.conversations.whisper_server SHAPE MANIFEST serve [arguments of `repartee serve`]

The model has a released model's shape and random weights. Each decode runs completely, as in `bench.sound.engines` (4
tokens for each second of sound, confident), and then returns the words of the recording that the sound is part of. So
this measures the cost of such a model in a conversation, not its recognition quality.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from audio.languages.conversation_language import ConversationLanguage
from audio.stt import FirstWord
from audio.stt.whisper.model import Decoded, LoadedWhisper
from audio.units import Pcm
from bench.conversations.recordings import read_recordings
from bench.conversations.whisper_script import Script
from repartee.cli import main as repartee

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from support.models.synthetic_whisper import SHAPES, as_trained, random_whisper


class ScriptedWhisper(LoadedWhisper):
    """A loaded model with scripted words.

    Attributes:
        script: Shared by all models of this process.
    """

    script = Script(())

    def decode(
        self,
        pcm: Pcm,
        language: str | None,
        *,
        retry: bool,
        is_wanted: Callable[[], bool] = lambda: True,
        with_tokens: bool = False,
        with_times: bool = False,
        prompt: str = "",
        languages: ConversationLanguage | None = None,
        thorough: bool = False,
    ) -> Decoded | None:
        """Runs the decode, then returns the script's words."""
        decoded = super().decode(
            pcm,
            language,
            retry=retry,
            is_wanted=is_wanted,
            with_tokens=with_tokens,
            with_times=with_times,
            prompt=prompt,
            thorough=thorough,
        )
        return decoded and replace(decoded, text=self.script.words(pcm), failed_check="")

    def first_word(self, pcm: Pcm, language: str) -> Decoded:
        """Examines the first word, then returns that of the script."""
        decoded = super().first_word(pcm, language)
        first = self.script.words(pcm).partition(" ")[0]
        return replace(decoded, first_word=FirstWord(((first, 1.0),)))


def main() -> None:
    """Runs the program."""
    try:
        shape, manifest, *arguments = sys.argv[1:]
        dimensions = SHAPES[shape]
    except (ValueError, KeyError):
        raise SystemExit(
            f"usage: bench.conversations.whisper_server SHAPE ({', '.join(SHAPES)}), MANIFEST, serve, …"
        ) from None
    ScriptedWhisper.script = Script(read_recordings(Path(manifest)))
    with (
        tempfile.TemporaryDirectory() as folder,
        as_trained(),
        patch("audio.stt.whisper.shared_model.LoadedWhisper", ScriptedWhisper),
    ):
        model = random_whisper(Path(folder) / shape, dimensions)
        sys.argv = ["repartee", *arguments, "--set", "stt.engine=faster-whisper", "--set", f"stt.model={model}"]
        repartee()


if __name__ == "__main__":
    main()
