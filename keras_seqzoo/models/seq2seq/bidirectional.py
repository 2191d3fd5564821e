"""Two translation models of opposite directions, trained together."""

from functools import partial

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_number, check_rate
from keras_seqzoo.models.common.next_token_training import next_token_loss
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.models.common.rows import check_lengths, rows_of
from keras_seqzoo.models.seq2seq.attention import check_one_device
from keras_seqzoo.models.seq2seq.objectives.attended import read_attending
from keras_seqzoo.models.seq2seq.objectives.supervised_attention import without_alignment
from keras_seqzoo.models.seq2seq.source_output import refuse_mixture
from keras_seqzoo.models.seq2seq.task import RecurrentSeq2SeqLM
from keras_seqzoo.replicas import part_of_mean, replica_count, sum_over_replicas
from keras_seqzoo.tensors import dimension

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class BidirectionalTranslation(ReloadableModel, keras.Model):
    """Translation models of both directions, trained together so that their alignments agree.

    ```
    loss = loss(y | x) + loss(x | y) - symmetry · mean over pairs of tr(A B) / min(m, n)
    tr(A B) = Σ_t Σ_s A_{t,s} B_{s,t}
    ```

    where x is a source of m tokens and y a target of n tokens. A `(n, m)` is the attention of the
    forward model, and B `(m, n)` of the backward model. This is the bilingual symmetry of Cohn et
    al. (2016, "Incorporating structural alignment biases into an attentional neural translation
    model", section 3.4). The trace has its maximum, min(m, n), if both are the same one-to-one
    alignment. The paper does not divide by it, so there the bonus of a long pair is larger. m, n
    and the sums leave out [EOS] and padding: an end token that attends to the other end token
    aligns no words. The losses are the mean cross-entropies of the labels, as in
    `RecurrentSeq2SeqLM`.

    `fit` trains both models at once. Afterwards each is a separate model: `forward.translate(...)`,
    `backward.save_to_preset(...)`. The pair itself cannot be called.

    Args:
        forward: a `RecurrentSeq2SeqLM` with attention and a preprocessor, of one target language.
            It does not read trees, and its output is not a mixture (of `source_output`, only
            `"lexicon-bias"` is none).
        backward: the same for the opposite direction. Its source vocabulary is the target
            vocabulary of `forward`, and vice versa. The two models share no weights.
        symmetry: a number of at least 0, the weight of the trace.

    Raises:
        TypeError: if a model is not a `RecurrentSeq2SeqLM`.
        ValueError: if a model has no attention or no preprocessor, has several languages, reads
            trees or has a mixture as its output, the vocabularies do not match, or `symmetry` is
            out of range.

    Example:
    ```python
    forward = make_translation_model(english, french)  # one tokenizer for both languages
    backbone = RecurrentEncoderDecoderBackbone.from_config(forward.backbone.get_config())
    backward = RecurrentSeq2SeqLM(backbone, forward.preprocessor)
    both = BidirectionalTranslation(forward, backward, symmetry=1.0)
    both.compile()
    both.fit({"encoder_text": english, "decoder_text": french}, batch_size=64, epochs=20)
    backward.translate(["Deux chiens courent."])
    ```
    """

    def __init__(self, forward, backward, symmetry=1.0, **kwargs):
        super().__init__(**kwargs)
        for name, model in zip(DIRECTIONS, (forward, backward), strict=True):
            if not isinstance(model, RecurrentSeq2SeqLM):
                raise TypeError(f"`{name}` must be a RecurrentSeq2SeqLM, got {model!r}.")
            if model.decoder.attention is None:
                raise ValueError(f"`{name}` must be a model with attention, got one without.")
            if model.preprocessor is None:
                raise ValueError(f"`{name}` must have a preprocessor, got None.")
            if model.preprocessor.languages:
                raise ValueError(
                    f"`{name}` must be a model with one target language, got one with "
                    f"{', '.join(model.preprocessor.languages)}."
                )
            if model.preprocessor.reads_trees:
                raise ValueError(f"`{name}` must be a model of strings, got one of trees.")
            refuse_mixture(model, f"`{name}` must not be")
        if forward is backward:
            raise ValueError("`backward` must be another model than `forward`, got the same.")
        sides = forward.preprocessor, backward.preprocessor
        for one, other, side in (
            (sides[0].encoder_tokenizer, sides[1].tokenizer, "source"),
            (sides[0].tokenizer, sides[1].encoder_tokenizer, "target"),
        ):
            known = one.has_vocabulary and other.has_vocabulary  # not while a file is loaded
            if known and one.get_vocabulary() != other.get_vocabulary():
                raise ValueError(
                    f"`backward` must have the vocabulary of the {side} of `forward` on its other "
                    "side, got another one."
                )
        self.forward = forward
        self.backward = backward
        self.symmetry = check_number("symmetry", symmetry, minimum=0.0)
        self.label_smoothing = 0.0
        names = ("loss", "forward_loss", "backward_loss", "agreement")
        self._means = [keras.metrics.Mean(name) for name in names]
        self.built = True  # the two models are built

    def compile(self, optimizer="auto", label_smoothing=0.1, **kwargs):
        """Configure training.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            label_smoothing: float in [0, 1), of both losses.
            **kwargs: `jit_compile`, `run_eagerly` and `steps_per_execution`, see
                `keras.Model.compile`.

        Raises:
            ValueError: if `label_smoothing` is out of range, or a model has `attention_losses` and
                there are several devices.
        """
        for model in (self.forward, self.backward):
            check_one_device(model.decoder.attention_losses)
        self.label_smoothing = check_rate("label_smoothing", label_smoothing)
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        super().compile(optimizer=optimizer, **kwargs)

    def get_compile_config(self):
        """Return the arguments of `compile` for a `.keras` file."""
        config = super().get_compile_config()
        return {**config, "label_smoothing": self.label_smoothing} if config else config

    @property
    def metrics(self):
        """The loss, the losses of both directions, and the agreement: tr(A B) / min(m, n)."""
        return self._means

    def fit(self, x=None, y=None, batch_size=None, **kwargs):
        """Train both models; see `keras.Model.fit`.

        Args:
            x: a dict of `encoder_text` and `decoder_text`, lists of strings, or batches of ids of
                the forward direction, such as from `keras_seqzoo.data.translation_batches`.
            y: must be `None`: labels come from the texts.
            batch_size: int, for strings; by default 32.
            **kwargs: see `keras.Model.fit`. `validation_data` takes the same data as `x`.

        Raises:
            ValueError: if `y` is given, or the lists of strings differ in length.
        """
        _check_no_labels(y)
        shuffle = kwargs.pop("shuffle", True)
        x = self._batches("x", x, batch_size, shuffle, training=True)
        name = "validation_data"
        if kwargs.get(name) is not None:
            kwargs[name] = self._batches(name, kwargs[name], batch_size, False)
        shuffle = shuffle and not isinstance(x, tf.data.Dataset)  # a dataset has its own order
        return super().fit(x, y, shuffle=shuffle, **kwargs)

    def evaluate(self, x=None, y=None, batch_size=None, **kwargs):
        """Compute the losses and the agreement, without dropout; `x` is as for `fit`."""
        _check_no_labels(y)
        return super().evaluate(self._batches("x", x, batch_size, False), **kwargs)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Do nothing: the two models are built. Keras would call the pair, to build it."""

    def _batches(self, name, x, batch_size, shuffle, training=False):
        """Return batches of ids for strings; return other data unchanged."""
        if not isinstance(x, dict) or "encoder_text" not in x:
            return x
        check_lengths(**{name: x})
        rows = rows_of((x, None, None))
        if rows is None:
            kinds = ", ".join(type(side).__name__ for side in x.values())
            raise ValueError(f"`{name}` must be a dict of lists of strings, got one of {kinds}.")
        texts = rows.shuffle(len(rows)) if shuffle else rows
        preprocessor = self.forward.preprocessor
        training = training and preprocessor.sample_subwords
        return texts.batch(batch_size or 32).map(partial(preprocessor, training=training))

    def train_step(self, data):
        """Train both models on a batch; see `keras.Model.train_step`."""
        with tf.GradientTape() as tape:
            self._clear_losses()
            loss = self._total(data, training=True)
            scaled = self.optimizer.scale_loss(loss)
        weights = self.trainable_weights
        gradients = tape.gradient(scaled, weights)
        self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return self.get_metrics_result()

    def test_step(self, data):
        """Evaluate a batch; see `keras.Model.test_step`."""
        self._total(data, training=False)
        return self.get_metrics_result()

    def _total(self, data, training):
        """Return the loss, or this replica's part of it, and track its terms."""
        inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        inputs = without_alignment(inputs)
        parts = self.losses_of(inputs, labels, sample_weight, training)
        loss = parts[0] + parts[1] - self.symmetry * parts[2]
        loss += sum(tf.cast(own, tf.float32) for own in self.losses) / replica_count()
        rows = sum_over_replicas(tf.cast(tf.shape(labels)[0], tf.float32)) / replica_count()
        for mean, value in zip(self._means, (loss, *parts), strict=True):
            mean.update_state(value * replica_count(), sample_weight=rows)
        return loss

    def losses_of(self, inputs, labels, sample_weight, training=False):
        """Compute the terms of the loss.

        Args:
            inputs: the inputs of the forward direction.
            labels: int tensor `(B, T)`, the target with its end token.
            sample_weight: tensor `(B, T)`, nonzero at the tokens of the target.
            training: bool, whether dropout is active.

        Returns:
            A tuple of float32 scalars: the losses of both directions, and the mean of
            tr(A B) / min(m, n). With several replicas, this replica's parts.
        """
        labels, valid = tf.cast(labels, tf.int32), tf.cast(sample_weight, tf.float32) != 0
        source, mask = inputs["encoder_token_ids"], tf.cast(inputs["encoder_padding_mask"], tf.bool)
        tokenizer = self.backward.preprocessor.tokenizer
        special = tokenizer.start_token_id, tokenizer.pad_token_id
        directions = (
            (self.forward, inputs, labels, valid),
            (self.backward, *reversed_batch(inputs, labels, valid, *special)),
        )
        losses, attentions = [], []
        for model, read, expected, present in directions:
            features, weights, _ = read_attending(model, read, training=training)
            present = tf.cast(present, tf.float32)
            losses.append(
                next_token_loss(
                    model.output_layer, features, expected, present, self.label_smoothing, training
                )
            )
            attentions.append(tf.cast(weights, tf.float32))
        end = self.forward.preprocessor.tokenizer.end_token_id
        target_words = valid & (labels != end)
        source_words = mask & (source != tokenizer.end_token_id)
        agreement, pairs = symmetry_bonus(*attentions, target_words, source_words)
        total = tf.reduce_sum(agreement), tf.reduce_sum(pairs)
        return *losses, part_of_mean(*total)

    def get_config(self):
        """Return the constructor arguments."""
        serialize = keras.saving.serialize_keras_object
        models = {name: serialize(getattr(self, name)) for name in DIRECTIONS}
        shared = self.backward.preprocessor is self.forward.preprocessor
        return {**models, "symmetry": self.symmetry, "name": self.name, "shared": shared}

    @classmethod
    def from_config(cls, config):
        """Create the model from its configuration."""
        config, deserialize = dict(config), keras.saving.deserialize_keras_object
        models = {name: deserialize(config.pop(name)) for name in DIRECTIONS}
        if config.pop("shared"):  # a file stores the assets of an object once
            models["backward"].preprocessor = models["forward"].preprocessor
        return cls(**models, **config)


