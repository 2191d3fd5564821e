"""Log probabilities of given tokens, without the logits of all of them at a time."""

import tensorflow as tf

from keras_seqzoo.layers.large_softmax import LargeSoftmax


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
    chunks = (tf.shape(labels)[0] + chunk_size - 1) // chunk_size
    scores = tf.TensorArray(tf.float32, chunks, element_shape=[None], infer_shape=False)

    def score(chunk, scores):
        own = slice(chunk * chunk_size, (chunk + 1) * chunk_size)
        if isinstance(output_layer, LargeSoftmax):
            found = output_layer.label_log_probabilities(inputs[own], labels[own])
        else:
            logits = tf.cast(output_layer(inputs[own]), tf.float32)
            found = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels[own], logits)
        return chunk + 1, scores.write(chunk, found)

    _, scores = tf.while_loop(
        lambda chunk, _: chunk < chunks, score, (tf.constant(0), scores), parallel_iterations=1
    )
    return scores.concat()
