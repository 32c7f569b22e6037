"""Loads the model that estimates the end of a turn from sound: Smart Turn, on this machine or on the cluster."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from assistant.models.needs import Need, at_hand, lacking_model
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel
from assistant.setup import build
from assistant.setup.cluster_engines import load_cluster_smart_turn
from assistant.setup.derived_settings import knows_grammar
from assistant.setup.loading import Loading, now_s
from assistant.setup.providers import turn_provider
from audio.errors import EngineError, EngineLoadError
from audio.execution_provider import ProviderUnavailableError

if TYPE_CHECKING:
    from assistant.setup.build import ClusterConnection


async def load_end_of_turn_model(
    loading: Loading, need: Need | None, connection: Callable[[], "ClusterConnection"]
) -> AudioEndOfTurnModel | None:
    """Returns Smart Turn if its model is available and the end of turn is estimated at all.

    Args:
        loading: The loading of all engines.
        need: Smart Turn's file; None: this configuration does not need it.
        connection: Returns the connection to the cluster.
    """
    began_s = now_s()
    if fixed_ms := loading.settings.turn.hangover_ms:
        loading.record_choice("turn", "fixed silence", f"{fixed_ms} ms", "as configured", began_s)
        return None
    if loading.settings.turn.smart_turn == "ray":
        return await load_cluster_smart_turn(loading, connection())
    assert need is not None, "every other configuration needs it"
    place = at_hand(need)
    sources = "sound and words" if knows_grammar(loading.settings) else "sound"
    if place is None:
        why = f"without Smart Turn, because {lacking_model(need)}"
        loading.record_choice("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
        return None
    service = build.smart_turn(loading.settings, place)
    try:
        await loading.with_timeout("Smart Turn", service.load(), turn_provider(loading.settings))
    except ProviderUnavailableError:
        raise
    except (EngineLoadError, EngineError) as error:
        loading.record_choice(
            "turn", "estimate", f"of {sources}", f"without Smart Turn: {error}", began_s, fallback=True
        )
        return None
    less = "; ".join(filter(None, (service.fallback and f"Smart Turn {service.fallback}", service.slow)))
    what = f"of {sources}, with {need.name}, {loading.provider_of('turn', service)}"
    loading.record_choice("turn", "estimate", what, less or "as configured", began_s, fallback=bool(less))
    return service
