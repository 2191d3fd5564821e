"""Log probabilities of given tokens, without the logits of all of them at a time."""

import tensorflow as tf

from keras_seqzoo.layers.large_softmax import LargeSoftmax
from keras_seqzoo.shapes import dimension


def label_log_probabilities(output_layer, inputs, labels, chunk_size=1024):
    """Computes log P of tokens, for some of them at a time.

    Args:
        output_layer: a `LargeSoftmax`, or a function from inputs `(some, ...)` to logits
            `(some, V)`.
        inputs: tensor `(tokens, ...)`.
        labels: int32 tensor `(tokens,)`.
        chunk_size: int, the most tokens whose logits exist at a time.

    Returns:
        float32 tensor `(tokens,)`.
    """
    inputs, labels = tf.convert_to_tensor(inputs), tf.convert_to_tensor(labels)
    count = dimension(labels, 0)
    size = min(chunk_size, count) if isinstance(count, int) else chunk_size
    size = max(size, 1)
    chunks = (count + size - 1) // size
    # Full up to the last, so that all have one shape, which XLA needs.
    missing = chunks * size - count
    labels = tf.reshape(tf.pad(labels, [[0, missing]]), [-1, size])
    inputs = tf.pad(inputs, [[0, missing]] + [[0, 0]] * (inputs.shape.rank - 1))
    inputs = tf.reshape(inputs, [-1, size, *inputs.shape[1:]])
    scores = tf.TensorArray(tf.float32, chunks, element_shape=[size])

    def score(chunk, scores):
        if isinstance(output_layer, LargeSoftmax):
            found = output_layer.label_log_probabilities(inputs[chunk], labels[chunk])
        else:
            logits = tf.cast(output_layer(inputs[chunk]), tf.float32)
            found = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels[chunk], logits)
        return chunk + 1, scores.write(chunk, found)

    _, scores = tf.while_loop(
        lambda chunk, _: chunk < chunks, score, (tf.constant(0), scores), parallel_iterations=1
    )
    return tf.reshape(scores.stack(), [-1])[:count]
