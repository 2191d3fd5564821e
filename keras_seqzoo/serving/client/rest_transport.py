"""Requests over REST, for which httpx is needed."""

import json
import ssl
import time
from urllib.parse import quote

from google.protobuf import json_format
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse

from keras_seqzoo.serving.client.arrays import from_json, to_json
from keras_seqzoo.serving.client.descriptions import read_signatures

try:
    import httpx
except ImportError as error:
    raise ImportError(
        "`protocol` rest needs httpx; install it with: pip install 'keras-seqzoo[serving]'"
    ) from error

# What arrays that do not fit a signature raise.
UNFIT = (KeyError, TypeError, ValueError, OverflowError)
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
MOST_CAUSE = 300  # most characters to quote of an answer that is not the server's


class RestTransport:
    """A model's methods over REST.

    The types of a model's outputs, which are not in the JSON, are requested once.

    Args:
        address: a `ModelAddress`; a path may follow host and port.
        tls: a `TLS`, or `None`.
        headers: dict from names to strings.
    """

    def __init__(self, address, tls, headers):
        self._address = address
        verify = True
        if tls is not None:
            verify = (
                httpx.create_ssl_context()
                if tls.root_certificates is None
                else ssl.create_default_context(cafile=tls.root_certificates)
            )
            tls.add_to(verify)
        self._http = httpx.Client(
            headers=headers, verify=verify, limits=httpx.Limits(max_connections=None)
        )
        scheme = "http" if tls is None else "https"
        self._model = f"{scheme}://{address.server}/v1/models/{quote(address.model, safe='')}"
        version = address.version
        if isinstance(version, str):
            self._version = f"{self._model}/labels/{quote(version, safe='')}"
        else:
            self._version = self._model if version is None else f"{self._model}/versions/{version}"
        self._signatures = {}

    def predict(self, inputs, signature, timeout):
        """Run a signature: dict of arrays in, dict of arrays out."""
        end = _end_of(timeout)
        # Characters are escaped, so that even a NUL is valid JSON.
        body = json.dumps(
            {
                "signature_name": signature,
                "inputs": {name: to_json(array) for name, array in inputs.items()},
            }
        )
        answer = self._ask("POST", f"{self._version}:predict", signature, end, body)
        try:
            return self._arrays(answer["outputs"], signature, end)
        except UNFIT as error:
            cause = f"the answer does not fit the signature: {error}"
            raise self._address.error(signature, "INTERNAL", cause) from error

    def signatures(self, timeout):
        """Return the `SignatureDefMap` of the model."""
        answer = self._ask("GET", f"{self._version}/metadata", None, _end_of(timeout))
        found = answer.get("metadata", {}).get("signature_def", {})
        return self._parse(found, SignatureDefMap())

    def status(self, timeout):
        """Return the `GetModelStatusResponse` of all versions of the model."""
        answer = self._ask("GET", self._model, None, _end_of(timeout))
        return self._parse(answer, GetModelStatusResponse())

    def close(self):
        """Close the connections."""
        self._http.close()

    def _arrays(self, outputs, signature, end):
        infos = self._outputs(signature, end)
        try:
            return _typed(outputs, infos)
        except UNFIT:  # perhaps of another version
            self._signatures = {}
            return _typed(outputs, self._outputs(signature, end))

    def _outputs(self, signature, end):
        known = self._signatures  # another thread may replace it
        if signature not in known:
            known = self._signatures = read_signatures(self.signatures(_left(end)))
        return known[signature].outputs

    def _parse(self, found, message):
        try:
            return json_format.ParseDict(found, message, ignore_unknown_fields=True)
        except json_format.ParseError as error:
            cause = f"the answer is not that of a model server: {error}"
            raise self._address.error(None, "INTERNAL", cause) from error

    def _ask(self, method, url, signature, end, body=None):
        """Return the JSON object of an answer; raise `ServingError` for any other answer."""
        response, content = None, b""
        try:
            timeout = _left(end)
            if timeout == 0.0:
                raise httpx.PoolTimeout("no time is left")
            with self._http.stream(method, url, content=body, timeout=timeout) as response:
                for part in response.iter_bytes():
                    content += part
                    if _left(end) == 0.0:
                        raise httpx.ReadTimeout("the answer did not end in time")
        except httpx.TimeoutException as error:
            cause = str(error) or "the server did not answer in time"
            raise self._address.error(signature, "DEADLINE_EXCEEDED", cause) from error
        except httpx.RequestError as error:
            begun = response is not None
            again = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError)) and not begun
            cause = str(error) or type(error).__name__
            status = "UNAVAILABLE" if again else "UNKNOWN"
            raise self._address.error(signature, status, cause) from error
        text = content.decode("utf-8", errors="replace")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if response.status_code == 200 and isinstance(answer, dict):
            return answer
        cause = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(cause, str):
            cause = f"HTTP {response.status_code}: {text[:MOST_CAUSE]}"
        status = STATUSES.get(response.status_code, "UNKNOWN")
        raise self._address.error(signature, status, cause)


def _typed(outputs, infos):
    """Return the arrays of a JSON answer by the descriptions of the outputs."""
    # If there is only one output, it comes without its name.
    named = {next(iter(infos)): outputs} if len(infos) == 1 else outputs
    if not isinstance(named, dict) or named.keys() != infos.keys():
        raise ValueError(f"it must have the outputs {', '.join(infos)}")
    return {name: from_json(named[name], info) for name, info in infos.items()}


def _end_of(timeout):
    return None if timeout is None else time.monotonic() + timeout


def _left(end):
    return None if end is None else max(0.0, end - time.monotonic())
