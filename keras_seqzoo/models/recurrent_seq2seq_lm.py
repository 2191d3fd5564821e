"""The ready translation model."""

import types

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.data import length_sorted_batches
from keras_seqzoo.decoding import BeamSearch, DecodingStrategy, force_prefix
from keras_seqzoo.layers import TiedSoftmax
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models.encoder_decoder import EncoderDecoder
from keras_seqzoo.models.recurrent_encoder_decoder_backbone import (
    RecurrentEncoderDecoderBackbone,
)
from keras_seqzoo.models.recurrent_seq2seq_lm_preprocessor import RecurrentSeq2SeqLMPreprocessor
from keras_seqzoo.models.translation import Translation
from keras_seqzoo.zoo.named_presets import NamedTaskPresets


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentSeq2SeqLM(NamedTaskPresets, keras_hub.models.Seq2SeqLM, EncoderDecoder):
    """Recurrent encoder-decoder that is trained on strings and translates strings.

    A `RecurrentEncoderDecoderBackbone` with a softmax over the target vocabulary. With a
    preprocessor, `fit` takes `{"encoder_text": ..., "decoder_text": ...}` and `generate` and
    `translate` take source strings; without one they take what the backbone takes.

    Args:
        backbone: a `RecurrentEncoderDecoderBackbone`.
        preprocessor: a `RecurrentSeq2SeqLMPreprocessor` or `None`.
        tie_softmax: bool, whether the output projection is the target embedding, transposed
            (Press and Wolf, 2017).

    Call arguments:
        inputs: a dict of `encoder_token_ids`, `encoder_padding_mask`, `decoder_token_ids` and
            `decoder_padding_mask`, each `(batch, length)`.

    Returns:
        Logits, a float32 tensor `(batch, decoder_length, vocabulary_size)`.

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
    sampler = None  # until `compile`

    def __init__(self, backbone, preprocessor=None, tie_softmax=True, **kwargs):
        # Not a dict: TensorFlow would want to save its functions with the model.
        self._searches = types.SimpleNamespace(compiled={})

        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        if tie_softmax:
            output_layer = TiedSoftmax(
                backbone.token_embedding, dtype=backbone.dtype_policy, name="output_layer"
            )
        else:
            output_layer = keras.layers.Dense(
                backbone.decoder_vocabulary_size, dtype="float32", name="output_layer"
            )

        # === Functional Model ===
        inputs = backbone.input
        outputs = output_layer(backbone(inputs)["decoder_sequence_output"])
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.output_layer = output_layer
        self.tie_softmax = tie_softmax

    @property
    def encoder(self):
        """The backbone's encoder."""
        return self.backbone.encoder

    @property
    def decoder(self):
        """The backbone's decoder."""
        return self.backbone.decoder

    def compile(self, optimizer="auto", loss="auto", *, sampler="auto", **kwargs):
        """Configure training and generation.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: a loss; by default `SequenceCrossentropy(label_smoothing=0.1)`.
            sampler: a `keras_seqzoo.decoding.DecodingStrategy`, or a name or instance of
                `keras_hub.samplers`; by default `BeamSearch(width=5)`.
            **kwargs: see `keras_hub.models.Seq2SeqLM.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        if loss == "auto":
            loss = SequenceCrossentropy(label_smoothing=0.1)
        sampler = BeamSearch(width=5) if sampler == "auto" else sampler
        own = isinstance(sampler, DecodingStrategy)
        super().compile(optimizer, loss, sampler="greedy" if own else sampler, **kwargs)
        if own:
            self.sampler = sampler

    def get_compile_config(self):
        """Return the arguments of `compile` for a `.keras` file, the sampler among them."""
        config = super().get_compile_config()
        if config:
            config["sampler"] = keras.saving.serialize_keras_object(self.sampler)
        return config

    def compile_from_config(self, config):
        """Compile with what `get_compile_config` returned."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def search(
        self, encoder_token_ids, encoder_padding_mask, strategy, max_length, alignments=False
    ):
        """Search for the best target sequences, in graph.

        Args:
            encoder_token_ids: int32 tensor `(batch, source_length)`.
            encoder_padding_mask: boolean tensor of the same shape.
            strategy: a `keras_seqzoo.decoding.DecodingStrategy`.
            max_length: int or scalar tensor, the most tokens of a hypothesis.
            alignments: bool, whether to keep the attention weights.

        Returns:
            `keras_seqzoo.decoding.Hypotheses`.
        """
        tokenizer = self.preprocessor.tokenizer
        rows = tf.shape(encoder_token_ids)[0]
        return strategy(
            self.step,
            self.start(encoder_token_ids, encoder_padding_mask),
            tf.fill([rows], tokenizer.start_token_id),
            end_token=tokenizer.end_token_id,
            max_length=max_length,
            pad_token=tokenizer.pad_token_id,
            alignment=self.decoder.alignment if alignments else None,
        )

    def translate(
        self,
        texts,
        strategy=None,
        max_length=None,
        batch_size=64,
        alignments=False,
        truncate=True,
        on_batch=None,
    ):
        """Translate any number of strings, in batches of similar length.

        Args:
            texts: a list of strings. Empty and blank ones translate to the empty string.
            strategy: a `DecodingStrategy`; by default the one of `compile`, else a beam of 5.
            max_length: int, the most target tokens; by default the preprocessor's
                `decoder_sequence_length`.
            batch_size: int, sentences searched at a time.
            alignments: bool, whether to give attention weights.
            truncate: bool, whether a source longer than the preprocessor's
                `encoder_sequence_length` is cut or is an error.
            on_batch: a function called with the number of sentences after each batch.

        Returns:
            A list with, for each text, a list of `Translation`, best first.

        Raises:
            ValueError: if there is no preprocessor, `alignments` is asked of a model without
                attention, `texts` is one string, `max_length` is negative, or a text is too long
                and `truncate=False`.
        """
        if self.preprocessor is None:
            raise ValueError("`translate` needs a `preprocessor`, got None.")
        if alignments and self.decoder.attention is None:
            raise ValueError("`alignments=True` needs a model with attention, this one has none.")
        if strategy is None:
            own = isinstance(self.sampler, DecodingStrategy)
            strategy = self.sampler if own else BeamSearch(width=5)
        if isinstance(texts, str):
            raise ValueError(f"`texts` must be a list of strings, got the string {texts[:40]!r}.")
        if max_length is None:
            max_length = self.preprocessor.decoder_sequence_length
        if not isinstance(max_length, int) or max_length < 0:
            raise ValueError(f"`max_length` must be an int of at least 0, got {max_length!r}.")
        texts = list(texts)
        results = [[Translation("", 0.0, 0.0, [], [], None)] for _ in texts]
        filled = [index for index, text in enumerate(texts) if text.strip()]
        if not filled:
            return results
        ids = self._encode([texts[index] for index in filled], truncate)
        for batch in length_sorted_batches(ids, batch_size):
            rows = tf.ragged.constant([ids[row] for row in batch], dtype=tf.int32)
            hypotheses = self._search_function(strategy, alignments)(
                *self.preprocessor.pad(rows), tf.constant(max_length)
            )
            for row, translations in zip(
                batch, self._read(hypotheses, [ids[row] for row in batch]), strict=True
            ):
                results[filled[row]] = translations
            if on_batch is not None:
                on_batch(len(batch))
        return results

    def _encode(self, texts, truncate):
        """Tokenize source texts into lists of ids."""
        limit = self.preprocessor.encoder_sequence_length
        if truncate:
            return self.preprocessor.encode_source(tf.constant(texts)).to_list()
        # One longer than any text can be: nothing is cut.
        whole = max(len(text.encode("utf-8")) for text in texts) + 2
        ids = self.preprocessor.encode_source(tf.constant(texts), whole).to_list()
        for text, tokens in zip(texts, ids, strict=True):
            if len(tokens) > limit:
                raise ValueError(
                    f"One of `texts` is longer than the limit of {limit} source tokens: it has "
                    f"{len(tokens)} and begins {text[:40]!r}. Split it, or let it be cut with "
                    "`truncate=True`."
                )
        return ids

    def _search_function(self, strategy, alignments):
        """Make or find the compiled search for a strategy."""
        key = (type(strategy), repr(strategy.get_config()), alignments)
        if key not in self._searches.compiled:

            def search(ids, mask, max_length):
                return self.search(ids, mask, strategy, max_length, alignments)

            self._searches.compiled[key] = tf.function(
                search,
                input_signature=[
                    tf.TensorSpec([None, None], tf.int32),
                    tf.TensorSpec([None, None], tf.bool),
                    tf.TensorSpec([], tf.int32),
                ],
            )
        return self._searches.compiled[key]

    def _read(self, hypotheses, sources):
        """Turn hypotheses of a batch into lists of `Translation`."""
        tokenizer = self.preprocessor.tokenizer
        encoder_tokenizer = self.preprocessor.encoder_tokenizer
        batch, n_best, _ = hypotheses.tokens.shape
        lengths = hypotheses.lengths.numpy()
        flat = tf.RaggedTensor.from_tensor(
            tf.reshape(hypotheses.tokens, (batch * n_best, -1)), lengths=lengths.reshape(-1)
        )
        texts = tokenizer.detokenize(flat)  # B·N strings
        tokens = hypotheses.tokens.numpy()
        for row, source in enumerate(sources):
            source_tokens = [encoder_tokenizer.id_to_token(token) for token in source]
            translations = []
            for rank in range(n_best):
                length = int(lengths[row, rank])
                if length == 0:
                    continue
                alignment = None
                if hypotheses.alignments is not None:
                    alignment = hypotheses.alignments[row, rank, :length, : len(source)].numpy()
                translations.append(
                    Translation(
                        texts[row * n_best + rank],
                        float(hypotheses.scores[row, rank]),
                        float(hypotheses.log_probabilities[row, rank]),
                        source_tokens,
                        [tokenizer.id_to_token(token) for token in tokens[row, rank, :length]],
                        alignment,
                    )
                )
            yield translations

    def generate_step(self, inputs, stop_token_ids=None):
        """Generate for one batch of tensors: what `generate` runs.

        Args:
            inputs: what the preprocessor's `generate_preprocess` returned.
            stop_token_ids: list of ids that end a sequence, or `None` to go on to the end. Our
                strategies take one.

        Returns:
            A dict of `decoder_token_ids` and `decoder_padding_mask`, `(batch, length)`.
        """
        state = self.start(inputs["encoder_token_ids"], inputs["encoder_padding_mask"])
        ids = tf.cast(inputs["decoder_token_ids"], tf.int32)
        mask = tf.cast(inputs["decoder_padding_mask"], tf.bool)
        if isinstance(self.sampler, DecodingStrategy):
            ids, mask = self._generate_by_strategy(state, ids, mask, stop_token_ids)
        else:
            ids, mask = self._generate_by_sampler(state, ids, mask, stop_token_ids)
        return {"decoder_token_ids": ids, "decoder_padding_mask": mask}

    def _generate_by_strategy(self, state, ids, mask, stop_token_ids):
        if stop_token_ids is None or len(stop_token_ids) != 1:
            raise ValueError(
                f"`stop_token_ids` must hold one id for a {type(self.sampler).__name__}, "
                f"got {stop_token_ids}."
            )
        step, state = force_prefix(self.step, state, ids[:, 1:], mask[:, 1:])
        # The start token takes one place of the length.
        length = ids.shape[1] - 1 if ids.shape[1] is not None else tf.shape(ids)[1] - 1
        hypotheses = self.sampler(
            step, state, ids[:, 0], end_token=stop_token_ids[0], max_length=length
        )
        ids = tf.concat([ids[:, :1], hypotheses.tokens[:, 0]], axis=-1)
        return ids, tf.sequence_mask(hypotheses.lengths[:, 0] + 1, tf.shape(ids)[1])

    def _generate_by_sampler(self, state, ids, mask, stop_token_ids):
        index = tf.reduce_min(tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1))

        # The state must have read all tokens before `index - 1`; `next_token` reads that one.
        def read(position, state):
            return position + 1, self.decoder.step(ids[:, position], state)[1]

        _, state = tf.while_loop(
            lambda position, _: position < index - 1, read, (tf.constant(0), state)
        )

        def next_token(prompt, cache, index):
            features, cache = self.decoder.step(prompt[:, index - 1], cache)
            return self.output_layer(features), None, cache

        ids = self.sampler(
            next=next_token,
            prompt=ids,
            cache=state,
            index=index,
            mask=mask,
            stop_token_ids=stop_token_ids,
            model=self,
        )
        if stop_token_ids is None:
            return ids, tf.ones_like(ids, tf.bool)
        stops = tf.reduce_any(ids[..., tf.newaxis] == tf.constant(stop_token_ids), axis=-1)
        stops = tf.cast(stops & ~mask, tf.int32)
        return ids, tf.cumsum(stops, axis=-1, exclusive=True) == 0

    def get_config(self):
        """Return every constructor argument."""
        return {**super().get_config(), "tie_softmax": self.tie_softmax}
