"""The backbone of recurrent translation models."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_choice, check_integer
from keras_seqzoo.layers.attention.order import JOINED
from keras_seqzoo.models.common.backbone import (
    CELLS,
    SequenceBackbone,
    check_layer_normalization,
    make_recurrent_layer,
    token_embedding,
    token_inputs,
)
from keras_seqzoo.models.seq2seq.attention import (
    ATTENTIONS,
    check_parts,
    make_attention,
    make_losses,
)
from keras_seqzoo.models.seq2seq.decoder import RecurrentDecoder
from keras_seqzoo.models.seq2seq.encoder_decoder import TeacherForcing
from keras_seqzoo.models.seq2seq.encoders.choice import check_encoder, make_encoder, memory_size
from keras_seqzoo.models.seq2seq.source_output import (
    check_source_output,
    make_source_distribution,
)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentEncoderDecoderBackbone(SequenceBackbone):
    """Encoder and recurrent decoder, with or without attention.

    A recurrent encoder reads the source forward, reversed (Sutskever et al., 2014) or in both
    directions. A convolutional encoder reads all of it at once (Gehring et al., 2017), and a tree
    encoder reads a parse from its leaves to its root (Eriguchi et al., 2016). The decoder starts
    from the encoder's final states, passed through a `Bridge`, and attends to the encoder's outputs
    (Bahdanau et al., 2015; Luong et al., 2015). With `attention=None` the decoder sees the source
    only through its initial state (`context="initial"`), or also through a vector joined to each
    input (`context="every_step"`, Cho et al., 2014). For the equations see `RecurrentEncoder`,
    `StackedConvolutionalEncoder`, `ParseEncoder`, `RecurrentDecoder` and `AttentionDecoder`.

    Args:
        encoder_vocabulary_size: int, number of source tokens.
        decoder_vocabulary_size: int, number of target tokens.
        embedding_dim: int, size of the embeddings.
        encoder_units: int, size of the encoder's layers; of each direction if it is recurrent.
        decoder_units: int, size of the decoder's layers.
        encoder_layers: int, number of the encoder's layers.
        decoder_layers: int, number of the decoder's layers.
        cell: `"gru"`, `"lstm"` or `"elman"`.
        direction: `"bidirectional"`, `"forward"` or `"reversed"`, how a recurrent encoder reads.
        attention: `"dot"`, `"general"`, `"concat"`, `"bahdanau"` or `None`.
        attention_units: int, size of the features of `AttentionDecoder` with the readouts "tanh"
            and "deep", and of the hidden layer of the concat and Bahdanau scores; by default
            `decoder_units`.
        scaled_attention: bool, whether to divide dot and general scores by the square root of the
            memory's size.
        attend_from: `"top"` or `"bottom"`, see `AttentionDecoder`.
        input_feeding: bool, see `AttentionDecoder`.
        attend: `"after"`, `"before"` or `"between"`, where the decoder attends; see
            `AttentionDecoder`. With "between" the first layer has two transitions.
        context_feeding: bool, see `AttentionDecoder`.
        readout: `"tanh"`, `"deep"`, `"concat"` or `"state"`, see `AttentionDecoder`.
        attention_terms: list of names of terms to add to the attention score: `"position"` (see
            `PositionBias`), `"markov"` and `"convolution"` (`MarkovCondition`, the latter with 10
            filters over 5 steps to each side), `"coverage"` and `"fertility"` (`Coverage`, the
            latter with a largest fertility of 2).
        attention_weighting: `"softmax"`, `"local-m"` or `"local-p"` (see `LocalWeighting`),
            `"monotonic"` (`MonotonicWeighting`), `"hard"` or `"hard-reinforce"` (`HardWeighting`).
        attention_losses: list of `"coverage"` (see `CoverageLoss`) and `"fertility"`
            (`FertilityLoss`), added in training.
        attention_loss_scale: number of at least 0, the factor of `attention_losses`.
        source_output: how the source changes the output distribution of the task: `None`, `"copy"`
            (a mixture with `CopyDistribution`; only with `share_embeddings`), `"lexicon"` or
            `"lexicon-bias"` (a mixture or a bias with `LexiconDistribution`, see `SourceSoftmax`).
            The lexicon is empty until `set_lexicon` fills it.
        lexicon_selectors: list of ints, source tokens that have a lexicon each, such as those of
            target languages; see `LexiconDistribution`.
        context: `"initial"` or `"every_step"`; the latter only without attention.
        bridge: `"tanh"` or `"copy"`, see `Bridge`.
        residual: bool, whether layers above the first add their input to their output.
        share_embeddings: bool, whether source and target share one embedding and a joint
            vocabulary.
        dropout: float, dropout rate on the embedded tokens, between layers, on the memory and on
            the features.
        encoder: `None` for recurrent layers with the decoder's `cell`, or the name of a cell, which
            may be another one. Or `"convolution"`, or `"tree"`, which reads the ids of a
            `keras_seqzoo.tokenizers.ParseTokenizer`.
        convolution_width: int, tokens in a window of a convolutional encoder.
        convolution_activation: `"tanh"` or `"glu"`, see `StackedConvolutionalEncoder`.
        layer_normalization: bool, whether the LSTM or GRU cells of the decoder and of a recurrent
            encoder use layer normalization, see `keras_seqzoo.layers.LSTMCell`.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `encoder_token_ids` and `decoder_token_ids`, int32 `(batch, length)`, and
            `encoder_padding_mask` and `decoder_padding_mask`, boolean `(batch, length)`.

    Returns:
        A dict of `encoder_sequence_output` `(batch, encoder_length, memory_size)` and
        `decoder_sequence_output` `(batch, decoder_length, feature_size)`. With `source_output`, the
        latter is a dict, the inputs of a `keras_seqzoo.layers.SourceSoftmax`.

    Raises:
        ValueError: if an argument is out of range or contradicts another, or a mask and its ids
            differ in shape.

    Example:
    >>> backbone = RecurrentEncoderDecoderBackbone(100, 120, embedding_dim=8, decoder_units=16)
    >>> ids, mask = keras.ops.ones((2, 5), "int32"), keras.ops.ones((2, 5), "bool")
    >>> outputs = backbone({"encoder_token_ids": ids, "encoder_padding_mask": mask,
    ...                     "decoder_token_ids": ids, "decoder_padding_mask": mask})
    >>> outputs["decoder_sequence_output"].shape
    TensorShape([2, 5, 16])
    """

    def __init__(
        self,
        encoder_vocabulary_size,
        decoder_vocabulary_size,
        embedding_dim=256,
        encoder_units=256,
        decoder_units=512,
        encoder_layers=1,
        decoder_layers=1,
        cell="gru",
        direction="bidirectional",
        attention="general",
        attention_units=None,
        scaled_attention=True,
        attend_from="top",
        input_feeding=False,
        context="initial",
        bridge="tanh",
        residual=False,
        share_embeddings=False,
        dropout=0.0,
        attend="after",
        context_feeding=False,
        readout="tanh",
        attention_terms=(),
        attention_weighting="softmax",
        attention_losses=(),
        attention_loss_scale=1.0,
        source_output=None,
        lexicon_selectors=(),
        encoder=None,
        convolution_width=3,
        convolution_activation="tanh",
        layer_normalization=False,
        dtype=None,
        **kwargs,
    ):
        check_integer("encoder_vocabulary_size", encoder_vocabulary_size, minimum=1)
        check_integer("decoder_vocabulary_size", decoder_vocabulary_size, minimum=1)
        check_integer("embedding_dim", embedding_dim, minimum=1)
        check_integer("encoder_units", encoder_units, minimum=1)
        check_integer("decoder_units", decoder_units, minimum=1)
        check_integer("encoder_layers", encoder_layers, minimum=1)
        check_integer("decoder_layers", decoder_layers, minimum=1)
        if attend_from == "bottom" and attend != "between" and decoder_layers < 2:
            raise ValueError(
                '`decoder_layers` must be at least 2 with `attend_from="bottom"`, '
                f"got {decoder_layers}."
            )
        check_choice("cell", cell, CELLS)
        check_encoder(encoder, direction, encoder_layers, share_embeddings)
        check_layer_normalization(layer_normalization, cell, encoder)
        if attention is not None:
            check_choice("attention", attention, ATTENTIONS)
        check_parts(attention, attention_terms, attention_weighting, attention_losses)
        check_source_output(
            source_output,
            attention,
            share_embeddings,
            encoder,
            lexicon_selectors,
            encoder_vocabulary_size,
        )
        size = memory_size(encoder, encoder_units, direction)
        if attention == "dot" and decoder_units != size:
            raise ValueError(
                "`decoder_units` must be the size of the encoder's outputs with "
                f'`attention="dot"`, {size}, got {decoder_units}.'
            )
        same_sizes = (encoder_units, encoder_layers) == (decoder_units, decoder_layers)
        same_states = same_sizes and encoder in (None, cell)
        if bridge == "copy" and (direction == "bidirectional" or not same_states):
            raise ValueError(
                '`bridge` must be "tanh" unless the encoder has one direction and the cell, units '
                f'and layers of the decoder, got "copy" with encoder={encoder!r}, cell={cell!r}, '
                f"direction={direction!r}, encoder_units={encoder_units}, "
                f"decoder_units={decoder_units}, "
                f"encoder_layers={encoder_layers} and decoder_layers={decoder_layers}."
            )
        if share_embeddings and encoder_vocabulary_size != decoder_vocabulary_size:
            raise ValueError(
                "`decoder_vocabulary_size` must be `encoder_vocabulary_size` with "
                f"`share_embeddings`, {encoder_vocabulary_size}, got {decoder_vocabulary_size}."
            )

        # === Layers ===
        decoder_names = [f"decoder_layer_{depth}" for depth in range(decoder_layers)]
        if attend == "between":
            decoder_names.insert(0, "decoder_transition")
        decoder_embedding = token_embedding(decoder_vocabulary_size, embedding_dim, dtype)
        encoder_embedding = decoder_embedding
        if not share_embeddings:
            encoder_embedding = token_embedding(
                encoder_vocabulary_size, embedding_dim, dtype, "encoder_embedding"
            )
        source_encoder = make_encoder(
            encoder or cell,
            encoder_embedding,
            encoder_units,
            encoder_layers,
            direction=direction,
            residual=residual,
            dropout=dropout,
            width=convolution_width,
            activation=convolution_activation,
            layer_normalization=layer_normalization,
            dtype=dtype,
        )
        decoder = RecurrentDecoder(
            decoder_embedding,
            [
                make_recurrent_layer(
                    cell,
                    decoder_units,
                    layer_normalization=layer_normalization,
                    dtype=dtype,
                    name=name,
                )
                for name in decoder_names
            ],
            attention=make_attention(
                attention,
                attention_units or decoder_units,
                scaled_attention,
                attention_terms,
                attention_weighting,
                dtype,
            ),
            attention_units=attention_units if readout in JOINED else None,
            input_feeding=input_feeding,
            attend_from=attend_from,
            attend=attend,
            context_feeding=context_feeding,
            readout=readout,
            attention_losses=make_losses(attention_losses, attention_loss_scale, dtype),
            source_distribution=make_source_distribution(
                source_output,
                encoder_vocabulary_size,
                decoder_vocabulary_size,
                lexicon_selectors,
                dtype,
            ),
            context=context,
            bridge=bridge,
            residual=residual,
            dropout=dropout,
            dtype=dtype,
            name="decoder",
        )

        # === Functional Model ===
        inputs = token_inputs("encoder_") | token_inputs("decoder_")
        mask = inputs["encoder_padding_mask"]
        source_encoder.build_parts()
        memory, states = source_encoder(inputs["encoder_token_ids"], mask=mask)
        teacher_forcing = TeacherForcing(decoder, dtype=dtype, name="teacher_forcing")
        with keras.name_scope(teacher_forcing.name, caller=teacher_forcing):
            decoder.build_parts(memory, states)
        features = teacher_forcing(
            inputs["decoder_token_ids"],
            memory,
            states,
            memory_mask=mask,
            target_mask=inputs["decoder_padding_mask"] if attention_losses else None,
            source_ids=inputs["encoder_token_ids"] if source_output else None,
        )
        super().__init__(
            inputs=inputs,
            outputs={"encoder_sequence_output": memory, "decoder_sequence_output": features},
            dtype=dtype,
            **kwargs,
        )

        # === Config ===
        self.token_embedding = decoder_embedding
        self.encoder = source_encoder
        self.encoder_kind = encoder
        self.decoder = decoder
        self._set_arguments(
            encoder_vocabulary_size=encoder_vocabulary_size,
            decoder_vocabulary_size=decoder_vocabulary_size,
            embedding_dim=embedding_dim,
            encoder_units=encoder_units,
            decoder_units=decoder_units,
            encoder_layers=encoder_layers,
            decoder_layers=decoder_layers,
            cell=cell,
            direction=direction,
            attention=attention,
            attention_units=attention_units,
            scaled_attention=scaled_attention,
            attend_from=attend_from,
            input_feeding=input_feeding,
            context=context,
            bridge=bridge,
            residual=residual,
            share_embeddings=share_embeddings,
            dropout=dropout,
            attend=attend,
            context_feeding=context_feeding,
            readout=readout,
            attention_terms=list(attention_terms),
            attention_weighting=attention_weighting,
            attention_losses=list(attention_losses),
            attention_loss_scale=attention_loss_scale,
            source_output=source_output,
            lexicon_selectors=[int(token) for token in lexicon_selectors],
            convolution_width=convolution_width,
            convolution_activation=convolution_activation,
            layer_normalization=layer_normalization,
        )

    def get_config(self):
        """Return every constructor argument."""
        # The attribute `encoder` is the layer.
        return {**super().get_config(), "encoder": self.encoder_kind}

    def call(self, inputs, training=None, mask=None):
        """Run encoder and decoder."""
        # Check here: the layers inside have other names for the masks, or none.
        for side in ("encoder", "decoder"):
            ids, padding = (
                inputs[f"{side}_{name}"].shape for name in ("token_ids", "padding_mask")
            )
            if not tf.TensorShape(padding).is_compatible_with(tf.TensorShape(ids)):
                raise ValueError(
                    f"`{side}_padding_mask` must have the shape of `{side}_token_ids`, "
                    f"{tuple(ids)}, got {tuple(padding)}."
                )
        return super().call(inputs, training=training, mask=mask)
