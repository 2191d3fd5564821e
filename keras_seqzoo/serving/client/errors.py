"""The error of a request to a server."""

from typing import NamedTuple


class ServingError(OSError):
    """Error of a request to a server.

    Attributes:
        server: string, the address.
        model: string, the name of the model.
        version: int, the number of the requested version; string, its label; or `None` for the
            latest.
        signature: string, or `None` if the request was not for a signature.
        status: string, the name of the status in gRPC, such as `"NOT_FOUND"`, also over REST.
        cause: string, what the server or the network says.
    """

    def __init__(self, server, model, version, signature, status, cause):
        self.server = server
        self.model = model
        self.version = version
        self.signature = signature
        self.status = status
        self.cause = cause
        which = "latest version" if version is None else f"version {version}"
        asked = "" if signature is None else f", signature {signature}"
        super().__init__(f"{server}, model {model}, {which}{asked}: {status}: {cause}")

    def __reduce__(self):
        """Return how to recreate the error in another process."""
        values = self.server, self.model, self.version, self.signature, self.status, self.cause
        return type(self), values


class ModelAddress(NamedTuple):
    """A model on a server.

    Attributes:
        server: string, host and port.
        model: string, the name of the model.
        version: int, string or `None`, see `ServingError`.
    """

    server: str
    model: str
    version: int | str | None

    def error(self, signature, status, cause):
        """Return the `ServingError` of a request to the model."""
        return ServingError(*self, signature, status, cause)
