"""Checks of the arguments of a client."""

import re

from keras_seqzoo.checks import check_integer
from keras_seqzoo.serving.client.errors import ModelAddress
from keras_seqzoo.serving.client.grpc_transport import GrpcTransport

ADDRESS = re.compile(r"(\[[\w:.%]+\]|[^\s:/\[\]@?#]+):(?P<port>\d{1,5})", re.ASCII)
LAST_PORT = 65_535
PATH = re.compile(r"(/[^\s/?#]+)*")  # of REST behind a proxy


def transport_class(protocol):
    """Return the class of the transport of a protocol."""
    if protocol == "grpc":
        return GrpcTransport
    from keras_seqzoo.serving.client.rest_transport import RestTransport

    return RestTransport


def check_address(address, model, version, protocol):
    """Return the `ModelAddress` of the arguments, or raise `ValueError`."""
    text = address if isinstance(address, str) else ""
    found = ADDRESS.match(text)
    path = text[found.end() :] if found else text
    if found and not 0 < int(found["port"]) <= LAST_PORT:
        raise ValueError(f"`address` must have a port from 1 to {LAST_PORT}, got {address!r}.")
    if not found or not (PATH.fullmatch(path) if protocol == "rest" else path == ""):
        form = "HOST:PORT" if protocol == "grpc" else "HOST:PORT, or HOST:PORT/PATH"
        raise ValueError(f"`address` must be {form}, without a scheme, got {address!r}.")
    if not isinstance(model, str) or not model:
        raise ValueError(f"`model` must be the name of a model, got {model!r}.")
    if version is not None and (not isinstance(version, str) or not version):
        version = check_integer("version", version, minimum=0)
    return ModelAddress(address, model, version)


def check_headers(headers):
    """Return headers as a dict of strings, or raise `ValueError`."""
    headers = {} if headers is None else dict(headers)
    for name, value in headers.items():
        parts = name, value
        if not all(
            isinstance(part, str) and part.isascii() and part.isprintable() for part in parts
        ):
            raise ValueError(f"`headers` must be printable ASCII, got {name!r}: {value!r}.")
    return headers


def join_languages(language, count):
    """Return the target language of each text, or `None`.

    Args:
        language: string, list of strings, one for each text, or `None`.
        count: int, the number of texts.

    Raises:
        ValueError: if the list has another length or other objects.
    """
    if language is None:
        return None
    languages = [language] * count if isinstance(language, str) else list(language)
    if len(languages) != count or not all(isinstance(name, str) for name in languages):
        raise ValueError(
            "`language` must be a string, or one for each of the "
            f"{count} `texts`, got {language!r}."
        )
    return languages
