"""The recurrent translation model."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.layers import TiedSoftmax, VocabularyProjection
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models.common.generative_task import GenerativeTask
from keras_seqzoo.models.common.objective import Objective
from keras_seqzoo.models.common.rows import check_lengths
from keras_seqzoo.models.common.task import check_vocabulary
from keras_seqzoo.models.seq2seq.attention import check_one_device
from keras_seqzoo.models.seq2seq.backbone import RecurrentEncoderDecoderBackbone
from keras_seqzoo.models.seq2seq.encoder_decoder import EncoderDecoder
from keras_seqzoo.models.seq2seq.objectives.supervised_attention import (
    SupervisedAttention,
    without_alignment,
)
from keras_seqzoo.models.seq2seq.preprocessor import RecurrentSeq2SeqLMPreprocessor
from keras_seqzoo.models.seq2seq.source_output import with_source
from keras_seqzoo.models.seq2seq.text_translation import TextTranslation, default_search


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentSeq2SeqLM(
    TextTranslation, GenerativeTask, keras_hub.models.Seq2SeqLM, EncoderDecoder
):
    """Recurrent encoder-decoder that is trained on strings and translates strings.

    The model is a `RecurrentEncoderDecoderBackbone` with a softmax over the target vocabulary.
    With the backbone's `source_output` it also copies tokens or uses a lexicon. With a
    preprocessor, `fit` takes `{"encoder_text": ..., "decoder_text": ...}` or batches of ids from
    `keras_seqzoo.data.translation_batches`, and `generate` and `translate` take source strings.
    Without a preprocessor, `fit` and `generate` take the inputs of the backbone.

    Args:
        backbone: a `RecurrentEncoderDecoderBackbone`.
        preprocessor: a `RecurrentSeq2SeqLMPreprocessor` or `None`.
        tie_softmax: bool, whether the output projection is the transposed target embedding
            (Press and Wolf, 2017).

    Call arguments:
        inputs: a dict of `encoder_token_ids`, `encoder_padding_mask`, `decoder_token_ids` and
            `decoder_padding_mask`, each `(batch, length)`.

    Returns:
        Logits, a float32 tensor `(batch, decoder_length, vocabulary_size)`.

    Raises:
        ValueError: if a tokenizer has more tokens than that side of the backbone.

    Example:
    ```python
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    model.generate("Two dogs run through the snow.")
    [best], = model.translate(["Two dogs run."], keras_seqzoo.decoding.BeamSearch(width=10))
    best.text, best.score
    ```
    """

    backbone_cls = RecurrentEncoderDecoderBackbone
    preprocessor_cls = RecurrentSeq2SeqLMPreprocessor

    def __init__(self, backbone, preprocessor=None, tie_softmax=True, **kwargs):
        if preprocessor is not None:
            check_vocabulary(backbone, "encoder_vocabulary_size", preprocessor.encoder_tokenizer)
            check_vocabulary(backbone, "decoder_vocabulary_size", preprocessor.tokenizer)
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        if tie_softmax:
            output_layer = TiedSoftmax(
                backbone.token_embedding, dtype=backbone.dtype_policy, name="output_layer"
            )
        else:
            output_layer = VocabularyProjection(
                backbone.decoder_vocabulary_size,
                dtype=backbone.dtype_policy,
                name="output_layer",
            )

        output_layer = with_source(output_layer, backbone.source_output, backbone.dtype_policy)

        # === Functional Model ===
        inputs = backbone.input
        outputs = output_layer(backbone(inputs)["decoder_sequence_output"])
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.output_layer = output_layer
        self.tie_softmax = tie_softmax
        self.objective = None

    @property
    def encoder(self):
        """The backbone's encoder."""
        return self.backbone.encoder

    @property
    def decoder(self):
        """The backbone's decoder."""
        return self.backbone.decoder

    @property
    def copies_words(self):
        """Whether the model copies words of the source; see `TextTranslation.translate`."""
        return self.backbone.source_output == "copy"

    def _normalize_generate_inputs(self, inputs):
        if isinstance(inputs, dict):
            check_lengths(inputs=inputs)
        found, is_scalar = super()._normalize_generate_inputs(
            dict(inputs) if isinstance(inputs, dict) else inputs  # KerasHub changes it
        )
        if self.preprocessor is not None and isinstance(inputs, dict):
            # KerasHub looks at the last field, which may be the language of all texts.
            text = inputs["encoder_text"]
            is_scalar = isinstance(text, str) or (tf.is_tensor(text) and text.shape.rank == 0)
        return found, is_scalar

    def features(self, inputs, training=None):
        """Compute the input of the output layer, `(batch, decoder_length, units)`.

        With a `source_output` it is a dict, see `keras_seqzoo.layers.SourceSoftmax`.
        """
        return self.backbone(inputs, training=training)["decoder_sequence_output"]

    def compile(
        self,
        optimizer="auto",
        loss="auto",
        *,
        weighted_metrics=(),
        sampler="auto",
        objective=None,
        **kwargs,
    ):
        """Configure training and generation.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: a loss; by default `SequenceCrossentropy(label_smoothing=0.1)`.
            weighted_metrics: metrics of the logits; by default none. Without metrics, training with
                `SequenceCrossentropy` does not compute logits, see `NextTokenTraining`.
            sampler: a `keras_seqzoo.decoding.DecodingStrategy`, or a name or instance of
                `keras_hub.samplers`; by default `BeamSearch(width=5, max_source_ratio=3.0)`.
            objective: the training objective of `fit`: an `RDrop`, a `ScheduledSampling`, a
                `MinimumRisk`, a `Reinforce`, a `SupervisedAttention` or a `ReinforcedAttention`, or
                `None` for the likelihood of the references.
            **kwargs: see `keras_hub.models.Seq2SeqLM.compile`.

        Raises:
            TypeError: if `objective` is not an objective.
            ValueError: if the objective contradicts the other arguments.
        """
        if not isinstance(objective, Objective | None):
            raise TypeError(
                "`objective` must be a ScheduledSampling, a MinimumRisk or another objective, or "
                f"None, got {objective!r}."
            )
        check_one_device(self.decoder.attention_losses)
        weighted_metrics = kwargs["weighted_metrics"] = list(weighted_metrics or ())
        if objective is not None:
            objective.check(self, [*weighted_metrics, *(kwargs.get("metrics") or ())])
        if objective is not None and not objective.is_compilable:
            if kwargs.get("jit_compile") is True:
                raise ValueError(
                    f"`jit_compile` must be False with the objective {type(objective).__name__} "
                    f"and the measure {objective.measure!r}, which XLA cannot compile, got True."
                )
            kwargs["jit_compile"] = False
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        if loss == "auto":
            loss = SequenceCrossentropy(label_smoothing=0.1)
        sampler = default_search() if sampler == "auto" else sampler
        super().compile(optimizer, loss, sampler=sampler, **kwargs)
        if objective is not None:
            objective.build()
        self.objective = objective

    def get_compile_config(self):
        """Return the arguments of `compile` for a `.keras` file, including the objective."""
        config = super().get_compile_config()
        if config and self.objective is not None:
            config["objective"] = keras.saving.serialize_keras_object(self.objective)
        return config

    def _training_batches(self, batches):
        if getattr(self.preprocessor, "sample_subwords", False):
            return batches.map(self._sample_subwords, num_parallel_calls=tf.data.AUTOTUNE)
        return batches

    @tf.autograph.experimental.do_not_convert
    def _sample_subwords(self, x, y=None, sample_weight=None):
        """Turn a batch of strings into ids with sampled segmentations; leave ids unchanged."""
        if isinstance(x, dict) and "encoder_text" in x:
            if self.objective is not None and not self.objective.allows_redraws:
                raise ValueError(
                    "`sample_subwords` of the preprocessor must be False with the objective "
                    f"{type(self.objective).__name__} and the measure 'bleu', which compares "
                    "tokens, got True."
                )
            return self.preprocessor(x, y=y, sample_weight=sample_weight, training=True)
        return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)

    def train_step(self, data):
        """Train on a batch with the objective; see `keras.Model.train_step`."""
        if not isinstance(self.objective, SupervisedAttention):
            data = _likelihood_data(data)
        if self.objective is None:
            return super().train_step(data)
        return self.objective.train_step(self, data, super().train_step)

    def test_step(self, data):
        """Evaluate a batch with the likelihood; see `keras.Model.test_step`."""
        return super().test_step(_likelihood_data(data))

    # AutoGraph would convert the whole search, in most of the time of the first call.
    @tf.autograph.experimental.do_not_convert
    def generate_step(self, inputs, stop_token_ids=None):
        """Generate for one batch of tensors; `generate` calls this.

        If a source is all padding, as `generate_preprocess` returns for a blank string, the result
        is the prompt alone.

        Args:
            inputs: the result of the preprocessor's `generate_preprocess`.
            stop_token_ids: list of ids that end a sequence. `None` fills the whole length (not with
                a `DecodingStrategy`).

        Returns:
            A dict of `decoder_token_ids` and `decoder_padding_mask`, `(batch, length)`.
        """
        state = self.start(inputs["encoder_token_ids"], inputs["encoder_padding_mask"])
        ids, mask = inputs["decoder_token_ids"], inputs["decoder_padding_mask"]
        if self.has_strategy:
            step, state, memory = self.for_search(state)
            lengths = tf.reduce_sum(tf.cast(inputs["encoder_padding_mask"], tf.int32), axis=-1)
            options = {"source_lengths": lengths, "memory": memory}
            if self.sampler.needs_alignment:
                options["alignment"] = self.alignment
            found = self.generate_with_strategy(step, state, ids, mask, stop_token_ids, **options)
        else:
            found = self.generate_with_sampler(self.decoder.step, state, ids, mask, stop_token_ids)
        has_source = tf.reduce_any(tf.cast(inputs["encoder_padding_mask"], tf.bool), axis=-1)
        written = tf.where(has_source[:, tf.newaxis], found[1], tf.cast(mask, tf.bool))
        return {"decoder_token_ids": found[0], "decoder_padding_mask": written}

    def get_config(self):
        """Return every constructor argument."""
        return {**super().get_config(), "tie_softmax": self.tie_softmax}


def _likelihood_data(data):
    """Return a batch without the inputs that only objectives read."""
    inputs, labels, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    if isinstance(inputs, dict):
        inputs = without_alignment(inputs)
    return keras.utils.pack_x_y_sample_weight(inputs, labels, sample_weight)
