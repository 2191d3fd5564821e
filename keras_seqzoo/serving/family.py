"""Common parts of the signatures of all families: options, limits, and valid UTF-8."""

from typing import NamedTuple

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding import DecodingStrategy
from keras_seqzoo.serving.compiled import CompiledShapes

# Tokens of an input, where the model itself has no limit. A language model or tagger of the zoo
# reads this many in less than a second on two cores.
MAX_INPUT_LENGTH = 256
# The texts of warm-up requests, in turn: a sentence, a word and nothing.
EXAMPLES = ("The door was open, and nobody had seen who left.", "Yes.", "")
TRUNCATED = "whether the input was longer than `max_input_length` and was cut"


class Input(NamedTuple):
    """An input of a signature.

    Attributes:
        spec: `tf.TensorSpec`; unknown sizes are `None`, the first is the batch.
        meaning: string, one line.
        blank: string that stands for an empty value where an empty string does not.
    """

    spec: tf.TensorSpec
    meaning: str
    blank: str = ""


class Signature(NamedTuple):
    """A function that is served.

    Attributes:
        function: function from tensors, by the names of the inputs, to a dict of tensors. Its rows
            do not influence each other, except that a sample depends on its place in the batch.
        inputs: dict from names to `Input`s.
        outputs: dict from the names of the outputs to their meaning, one line each.
    """

    function: callable
    inputs: dict
    outputs: dict

    def trace(self):
        """Return the concrete function, which reads invalid UTF-8 as U+FFFD."""

        def served(**inputs):
            return self.function(**{name: _as_valid(value) for name, value in inputs.items()})

        specs = {name: given.spec for name, given in self.inputs.items()}
        return tf.function(served, autograph=False).get_concrete_function(**specs)


class FamilySignatures:
    """Base class of the signatures of a family of models.

    A subclass sets `model_class`, `kind` (the name of such a model in messages) and `options` (the
    arguments of its constructor after `model`, each of which may be `None`), and implements
    `signatures`.

    Args:
        model: a model of the family, with a preprocessor if it takes one.

    Attributes:
        languages: tuple of strings, the target languages of a model that has several.
        limits: dict from the options that are numbers or `compiled_shapes` to their values.
        strategy: the `DecodingStrategy` of the search, or `None`.
        compiled: `CompiledShapes`, without shapes unless `set_compiled_shapes` was called.
        resources: list of the tokenizers and tables that the functions use.

    Raises:
        ValueError: if the model has no preprocessor, or an option is out of its range.
    """

    model_class = object
    kind = "a model"
    options = ()

    def __init__(self, model):
        if getattr(model, "preprocessor", model) is None:
            raise ValueError("`model` must have a preprocessor, to take text, got None.")
        self.model = model
        self.languages = ()
        self.limits = {}
        self.strategy = None
        self.compiled = CompiledShapes([], 0)
        self.resources = []

    def signatures(self):
        """Return a dict from the names of the signatures to `Signature`s."""
        raise NotImplementedError(f"{type(self).__name__} must implement `signatures`.")

    def examples(self, rows):
        """Return inputs of a warm-up request, for all signatures.

        Args:
            rows: int, the batch.

        Returns:
            A dict from the names of inputs to lists.
        """
        return {"text": [EXAMPLES[row % len(EXAMPLES)] for row in range(rows)]}

    def compiled_examples(self):
        """Return a list of inputs of warm-up requests, one for each compiled shape."""
        words = " ".join(EXAMPLES).split()
        return [{"text": texts} for texts in self.compiled.examples(words, self.count_tokens)]

    def count_tokens(self, texts):
        """Return the number of tokens of each text after it is cut, a list of ints."""
        raise NotImplementedError(f"{type(self).__name__} must implement `count_tokens`.")

    def set_compiled_shapes(self, shapes, max_length):
        """Check and record the shapes for which XLA compiles.

        Args:
            shapes: list of pairs of ints, rows and tokens.
            max_length: int, the most tokens.

        Raises:
            ValueError: see `CompiledShapes`.
        """
        self.compiled = CompiledShapes(shapes, max_length)
        self.limits["compiled_shapes"] = [list(shape) for shape in self.compiled.shapes]

    def set_limit(self, name, value, default, maximum=None, reason=""):
        """Check and record a number.

        Args:
            name: string, the name of the option.
            value: int, or `None` for the default.
            default: int.
            maximum: int or `None`.
            reason: string, what sets the maximum.

        Raises:
            ValueError: if the number is below 1 or above the maximum.
        """
        value = check_integer(name, default if value is None else value, minimum=1)
        if maximum is not None and value > maximum:
            raise ValueError(f"`{name}` must be at most {maximum}, {reason}, got {value}.")
        self.limits[name] = value
        return value


def text_input(meaning):
    """Return the inputs of a signature that takes `text`, string `(batch,)`."""
    return {"text": Input(tf.TensorSpec([None], tf.string, name="text"), meaning)}


def cut(rows, length):
    """Cut ragged rows `(batch, None)` to a length; return them and whether each was longer."""
    return rows[:, :length], rows.row_lengths() > length


def check_strategy(strategy, default):
    """Return the strategy, or the default for `None`; raise `TypeError` for any other object."""
    strategy = default if strategy is None else strategy
    if not isinstance(strategy, DecodingStrategy):
        raise TypeError(f"`strategy` must be a DecodingStrategy, got {type(strategy).__name__}.")
    return strategy


def check_constraints(strategy, max_length):
    """Raise `ValueError` if no hypothesis of `max_length` tokens can meet the constraints."""
    for constraint in strategy.constraints:
        constraint.check(max_length)


def _as_valid(tensor):
    if tensor.dtype != tf.string:
        return tensor
    return tf.strings.unicode_transcode(tensor, "UTF-8", "UTF-8", errors="replace")
