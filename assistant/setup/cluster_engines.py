"""Loads the engines that run on the cluster: the recognizer, the voice and Smart Turn."""

import logging
from typing import TYPE_CHECKING

from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel
from assistant.registry.voices import CLUSTER
from assistant.setup import build
from assistant.setup.derived_settings import knows_grammar
from assistant.setup.loading import Loading, now_s
from audio.errors import EngineLoadError
from audio.stt import Recognizer, SharedRecognizer
from audio.tts import Voice

if TYPE_CHECKING:
    from assistant.setup.build import ClusterConnection

log = logging.getLogger(__name__)


async def load_cluster_recognizer(loading: Loading, shared: SharedRecognizer) -> Recognizer:
    """Returns a conversation's recognizer on the cluster. Raises EngineLoadError if no replica answers."""
    began_s = now_s()
    await loading.with_timeout("the recognizer on the cluster", shared.load())
    recognizer = shared.transcriber()
    loading.record_choice("stt", CLUSTER, recognizer.detail, "as configured", began_s)
    return recognizer


async def load_cluster_voice(loading: Loading, connection: "ClusterConnection") -> Voice:
    """Returns the voice on the cluster. Raises EngineLoadError if no replica answers."""
    began_s = now_s()
    voice = build.cluster_voice(loading.settings, connection)
    await loading.with_timeout("the voice on the cluster", voice.load())
    loading.record_choice("tts", voice.name, voice.detail, "as configured", began_s)
    return voice


async def load_cluster_smart_turn(loading: Loading, connection: "ClusterConnection") -> AudioEndOfTurnModel | None:
    """Returns Smart Turn on the cluster, or none, with the reason."""
    began_s, sources = now_s(), "sound and words" if knows_grammar(loading.settings) else "sound"
    model = build.cluster_smart_turn(connection)
    try:
        await loading.with_timeout("Smart Turn on the cluster", model.load())
    except EngineLoadError as error:
        log.warning("turn: without Smart Turn: %s", error)
        why = f"without Smart Turn: {error}"
        loading.record_choice("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
        return None
    loading.record_choice("turn", "estimate", f"of {sources}, with {model.detail}", "as configured", began_s)
    return model
