"""The server's statuses: a gRPC code and a message."""

from grpc import StatusCode

CODES = {code.value[0]: code for code in StatusCode}
LONGEST = 1024  # characters of a message on gRPC


class ServingError(Exception):
    """A request that has no answer.

    Args:
        code: a `grpc.StatusCode`.
        message: what the client is told.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self):
        return f"{self.code.name}: {self.message}"

    @property
    def grpc_message(self):
        return self.message if len(self.message) <= LONGEST else _cut(self.message)


def _cut(message):
    return message[:LONGEST] + "...TRUNCATED"


def invalid(message):
    return ServingError(StatusCode.INVALID_ARGUMENT, message)


def not_found(message):
    return ServingError(StatusCode.NOT_FOUND, message)


def precondition(message):
    return ServingError(StatusCode.FAILED_PRECONDITION, message)


def internal(message):
    return ServingError(StatusCode.INTERNAL, message)


def unavailable(message):
    return ServingError(StatusCode.UNAVAILABLE, message)


def not_served(name, number=None):
    """The error of a model or version that is not there; `number` None is the latest."""
    asked = f"Latest({name})" if number is None else f"Specific({name}, {number})"
    return not_found(f"Servable not found for request: {asked}")
