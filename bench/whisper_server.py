"""`repartee` with a Whisper that costs what a released one does, and hears what the recordings say.

    python -m bench.whisper_server SHAPE MANIFEST serve [arguments of `repartee serve`]

The model has a released one's shape and random weights: each decode is paid in full, as in `bench.engines` (4 tokens
for each second of sound, and in no doubt), and then says the words of the recording that the sound is a piece of.
So this measures what such a model costs a conversation, and nothing of how well it hears.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from assistant.commands.cli import main as repartee
from audio.stt.whisper.model import Decoded, LoadedWhisper
from audio.units import Pcm
from bench.recordings import read_recordings
from bench.whisper_script import Script

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from synthetic_whisper import SHAPES, as_trained, random_whisper


class ScriptedWhisper(LoadedWhisper):
    """A loaded model whose words are a script's.

    Attributes:
        script: Of all models of this process.
    """

    script = Script(())

    def decode(
        self, pcm: Pcm, language: str | None, *, retry: bool, wanted: Callable[[], bool] = lambda: True
    ) -> Decoded | None:
        """Pay for the decode, and say what the script says."""
        decoded = super().decode(pcm, language, retry=retry, wanted=wanted)
        return decoded and replace(decoded, text=self.script.words(pcm), doubt="")


def main() -> None:
    """Run the program."""
    try:
        shape, manifest, *arguments = sys.argv[1:]
        dimensions = SHAPES[shape]
    except (ValueError, KeyError):
        raise SystemExit(f"bench.whisper_server: SHAPE ({', '.join(SHAPES)}), MANIFEST, serve, …") from None
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
