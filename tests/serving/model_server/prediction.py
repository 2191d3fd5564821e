"""What both protocols ask: predictions, metadata, and the states of versions."""

import contextlib
import time

from grpc import StatusCode

from tests.serving.model_server.errors import (
    ServingError,
    internal,
    invalid,
    not_found,
    not_served,
    precondition,
)

DEFAULT_SIGNATURE = "serving_default"
METHODS = tuple(f"tensorflow/serving/{kind}" for kind in ("predict", "classify", "regress"))


class Models:
    """All models of the server.

    Args:
        models: `ServedModel`s by name.
        predictor: a `Predictor`.
    """

    def __init__(self, models, predictor):
        self._models = models
        self.predictor = predictor

    @contextlib.contextmanager
    def version(self, spec):
        """Lends the version that a `ModelSpec` names."""
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        if spec.WhichOneof("version_choice") == "version_label":
            raise invalid(f"Unrecognized servable version label: {spec.version_label}")
        number = spec.version.value if spec.HasField("version") else None
        if spec.name not in self._models:
            raise not_served(spec.name, number)
        with self._models[spec.name].version(number) as loaded:
            yield loaded

    def states(self, spec):
        """Gives (version, state, error) of the versions that a `ModelSpec` names."""
        model = self._models.get(spec.name)
        states = model.states() if model else {}
        if spec.HasField("version"):
            number = spec.version.value
            if number not in states:
                raise not_found(f"Could not find version {number} of model {spec.name}")
            return [(number, *states[number])]
        if not states:
            raise not_found(f"Could not find any versions of model {spec.name}")
        return [(number, *state) for number, state in states.items()]


class Predictor:
    """Runs signatures.

    Args:
        batcher: a `Batcher`, or None to run each request alone.
    """

    def __init__(self, batcher=None):
        self._batcher = batcher

    def predict(self, loaded, name, inputs, array_of, output_filter=(), seconds=None):
        """Runs a signature.

        Args:
            loaded: a `LoadedVersion`.
            name: of the signature, "" for the default.
            inputs: what was given, by the names of inputs.
            array_of: `array_of(given, name)` makes an array of it.
            output_filter: names of the outputs to give, all if there are none.
            seconds: until nobody waits for the answer, None for never.

        Returns: Arrays by the names of outputs.
        """
        until = None if seconds is None else time.monotonic() + seconds
        name = name or DEFAULT_SIGNATURE
        if name not in loaded.signatures:
            raise precondition(f'Serving signature key "{name}" not found.')
        signature = loaded.signatures[name]
        check(signature, inputs)
        feeds = {
            info.name: array_of(inputs[alias], alias) for alias, info in signature.inputs.items()
        }
        aliases = filtered(signature, output_filter)
        tensors = {alias: signature.outputs[alias].name for alias in aliases}
        fetches = sorted(set(tensors.values()))
        seconds = None if until is None else until - time.monotonic()
        if seconds is not None and seconds <= 0:
            raise ServingError(StatusCode.DEADLINE_EXCEEDED, "Timed out before the run")
        if self._batcher is None:
            outputs = loaded.run(feeds, fetches, seconds)
        else:
            outputs = self._batcher.run(loaded, feeds, fetches, seconds)
        outputs = dict(zip(fetches, outputs, strict=True))
        return {alias: outputs[tensors[alias]] for alias in aliases}


def check(signature, inputs):
    """Raises an error unless the inputs are those of the signature."""
    if signature.method_name not in METHODS:
        raise internal(
            "Expected prediction signature method_name to be one of "
            f"{{{', '.join(METHODS)}}}. Was: {signature.method_name}"
        )
    given, wanted = sorted(inputs), sorted(signature.inputs)
    extra = ",".join(sorted(set(given) - set(wanted)))
    missing = ",".join(sorted(set(wanted) - set(given)))
    if len(given) != len(wanted):
        raise invalid(
            f"input size does not match signature: {len(given)}!={len(wanted)} "
            f"len({{{','.join(given)}}}) != len({{{','.join(wanted)}}}). "
            f"Sent extra: {{{extra}}}. Missing but required: {{{missing}}}."
        )
    if missing:
        alias = missing.split(",")[0]
        raise invalid(
            f"Signature input alias: {alias}(feed name: {signature.inputs[alias].name}) not found "
            "in request and no default value provided. Inputs expected to be in the request "
            f"{{{','.join(given)}}}, or default input alias set: "
        )


def filtered(signature, output_filter):
    """The names of the outputs to give."""
    known = sorted(signature.outputs)
    for index, alias in enumerate(output_filter):
        if alias not in known:
            raise invalid(
                f"output tensor alias not found in signature: {alias} Outputs expected to be in "
                f"the set {{{','.join(known)}}}."
            )
        if alias in output_filter[:index]:
            raise invalid(f"duplicate output tensor alias: {alias}")
    return list(output_filter) or known
