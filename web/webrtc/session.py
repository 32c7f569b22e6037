"""The settings of a WebRTC call's session."""

from dataclasses import replace

from web.http_api.errors import ApiError
from web.wire.incoming.event_limits import MAX_VALUES, has_too_many_values
from web.wire.incoming.parse import object_of
from web.wire.incoming.session_fields import updated
from web.wire.outgoing.session_object import Service
from web.wire.values.fields import FieldError, Refusals
from web.wire.values.session_config import AudioFormat, SessionConfig


def config_of_call(config: SessionConfig) -> SessionConfig:
    """Returns the settings with what every call has: linear sound inside, and reports of what was played."""
    return replace(
        config,
        input_format=AudioFormat.PCM,
        output_format=AudioFormat.PCM,
        extensions=replace(config.extensions, playout=True),
        beta=False,
    )


def config_of_form(config: SessionConfig, session: str, service: Service) -> SessionConfig:
    """Returns the settings changed by the field `session` of a form. Raises ApiError for the first invalid field."""
    if has_too_many_values(session):
        raise ApiError(400, "invalid_json", f"session has more than {MAX_VALUES} values", "session")
    refusals = Refusals()
    try:
        changed = updated(config, object_of(session), service.language, refusals, service.offer)
    except FieldError as error:
        raise ApiError(400, error.code, str(error), error.param or "session") from error
    if refusals.errors:
        raise ApiError.of_field(refusals.for_client()[0])
    for path, form in (("input", changed.input_format), ("output", changed.output_format)):
        if form is not AudioFormat.PCM:
            param = f"session.audio.{path}.format"
            raise ApiError(400, "not_supported", f"{param}: a WebRTC call is always in Opus; leave it out", param)
    return config_of_call(changed)
