"""The client of a model on a server."""

import re
import threading
import time
import warnings

from keras_seqzoo.checks import (
    check_choice,
    check_integer,
    check_number,
    check_positive,
    list_of_texts,
)
from keras_seqzoo.data.batching.length_buckets import length_sorted_batches
from keras_seqzoo.serving.client import results
from keras_seqzoo.serving.client.arguments import (
    check_address,
    check_headers,
    join_languages,
    transport_class,
)
from keras_seqzoo.serving.client.arrays import encode_text, input_array, string_array
from keras_seqzoo.serving.client.descriptions import read_signatures, read_versions
from keras_seqzoo.serving.client.errors import ServingError
from keras_seqzoo.serving.client.parallel import run_in_parallel
from keras_seqzoo.serving.client.phrases import join_phrases
from keras_seqzoo.serving.client.retries import call_with_retries, is_unavailable
from keras_seqzoo.serving.client.tls import TLS

PROTOCOLS = ("grpc", "rest")
FIRST_RETRIES = 5  # of a server that has never answered
POLL = 0.2  # seconds between two checks whether a model is ready
MISSING_LANGUAGE = re.compile("\\b[Mm]issing\\b.*\\blanguage\\b")
NOT_YET = ("NOT_FOUND", "DEADLINE_EXCEEDED")
UNKNOWN_LABEL = ("NOT_FOUND", "INVALID_ARGUMENT", "FAILED_PRECONDITION")


