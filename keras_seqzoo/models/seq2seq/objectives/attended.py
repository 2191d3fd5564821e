"""Teacher forcing that returns the attention weights, for objectives that read them."""

from keras_seqzoo.models.common.next_token_training import next_token_loss
from keras_seqzoo.models.seq2seq.source_output import refuse_mixture


def check_attention(objective, model, metrics):
    """Raise a `ValueError` without attention, with an output of mixtures, or with metrics.

    Args:
        objective: string, the name of the objective.
        model: the task.
        metrics: list of metrics.
    """
    if model.decoder.attention is None:
        raise ValueError(f"`objective` must not be {objective} for a model without attention.")
    refuse_mixture(model, f"`objective` must not be {objective} for")
    check_no_metrics(objective, metrics)


def check_no_metrics(objective, metrics):
    """Raise a `ValueError` for metrics with an objective that computes no logits.

    Args:
        objective: string, the name of the objective.
        metrics: list of metrics.
    """
    if metrics:
        raise ValueError(
            f"`weighted_metrics` and `metrics` must be empty with {objective}, got {metrics!r}."
        )


def read_attending(model, inputs, mask=None, training=True):
    """Run an encoder-decoder with attention over a batch, with teacher forcing.

    Args:
        model: a `RecurrentSeq2SeqLM` with attention.
        inputs: its inputs.
        mask: bool tensor `(B, T)`, true at target tokens, or `None` for the mask that the decoder
            needs for its own losses, if any.
        training: bool.

    Returns:
        A tuple `(features, weights, state)` of the decoder's `attend`.
    """
    source_mask = inputs["encoder_padding_mask"]
    state = model.start(inputs["encoder_token_ids"], source_mask, training=training)
    if mask is None and model.decoder.reads_target_mask:
        mask = inputs["decoder_padding_mask"]
    return model.decoder.attend(inputs["decoder_token_ids"], state, training, mask)


def likelihood_loss(model, features, labels, sample_weight):
    """Return the `compile` loss of features that were computed in training mode.

    Raises:
        ValueError: if the loss is not a `SequenceCrossentropy` without weights.
    """
    check_loss(model, labels, sample_weight)
    smoothing = model.loss.label_smoothing
    return next_token_loss(model.output_layer, features, labels, sample_weight, smoothing, True)


def check_loss(model, labels, sample_weight):
    """Raise a `ValueError` if the loss of a batch needs logits, see `NextTokenTraining`."""
    if not model.needs_no_logits(labels, sample_weight):
        raise ValueError(
            "`loss` must be a SequenceCrossentropy without metrics, loss weights and reduction of "
            f"one's own with the objective {type(model.objective).__name__}, got {model.loss!r}."
        )