def _check_no_labels(y):
    if y is not None:
        raise ValueError(f"`y` must be None, got {type(y).__name__}: labels come from `x`.")


def reversed_batch(inputs, labels, valid, start_token, pad_token):
    """Return the batch of the same sentences for the opposite direction.

    Args:
        inputs: the inputs of a `RecurrentSeq2SeqLM`, padded on the right.
        labels: int32 tensor `(B, T)`, the target with its end token.
        valid: bool tensor `(B, T)`, true at the tokens of the target.
        start_token: int.
        pad_token: int.

    Returns:
        A tuple `(inputs, labels, valid)`: the source of the inputs are the old labels, the labels
        `(B, S)` are the old source, and `valid`, bool `(B, S)`, is true at their tokens.
    """
    source = tf.cast(inputs["encoder_token_ids"], tf.int32)
    mask = tf.cast(inputs["encoder_padding_mask"], tf.bool)
    start = tf.fill([dimension(source, 0), 1], start_token)
    read = tf.concat([start, source[:, :-1]], axis=1)  # (B, S)
    reverse = {
        "encoder_token_ids": tf.where(valid, labels, pad_token),
        "encoder_padding_mask": valid,
        "decoder_token_ids": tf.where(mask, read, pad_token),
        "decoder_padding_mask": mask,
    }
    return reverse, source, mask


def symmetry_bonus(forward, backward, target_words, source_words):
    """Compute tr(A B) / min(m, n) of each pair; see `BidirectionalTranslation`.

    Args:
        forward: A, float32 tensor `(B, T, S)`.
        backward: B, float32 tensor `(B, S, T)`.
        target_words: bool tensor `(B, T)`, true at the n tokens that count.
        source_words: bool tensor `(B, S)`, true at the m tokens that count.

    Returns:
        A tuple of float32 tensors `(B,)`: the bonus, and 1 for pairs with tokens on both sides. For
        all others both are 0.
    """
    target, source = tf.cast(target_words, tf.float32), tf.cast(source_words, tf.float32)
    trace = tf.einsum("bts,bst,bt,bs->b", forward, backward, target, source)
    least = tf.minimum(tf.reduce_sum(target, axis=-1), tf.reduce_sum(source, axis=-1))
    return tf.math.divide_no_nan(trace, least), tf.cast(least > 0, tf.float32)
