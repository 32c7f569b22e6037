"""Errors of the HTTP endpoints, in the format of OpenAI's API. OpenAI's clients parse every error body as JSON."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.responses import JSONResponse

from web.limits.session_limits import CloseNotice
from web.wire.values.fields import FieldError

FRESH: Mapping[str, str] = MappingProxyType({"Cache-Control": "no-store"})


class ApiError(Exception):
    """A request is refused, or failed.

    Attributes:
        status: HTTP status.
        code: Machine-readable reason.
        param: The field it is about; None: the whole request.
        headers: Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        param: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`message`: human-readable reason and remedy; never contains words of the user."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.headers = dict(headers or {})

    @classmethod
    def of_field(cls, error: FieldError, status: int = 400) -> "ApiError":
        """Returns the error for an invalid field."""
        return cls(status, error.code, str(error), error.param or None)

    @classmethod
    def busy(cls, message: str, retry_after_s: int, code: str = "rate_limit_exceeded") -> "ApiError":
        """Returns the error for a request that exceeds a limit for the moment."""
        return cls(429, code, message, headers={"Retry-After": str(retry_after_s)})

    @classmethod
    def unavailable(cls, notice: CloseNotice) -> "ApiError":
        """Returns the error of a server that has no sessions at the moment either."""
        return cls(503, notice.code, notice.message, headers={"Retry-After": "5"})

    @property
    def body(self) -> dict[str, object]:
        """The JSON body of the response, and the data of an `error` event."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        if self.status == 429:
            kind = "rate_limit_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        """Builds the response."""
        return JSONResponse(self.body, self.status, {**FRESH, **self.headers})
