"""Log probabilities of given tokens, without the logits of all of them at a time."""

import tensorflow as tf


def label_log_probabilities(logits_of, inputs, labels, chunk_size=1024):
    """Computes log P of tokens under logits that are made for some of them at a time.

    Args:
        logits_of: function from inputs `(some, ...)` to logits `(some, V)`.
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
        logits = tf.cast(logits_of(inputs[own]), tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels[own], logits)
        return chunk + 1, scores.write(chunk, -losses)

    _, scores = tf.while_loop(
        lambda chunk, _: chunk < chunks, score, (tf.constant(0), scores), parallel_iterations=1
    )
    return scores.concat()
