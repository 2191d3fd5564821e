"""The recurrent language model."""

import contextlib

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding import DecodingStrategy, Sampling
from keras_seqzoo.layers import TiedSoftmax, VocabularyProjection
from keras_seqzoo.layers.large_softmax import LargeSoftmax
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models.common.generative_task import GenerativeTask
from keras_seqzoo.models.common.graph_functions import graph_function
from keras_seqzoo.models.common.next_token_training import label_log_probabilities
from keras_seqzoo.models.common.recurrent_backbone import RecurrentBackbone
from keras_seqzoo.models.common.task import check_vocabulary
from keras_seqzoo.models.language_model.base import LanguageModel
from keras_seqzoo.models.language_model.preprocessor import RecurrentLanguageModelPreprocessor
from keras_seqzoo.models.language_model.streams import CarriedStates

# Rows are scored in parts that end at these tokens; a part has only the rows that reach it.
PART_ENDS = (32, 128)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentLanguageModel(LanguageModel, GenerativeTask, keras_hub.models.CausalLM):
    """Recurrent network that predicts each token from all tokens before it.

        h_t, s_t = layers(E[w_t], s_{t-1}),    P(w_{t+1} | w_0 .. w_t) = softmax(W h_t + b)

    (Mikolov et al. 2010, Recurrent neural network based language model). With `tie_softmax`, W is
    E (Press and Wolf 2017), after a projection to its size.

    `fit` on strings reads sentence by sentence: each row of a batch begins with `[BOS]` and the
    zero state. If the sentences of a text belong together, it is better to read it as a stream.
    `keras_seqzoo.data.stream_batches` cuts it into rows that continue from batch to batch, and
    after `compile(streams=rows)` each batch starts from the final state of the previous one. No
    gradient flows through this state: truncated back-propagation through time (Williams and Peng
    1990). The states are reset to zero at the start of each epoch and each evaluation.
    `RunningText` scores text in this way.

    Args:
        backbone: a `RecurrentBackbone`.
        preprocessor: a `RecurrentLanguageModelPreprocessor`, or `None` to work with ids only.
        tie_softmax: bool.
        softmax: a `keras_seqzoo.layers.large_softmax.LargeSoftmax` as the output layer, for large
            vocabularies, with `tie_softmax=False`; or `None`.

    Call arguments:
        inputs: a dict of `token_ids` and `padding_mask`, `(batch, length)`.

    Returns:
        Logits, a float32 tensor `(batch, length, vocabulary_size)`.

    Raises:
        ValueError: if `backbone` has two directions, or fewer tokens than the tokenizer, or if
            `softmax` does not fit the other arguments.

    Example:
    ```python
    tokenizer = keras_seqzoo.tokenizers.WordTokenizer.train(texts)
    model = keras_seqzoo.models.RecurrentLanguageModel(
        RecurrentBackbone(tokenizer.vocabulary_size(), units=200, num_layers=2),
        RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=64),
    )
    model.compile()
    model.fit(texts, batch_size=32, epochs=5)
    model.perplexity(other_texts)
    model.generate("Once upon", max_length=30)
    ```
    """

    backbone_cls = RecurrentBackbone
    preprocessor_cls = RecurrentLanguageModelPreprocessor
    streams = None
    carried_states = None  # the `CarriedStates` of streams
    _resets_states = True  # whether `reset_metrics` resets the states of streams

    def __init__(self, backbone, preprocessor=None, tie_softmax=True, softmax=None, **kwargs):
        if backbone.bidirectional:
            raise ValueError(
                "`backbone` must have one direction, since it must not read what it predicts, got "
                "a bidirectional one."
            )
        if preprocessor is not None:
            check_vocabulary(backbone, "vocabulary_size", preprocessor.tokenizer)
        if softmax is not None:
            if not isinstance(softmax, LargeSoftmax):
                raise ValueError(f"`softmax` must be a LargeSoftmax or None, got {softmax!r}.")
            if tie_softmax:
                raise ValueError("`tie_softmax` must be False with a `softmax`, got True.")
            if softmax.vocabulary_size != backbone.vocabulary_size:
                raise ValueError(
                    f"`softmax` must have the vocabulary of the backbone, "
                    f"{backbone.vocabulary_size} tokens, got {softmax.vocabulary_size}."
                )
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        options = {"dtype": backbone.dtype_policy, "name": "output_layer"}
        if softmax is not None:
            output_layer = softmax
        elif tie_softmax:
            output_layer = TiedSoftmax(backbone.token_embedding, **options)
        else:
            output_layer = VocabularyProjection(backbone.vocabulary_size, **options)

        # === Functional Model ===
        inputs = backbone.input
        outputs = output_layer(backbone(inputs))
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.output_layer = output_layer
        self.tie_softmax = tie_softmax
        self.softmax = softmax

    @property
    def tokenizer(self):
        """The tokenizer of the preprocessor."""
        if self.preprocessor is None:
            raise ValueError("`preprocessor` must not be None for a model to take strings.")
        return self.preprocessor.tokenizer

    def compile(
        self,
        optimizer="auto",
        loss="auto",
        *,
        weighted_metrics=(),
        sampler="auto",
        streams=None,
        **kwargs,
    ):
        """Configure training and generation.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: a loss; by default `SequenceCrossentropy()`.
            weighted_metrics: metrics of the logits; by default none. Without metrics, training with
                `SequenceCrossentropy` does not compute logits, see `NextTokenTraining`.
            sampler: a `keras_seqzoo.decoding.DecodingStrategy`, or a name or instance of
                `keras_hub.samplers`; by default `Sampling()`.
            streams: int, the number of rows of each batch, if they continue the rows of the
                previous batch; `None` for separate rows. Streams need `SequenceCrossentropy` and no
                metrics.
            **kwargs: see `keras_hub.models.CausalLM.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        if loss == "auto":
            loss = SequenceCrossentropy()
        sampler = Sampling() if sampler == "auto" else sampler
        kwargs["weighted_metrics"] = list(weighted_metrics or ())
        super().compile(optimizer, loss, sampler=sampler, **kwargs)
        self.streams = None if streams is None else check_integer("streams", streams, minimum=1)
        self.carried_states = None
        if streams is not None:
            self.carried_states = CarriedStates(self.start, streams, self.distribute_strategy)

    def get_compile_config(self):
        """Return the arguments of `compile` for a `.keras` file."""
        config = super().get_compile_config()
        return {**config, "streams": self.streams} if config else config

    def fit(self, x=None, *args, shuffle=True, **kwargs):
        """Train the model; see `keras.Model.fit`. With `streams`, rows keep their order."""
        return super().fit(x, *args, shuffle=shuffle and self.streams is None, **kwargs)

    def train_on_batch(self, *args, **kwargs):
        """Train on a batch; see `keras.Model`.

        Streams go on from the last batch, whether it was for training or evaluation;
        `reset_metrics` begins them anew.
        """
        with self._continuing():
            return super().train_on_batch(*args, **kwargs)

    def test_on_batch(self, *args, **kwargs):
        """Evaluate a batch; see `train_on_batch`."""
        with self._continuing():
            return super().test_on_batch(*args, **kwargs)

    @contextlib.contextmanager
    def _continuing(self):
        self._resets_states = False
        try:
            yield
        finally:
            self._resets_states = True

    def reset_metrics(self):
        """Start an epoch or an evaluation: reset the metrics and the states of streams."""
        super().reset_metrics()
        if self.carried_states is not None and self._resets_states:
            self.carried_states.reset()

    def needs_no_logits(self, labels, sample_weight):
        """Return whether a step on these labels computes no logits; see `NextTokenTraining`."""
        found = super().needs_no_logits(labels, sample_weight)
        if self.carried_states is not None and not found:
            raise ValueError(
                "`streams` must be None for steps that compute logits, got "
                f"{self.streams}. Streams need a `SequenceCrossentropy` as the loss and no metrics."
            )
        return found

    def features(self, inputs, training=None):
        """Compute the input of the output layer, `(batch, length, units)`."""
        carried = self.carried_states
        if carried is None:
            return self.backbone(inputs, training=training)
        carried.check(inputs["token_ids"])
        # No mask: a stream has padding only after its end.
        features, states = self.backbone.encoder(
            inputs["token_ids"], initial_state=carried.value(), training=training
        )
        carried.assign(states)
        return features

    def start(self, rows):
        """Return the state before the beginning of sentences; see `LanguageModel`."""
        return self.backbone.encoder.get_initial_state(rows)

    def step(self, tokens, state):
        """Read one token per row and return the next distribution; see `LanguageModel`."""
        scores, _, state = self.step_with_features(tokens, state)
        return scores, state

    def step_with_features(self, tokens, state):
        """Read one token per row, and also return the input of the output layer.

        Args:
            tokens: int32 tensor `(rows,)`.
            state: the state from `start` or the last step.

        Returns:
            A tuple of log P of the next tokens `(rows, V)`, the features `(rows, units)`, and the
            new state.
        """
        features, state = self.backbone.encoder.step(tokens, state)
        return tf.nn.log_softmax(self.output_layer(features)), features, state

    def token_log_probabilities(self, token_ids, lengths):
        """Compute log P of each token given the tokens before it; see `LanguageModel`."""
        token_ids, lengths = tf.cast(token_ids, tf.int32), tf.cast(lengths, tf.int32)
        if not tf.executing_eagerly():  # XLA needs to know the shapes
            return self._read_rows(token_ids, lengths)
        shapes = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)
        return graph_function(self, "rows", self._read_rows, *shapes)(token_ids, lengths)

    def _read_rows(self, token_ids, lengths):
        """Read rows in parts, so that a long row does not cost padding in the other rows."""
        batch, width = tf.unstack(tf.shape(token_ids))
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        labels = tf.gather(token_ids, order)
        inputs = tf.concat([tf.fill([batch, 1], self.tokenizer.start_token_id), labels], axis=1)
        mask = tf.sequence_mask(tf.gather(lengths, order), width)

        parts, begin, state = [], 0, self.start(batch)
        for end in (*PART_ENDS, width):
            end = tf.minimum(end, width)
            rows = tf.math.count_nonzero(lengths > begin, dtype=tf.int32)
            part = [x[:rows, begin:end] for x in (inputs, labels, mask)]
            state = tf.nest.map_structure(lambda leaf, rows=rows: leaf[:rows], state)
            found, _, state = self._read(*part[:2], state, part[2])
            parts.append(tf.pad(found, [[0, batch - rows], [0, 0]]))
            begin = end
        return tf.gather(tf.concat(parts, axis=1), tf.argsort(order))

    def read(self, token_ids, labels, state, mask=None):
        """Read parts of texts and score the label of each token.

        Args:
            token_ids: int32 tensor `(rows, length)`.
            labels: int32 tensor `(rows, length)`, the token after each token.
            state: the state from `start` or the last `read` or `step`.
            mask: boolean tensor `(rows, length)`, `False` at padding, or `None` without padding.

        Returns:
            A tuple of log P of the labels, float32 `(rows, length)`, 0 at padding, and the state
            after the last tokens.
        """
        scores, _, state = self.read_with_features(token_ids, labels, state, mask)
        return scores, state

    def read_with_features(self, token_ids, labels, state, mask=None):
        """Read parts of texts like `read`, and also return the input of the output layer.

        Returns:
            A tuple of log P of the labels, the features `(rows, length, units)`, and the state.
        """
        if tf.inside_function():
            return self._read(token_ids, labels, state, mask)
        # Use a graph: loops over time are slow if Python calls each step.
        return graph_function(self, "read", self._read)(token_ids, labels, state, mask)

    def _read(self, token_ids, labels, state, mask):
        features, state = self.backbone.encoder(token_ids, mask=mask, initial_state=state)
        if mask is None:
            flat = tf.reshape(features, [-1, features.shape[-1]])
            own = label_log_probabilities(self.output_layer, flat, tf.reshape(labels, [-1]))
            return tf.reshape(own, tf.shape(labels)), features, state
        events = tf.where(mask)
        own = label_log_probabilities(
            self.output_layer, tf.gather_nd(features, events), tf.gather_nd(labels, events)
        )
        return tf.scatter_nd(events, own, tf.shape(labels, tf.int64)), features, state

    def generate(
        self,
        inputs,
        max_length=None,
        stop_token_ids="auto",
        strip_prompt=False,
        *,
        strategy=None,
    ):
        """Continue the beginnings of sentences.

        Args:
            inputs: a string or a list of strings (a blank one starts a new sentence). Without a
                preprocessor, the inputs of the backbone.
            max_length: int, the largest number of tokens, including the prompt and `[BOS]`; by
                default the `sequence_length` of the preprocessor.
            stop_token_ids: see `keras_hub.models.CausalLM.generate`.
            strip_prompt: bool, whether to leave out the prompt.
            strategy: a `DecodingStrategy` for this call, instead of the sampler of `compile`.
                Inputs, `max_length` and result are then as in `LanguageModel.generate`, and
                `stop_token_ids` and `strip_prompt` must not be given.

        Returns:
            A string or a list of strings; with `strategy` a list of lists of strings.

        Raises:
            ValueError: if arguments contradict each other, or `max_length` is below 1.
        """
        if isinstance(max_length, DecodingStrategy):
            raise ValueError(
                "`max_length` must be an int or None, got a DecodingStrategy, which is the keyword "
                "argument `strategy`."
            )
        if strategy is not None:
            if stop_token_ids != "auto" or strip_prompt:
                raise ValueError(
                    "`stop_token_ids` and `strip_prompt` must not be given with `strategy`, got "
                    f"{stop_token_ids!r} and {strip_prompt!r}."
                )
            limits = {} if max_length is None else {"max_length": max_length}
            return LanguageModel.generate(self, inputs, strategy, **limits)
        return GenerativeTask.generate(self, inputs, max_length, stop_token_ids, strip_prompt)

    # AutoGraph would convert the whole search, in most of the time of the first call.
    @tf.autograph.experimental.do_not_convert
    def generate_step(self, inputs, stop_token_ids=None):
        """Generate for one batch of tensors; `generate` calls this.

        Args:
            inputs: the result of the preprocessor's `generate_preprocess`.
            stop_token_ids: list of ids that end a sequence. `None` fills the whole length (not with
                a `DecodingStrategy`).

        Returns:
            A dict of `token_ids` and `padding_mask`, `(batch, length)`.
        """
        ids, mask = inputs["token_ids"], inputs["padding_mask"]
        state = self.start(tf.shape(ids)[0])
        if self.has_strategy:
            found = self.generate_with_strategy(self.step, state, ids, mask, stop_token_ids)
        else:
            read = self.backbone.encoder.step
            found = self.generate_with_sampler(read, state, ids, mask, stop_token_ids)
        return {"token_ids": found[0], "padding_mask": found[1]}

    def get_config(self):
        """Return every constructor argument."""
        softmax = self.softmax
        if softmax is not None:
            softmax = keras.saving.serialize_keras_object(softmax)
        return {**super().get_config(), "tie_softmax": self.tie_softmax, "softmax": softmax}

    @classmethod
    def from_config(cls, config):
        """Create the model from its configuration."""
        config = dict(config)
        if isinstance(config.get("softmax"), dict):
            config["softmax"] = keras.saving.deserialize_keras_object(config["softmax"])
        return super().from_config(config)
