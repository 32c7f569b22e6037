"""Loads the model that estimates the end of a turn from sound, on this machine or on the cluster."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from assistant.models.needs import Need, at_hand, lacking_model
from assistant.pipeline.end_of_turn_evidence import AudioEndOfTurnModel
from assistant.registry.listening import turn_end_engine
from assistant.registry.packages import lacking_package
from assistant.registry.voices import CLUSTER
from assistant.setup.cluster_engines import load_cluster_smart_turn
from assistant.setup.derived_settings import knows_grammar
from assistant.setup.loading import Loading, now_s
from assistant.setup.providers import turn_provider
from audio.errors import EngineError, EngineLoadError
from audio.execution_provider import ProviderUnavailableError, ProviderUser, fallback_of

if TYPE_CHECKING:
    from assistant.setup.build import ClusterConnection


async def load_end_of_turn_model(
    loading: Loading, connection: Callable[[], "ClusterConnection"]
) -> AudioEndOfTurnModel | None:
    """Returns the preferred estimator if it is available and the end of turn is estimated at all.

    Args:
        loading: The loading of all engines.
        connection: Returns the connection to the cluster.
    """
    began_s = now_s()
    if fixed_ms := loading.settings.turn.hangover_ms:
        loading.record_choice("turn", "fixed silence", f"{fixed_ms} ms", "as configured", began_s)
        return None
    if loading.settings.turn.smart_turn == CLUSTER:
        return await load_cluster_smart_turn(loading, connection())
    engine = turn_end_engine()
    model = None if engine.models is None else engine.models.catalogue[0]
    sources = "sound and words" if knows_grammar(loading.settings) else "sound"
    need = None if model is None else Need(model.name, model.kind, "end of turn")
    place = None if need is None else at_hand(need)
    lacking = lacking_package(engine) or (lacking_model(need) if need is not None and place is None else "")
    if lacking:
        why = f"without {engine.label}, because {lacking}"
        loading.record_choice("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
        return None
    provider = turn_provider(loading.settings)
    service = engine.make(place, provider)
    try:
        await loading.with_timeout(engine.label, service.load(), provider)
    except ProviderUnavailableError:
        raise
    except (EngineLoadError, EngineError) as error:
        why = f"without {engine.label}: {error}"
        loading.record_choice("turn", "estimate", f"of {sources}", why, began_s, fallback=True)
        return None
    fallback = fallback_of(service)
    less = "; ".join(filter(None, (fallback and f"{engine.label} {fallback}", service.slow)))
    what = f"of {sources}, with {engine.label if model is None else model.name}"
    if isinstance(service, ProviderUser):
        what += f", {loading.provider_of('turn', service)}"
    loading.record_choice("turn", "estimate", what, less or "as configured", began_s, fallback=bool(less))
    return service