class Client:
    """Client of a model that `keras_seqzoo.serving` exported, on a TensorFlow Serving server.

    Texts are sent in batches of similar length, several batches at a time; the results come in
    the order of the texts. A request that finds no server, or a busy one, is sent again after a
    pause. If a server has answered this client before, the client waits for it until the deadline,
    so that it may restart. Other errors are not retried: the model would give the same answer,
    unless it samples.

    The methods for a family return what its models return, except what is not served. A text that
    is longer than the limit of the export is cut, with one warning for the call.

    A client may be used by several threads. It is a context manager that closes its connections.

    Args:
        address: string, `"HOST:PORT"`: 8500 is the usual port of gRPC, 8501 of REST. For REST
            behind a proxy, a path may follow.
        model: string, the name of the model on the server.
        protocol: `"grpc"`, or `"rest"`, for which the extra `serving` must be installed.
        version: int, the number of the version; string, its label; or `None` for the latest.
        deadline: float, the seconds for a request with all its attempts; `None` for no limit.
        retries: int, how often a request that finds no server, or a busy one, is sent again. By
            default as often as the deadline allows, but 5 times before the first answer.
        batch_size: int, the largest number of texts in a request.
        concurrency: int, the largest number of requests of a call at a time.
        tls: a `TLS`, `True` for `TLS()`, or `None` for a connection that is not encrypted.
        headers: dict from names to strings, sent with every request; metadata in gRPC.
        on_truncated: function called in place of the warning, with the list of the indices of the
            texts that were cut.

    Raises:
        ValueError: if an argument is invalid.
        ImportError: if httpx is needed and missing.
        OSError: if a file of `tls` cannot be read.

    Every method raises `ServingError` if there is no answer, or if the answer is an error or does
    not fit the method; and `ValueError` for arguments that cannot be sent, or if the client is
    closed.

    Example:
    ```python
    with keras_seqzoo.serving.Client("localhost:8500", "en_fr") as client:
        [[translation]] = client.translate(["Two dogs run."])
        print(translation.text, translation.score)
    ```
    """

    def __init__(
        self,
        address,
        model,
        *,
        protocol="grpc",
        version=None,
        deadline=60.0,
        retries=None,
        batch_size=32,
        concurrency=4,
        tls=None,
        headers=None,
        on_truncated=None,
    ):
        check_choice("protocol", protocol, PROTOCOLS)
        self._address = check_address(address, model, version, protocol)
        self._deadline = None if deadline is None else check_positive("deadline", deadline)
        self._retries = None if retries is None else check_integer("retries", retries, minimum=0)
        self._batch_size = check_integer("batch_size", batch_size, minimum=1)
        self._concurrency = check_integer("concurrency", concurrency, minimum=1)
        self._on_truncated = on_truncated
        self._closed = threading.Event()
        self._answered = False
        self._with_phrases = set()  # signatures that take required phrases
        tls = TLS() if tls is True else tls or None
        if not isinstance(tls, TLS | None):
            raise ValueError(f"`tls` must be a TLS, True or None, got {tls!r}.")
        self._transport = transport_class(protocol)(self._address, tls, check_headers(headers))

    def __enter__(self):
        """Return the client."""
        return self

    def __exit__(self, *_):
        """Close the client."""
        self.close()

    def close(self):
        """Close the connections. Requests over gRPC that are under way end with an error."""
        self._closed.set()
        self._transport.close()

    # === Requests ===

    def predict(self, inputs, signature="serving_default"):
        """Run a signature as one request.

        Args:
            inputs: dict from the names of the inputs to arrays, tensors or lists. Strings may be
                `str` or bytes; bytes are sent as they are. In lists, ints become int32 and floats
                float32; an empty list is a list of strings. Inputs without rows are sent too, but
                a server that batches makes them wait for a request with rows.
            signature: string.

        Returns:
            A dict from the names of the outputs to NumPy arrays. Strings are `str` in object
            arrays; bytes that are not UTF-8 are read as U+FFFD.
        """
        arrays = {name: input_array(name, value) for name, value in inputs.items()}
        return self._predict(arrays, signature)

    def metadata(self):
        """Return the signatures of the model: a dict from names to `SignatureInfo`s."""
        return read_signatures(self._retry(self._transport.signatures))

    def status(self):
        """Return the state of the model's versions: a list of `VersionStatus`, newest first."""
        return read_versions(self._retry(self._transport.status))

    def wait_until_ready(self, timeout=60.0):
        """Wait until the model answers, even if the server is not there yet.

        Args:
            timeout: float, seconds.

        Raises:
            ServingError: with status `"DEADLINE_EXCEEDED"` if it takes longer; with another status
                if the server refuses the request.
        """
        end = time.monotonic() + check_number("timeout", timeout, 0.0)
        while True:
            left = end - time.monotonic()
            try:
                ready, cause = self._is_ready(max(left, POLL))
            except ServingError as error:
                if error.status not in NOT_YET and not is_unavailable(error):
                    raise
                ready, cause = False, error.cause
            if ready:
                return
            if left <= POLL or self._closed.wait(POLL):
                cause = f"not ready after {timeout:g} s: {cause}"
                raise self._address.error(None, "DEADLINE_EXCEEDED", cause)

    # === Families ===

    def translate(self, texts, required_phrases=None, on_batch=None, language=None):
        """Translate texts with `serving_default` of a translation model.

        Args:
            texts: list of strings. Bytes are taken as UTF-8.
            required_phrases: a list with, for each text, a list of strings that its translation
                must contain, if the model was exported with a `LexicallyConstrainedBeamSearch`.
            on_batch: function called with the number of texts after each batch.
            language: for a model with several target languages, one of them: a string, or a list
                with one for each text.

        Returns:
            A list with, for each text, a list of one `Translation`. Tokens, alignment and, here,
            `log_probability` are not served; the last is NaN.
        """
        return self._answers(results.TRANSLATION, texts, required_phrases, on_batch, language)

    def n_best(self, texts, required_phrases=None, on_batch=None, language=None):
        """Translate texts with `n_best` of a translation model: several translations of each.

        Args:
            texts: see `translate`.
            required_phrases: see `translate`.
            on_batch: see `translate`.
            language: see `translate`.

        Returns:
            A list with, for each text, a list of `Translation`s without tokens and alignment, best
            first: as many as were chosen at export, or fewer if the search found fewer.
        """
        return self._answers(results.N_BEST, texts, required_phrases, on_batch, language)

    def classify(self, texts):
        """Classify texts with a text classifier.

        Args:
            texts: list of strings.

        Returns:
            A list of `Classification`s.
        """
        return self._answers(results.CLASSIFICATION, texts)

    def tag(self, texts):
        """Tag the words of texts with a tagger.

        Args:
            texts: list of strings, which the model splits into words.

        Returns:
            A list of `TaggedText`s.
        """
        return self._answers(results.TAGS, texts)

    def score(self, texts):
        """Compute the log probability of texts with `score` of a language model.

        Args:
            texts: list of strings.

        Returns:
            A list of `Score`s. For a text that was cut, it is that of its beginning, without an
            end.
        """
        return self._answers(results.SCORE, texts)

    def generate(self, prompts):
        """Continue texts with a language model.

        Args:
            prompts: list of strings, which may be empty.

        Returns:
            A list with a list of strings for each prompt, best first. Each string includes the
            prompt. Their number was chosen at export.
        """
        return self._answers(results.GENERATED, prompts, name="prompts")

    def similar(self, words):
        """Find words with similar vectors with `similar` of word vectors.

        Args:
            words: list of strings.

        Returns:
            A list with, for each word, a list of pairs of a word and its cosine, nearest first. The
            list of a word without a vector is empty.
        """
        return self._answers(results.SIMILAR, words, name="words")

    # === Inside ===

    def _answers(
        self, answer, texts, required_phrases=None, on_batch=None, language=None, name="texts"
    ):
        """Return the results of texts, in order; an `Answer` says what to ask and how to read."""
        texts = list(map(encode_text, list_of_texts(texts, name)))
        phrases = join_phrases(required_phrases, len(texts))
        if phrases is not None:
            cause = "the model was exported without a search for required phrases"
            self._check_input(answer.signature, "required_phrases", cause)
        languages = join_languages(language, len(texts))
        if languages is not None:
            cause = "the model has one target language, and takes no `language`"
            self._check_input(answer.signature, "language", cause)
        found, cut = [None] * len(texts), []

        def ask(rows):
            inputs = {"text": string_array([texts[row] for row in rows])}
            if phrases is not None:
                inputs["required_phrases"] = string_array([phrases[row] for row in rows])
            if languages is not None:
                inputs["language"] = string_array([languages[row] for row in rows])
            outputs = self._predict_with_phrases(inputs, answer.signature)
            return self._columns(answer, outputs, len(rows))

        batches = list(length_sorted_batches(texts, self._batch_size))
        columns = run_in_parallel(ask, batches, self._concurrency)
        for rows, (*values, truncated) in zip(batches, columns, strict=True):
            for row, *own in zip(rows.tolist(), *values, strict=True):
                found[row] = answer.read(texts[row].decode("utf-8", errors="replace"), *own)
            cut += rows[truncated.astype(bool)].tolist()
            if on_batch is not None:
                on_batch(len(rows))
        self._report_truncated(sorted(cut), len(texts))
        return found

    def _check_input(self, signature, name, cause):
        """Raise `ServingError` if a signature has no such input: over REST it would be ignored."""
        found = self.metadata()
        if signature in found and name not in found[signature].inputs:
            raise self._address.error(signature, "UNIMPLEMENTED", cause)

    def _predict_with_phrases(self, inputs, signature):
        """Run a signature; if it takes phrases and none are given, send none for each text."""
        if signature not in self._with_phrases:
            try:
                return self._predict(inputs, signature)
            except ServingError as error:
                if "language" not in inputs and MISSING_LANGUAGE.search(error.cause):
                    cause = "the model has several target languages: `language` must be given"
                    raise self._address.error(signature, error.status, cause) from error
                if "required_phrases" not in error.cause or "required_phrases" in inputs:
                    raise
                self._with_phrases.add(signature)
        none = string_array([b""] * len(inputs["text"]))
        try:
            return self._predict({"required_phrases": none, **inputs}, signature)
        except ServingError as error:
            if "required_phrases" in inputs or "required_phrases" not in error.cause:
                raise
            self._with_phrases.discard(signature)  # another version may take none
        return self._predict(inputs, signature)

    def _columns(self, answer, outputs, rows):
        """Return the outputs that an `Answer` reads, and `truncated`."""
        names = (*answer.outputs, "truncated")
        missing = [name for name in names if name not in outputs]
        if missing:
            cause = (
                f"the model has no output {', '.join(missing)} but {', '.join(sorted(outputs))}: "
                "it is of another family or was exported by another version of this package"
            )
            raise self._address.error(answer.signature, "UNIMPLEMENTED", cause)
        sizes = {outputs[name].shape[:1] for name in names}
        if sizes != {(rows,)}:
            cause = f"{rows} rows were sent, and outputs have the sizes {sorted(sizes)}"
            raise self._address.error(answer.signature, "INTERNAL", cause)
        errors = [cause for cause in outputs.get("error", ()) if cause]
        if errors:
            raise self._address.error(answer.signature, "INVALID_ARGUMENT", errors[0])
        return [outputs[name] for name in names]

    def _report_truncated(self, cut, total):
        if not cut:
            return
        if self._on_truncated is not None:
            self._on_truncated(cut)
            return
        warnings.warn(
            f"{len(cut)} of {total} texts were longer than the limit of model "
            f"{self._address.model} on {self._address.server}; they were cut",
            stacklevel=4,
        )

    def _predict(self, arrays, signature):
        return self._retry(lambda timeout: self._transport.predict(arrays, signature, timeout))

    def _is_ready(self, timeout):
        """Return whether the version is available, and a string with the states of all."""
        versions = read_versions(self._transport.status(timeout))
        asked = self._address.version
        ready = any(
            version.state == "AVAILABLE"
            and (not isinstance(asked, int) or version.version == asked)
            for version in versions
        )
        states = [f"version {number} {state} {error}".strip() for number, state, error in versions]
        if ready and isinstance(asked, str):  # the states have no labels
            try:
                self._transport.signatures(timeout)
            except ServingError as error:
                if error.status not in UNKNOWN_LABEL:
                    raise
                return False, error.cause
        return ready, "; ".join(states) or "it has no version"

    def _retry(self, attempt):
        if self._closed.is_set():
            raise ValueError("the client must be open, got a closed one.")
        retries = self._retries
        if retries is None and not self._answered:
            retries = FIRST_RETRIES
        answer = call_with_retries(attempt, self._deadline, retries, self._closed)
        self._answered = True
        return answer
