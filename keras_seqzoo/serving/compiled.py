"""XLA programs of fixed shapes in a served function."""

import numbers

import tensorflow as tf


class CompiledShapes:
    """The shapes for which XLA compiles a part of a signature, from ids to results.

    Args:
        shapes: list of pairs of ints, rows and tokens; or `None`.
        max_length: int, the most tokens in a row.

    Attributes:
        shapes: list of different pairs, in order of their number of cells.

    Raises:
        ValueError: if a shape is not a pair of ints of at least 1, or has too many tokens.
    """

    def __init__(self, shapes, max_length):
        shapes = {_check_shape(shape, max_length) for shape in shapes or ()}
        self.shapes = sorted(shapes, key=lambda shape: (shape[0] * shape[1], shape))

    def run(self, function, inputs, per_token=False, sizes=None):
        """Run a function, compiled for the first of the shapes that holds the inputs.

        The inputs are padded to the shape, and the padding is cut off the outputs. Without rows,
        or if no shape holds the inputs, the function runs as it is.

        Args:
            function: function from a dict of tensors to a nest of tensors. Padding, whether rows or
                tokens, must not change the other results.
            inputs: dict of tensors `(batch, length, ...)` with `padding_mask`.
            per_token: bool, whether outputs are `(batch, length, ...)`; else they are
                `(batch, ...)`.
            sizes: dict from names of inputs to the sizes after `(batch, length)`, a tuple.

        Returns:
            The outputs of the function.
        """
        if not self.shapes:
            return function(inputs)
        compiled = tf.function(function, autograph=False, jit_compile=True)
        rows, length = tf.unstack(tf.shape(inputs["padding_mask"]))

        def branch(shape):
            def run_compiled():
                padded = {
                    name: _pad(tensor, (*shape, *(sizes or {}).get(name, ())))
                    for name, tensor in inputs.items()
                }
                outputs = compiled(padded)
                return tf.nest.map_structure(
                    lambda output: output[:rows, :length] if per_token else output[:rows], outputs
                )

            return run_compiled

        fits = tf.reduce_all([rows, length] <= tf.constant(self.shapes), axis=1) & (rows > 0)
        first = tf.argmax(tf.concat([fits, [True]], 0), output_type=tf.int32)
        branches = [branch(shape) for shape in self.shapes]
        return tf.switch_case(first, [*branches, lambda: function(inputs)])

    def examples(self, words, count_tokens):
        """Return a batch of texts for each shape, as long as the shape or nearly so.

        Args:
            words: list of strings, the words of the texts.
            count_tokens: function from a list of texts to the numbers of their tokens.

        Returns:
            A list of lists of strings, in the order of `shapes`.
        """
        return [
            [_text_of_length(length, words, count_tokens)] * rows for rows, length in self.shapes
        ]


def _check_shape(shape, max_length):
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else shape
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(map(_is_size, shape))):
        raise ValueError(
            f"`compiled_shapes` must be pairs of ints of at least 1, got {shape!r} among them."
        )
    if shape[1] > max_length:
        raise ValueError(
            f"`compiled_shapes` must have at most the {max_length} tokens of `max_input_length`, "
            f"got {shape[1]}."
        )
    return int(shape[0]), int(shape[1])


def _is_size(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and value >= 1


def _pad(tensor, shape):
    """Pad a tensor to a static shape with zeros."""
    missing = shape - tf.shape(tensor)
    padded = tf.pad(tensor, tf.stack([tf.zeros_like(missing), missing], axis=1))
    return tf.ensure_shape(padded, shape)


def _text_of_length(length, words, count_tokens):
    """Return a text of the words with this number of tokens, or as few less as possible."""

    def text(number):
        return " ".join(words[place % len(words)] for place in range(number))

    fewest, most = 0, length + 1  # the number of words
    while most - fewest > 1:
        middle = (fewest + most) // 2
        if count_tokens([text(middle)])[0] <= length:
            fewest = middle
        else:
            most = middle
    endings = ["", *(word[:size] for word in words for size in range(1, len(word) + 1))]
    texts = [f"{text(fewest)} {ending}".strip() for ending in endings]
    counts = [int(count) for count in count_tokens(texts)]
    return texts[max(range(len(texts)), key=lambda n: (counts[n] <= length, counts[n]))]
