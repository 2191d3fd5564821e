"""Encrypted connections: certificates and keys."""

import dataclasses
import os
import pathlib
import ssl

import grpc


@dataclasses.dataclass(frozen=True)
class TLS:
    """Certificates and keys of an encrypted connection, files in the PEM format.

    Args:
        root_certificates: path of the certificates that verify the server's certificate; `None` for
            those that come with gRPC or, for REST, with httpx.
        client_key: path of the client's private key, for a server that asks for one.
        client_certificate: path of the client's certificate.

    Raises:
        ValueError: if only one of key and certificate is given, or a file is not in the format.
        OSError: if a file cannot be read.

    Example:
    ```python
    client = Client("models.example.org:443", "en_fr", tls=TLS(root_certificates="roots.pem"))
    ```
    """

    root_certificates: str | os.PathLike | None = None
    client_key: str | os.PathLike | None = None
    client_certificate: str | os.PathLike | None = None

    def __post_init__(self):
        """Check the files."""
        if (self.client_key is None) != (self.client_certificate is None):
            raise ValueError(
                "`client_key` and `client_certificate` must be given together, got "
                f"{self.client_key!r} and {self.client_certificate!r}."
            )
        self.add_to(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def add_to(self, context):
        """Load the files into an `ssl.SSLContext`."""
        if self.root_certificates is not None:
            with _checked("root_certificates", self.root_certificates):
                context.load_verify_locations(cafile=self.root_certificates)
        if self.client_key is not None:
            with _checked("client_certificate", self.client_certificate):
                context.load_cert_chain(self.client_certificate, self.client_key)

    def channel_credentials(self):
        """Return the credentials of a gRPC channel."""
        files = self.root_certificates, self.client_key, self.client_certificate
        contents = (None if file is None else pathlib.Path(file).read_bytes() for file in files)
        return grpc.ssl_channel_credentials(*contents)


class _checked:  # noqa: N801
    """Name the argument and the file in errors from `ssl`, which name neither."""

    def __init__(self, argument, path):
        self._argument = argument
        self._path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, ssl.SSLError):
            raise ValueError(
                f"`{self._argument}` must be in PEM format, and fit its key, got {self._path}: "
                f"{error.reason or error}."
            ) from error
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, os.fspath(self._path)) from error
