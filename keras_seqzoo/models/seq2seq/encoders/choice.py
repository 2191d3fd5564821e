"""The encoders of the translation backbone, by name."""

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers import Bidirectional
from keras_seqzoo.models.common.backbone import CELLS, make_recurrent_layer
from keras_seqzoo.models.common.encoder import RecurrentEncoder
from keras_seqzoo.models.seq2seq.encoders.convolutional import StackedConvolutionalEncoder
from keras_seqzoo.models.seq2seq.encoders.parse import ParseEncoder

CONVOLUTION, TREE = "convolution", "tree"
ENCODERS = (*CELLS, CONVOLUTION, TREE)
DIRECTIONS = ("forward", "reversed", "bidirectional")


def check_encoder(encoder, direction, num_layers, shared):
    """Check the options of an encoder.

    Args:
        encoder: a name, or `None` for the decoder's cell.
        direction: string, how the encoder reads.
        num_layers: int.
        shared: bool, whether it shares the embedding of the decoder.
    """
    check_choice("direction", direction, DIRECTIONS)
    if encoder is not None:
        check_choice("encoder", encoder, ENCODERS)
    if encoder == TREE and (num_layers > 1 or shared):
        name, got = ("share_embeddings", True) if shared else ("encoder_layers", num_layers)
        need = "False" if shared else "1"
        raise ValueError(f"`{name}` must be {need} with the `encoder` {encoder!r}, got {got}.")
    if encoder in (CONVOLUTION, TREE) and direction != "bidirectional":
        raise ValueError(
            '`direction` must be "bidirectional", the default, with the `encoder` '
            f"{encoder!r}, which reads in no direction, got {direction!r}."
        )


def memory_size(encoder, units, direction):
    """Return the size of an encoder's outputs."""
    both = encoder not in (CONVOLUTION, TREE) and direction == "bidirectional"
    return 2 * units if both else units


def make_encoder(
    name,
    embedding,
    units,
    num_layers,
    *,
    direction,
    residual,
    width,
    activation,
    layer_normalization,
    dropout,
    dtype,
):
    """Return the `Encoder` of a name; see `RecurrentEncoderDecoderBackbone` for the options."""
    if name == TREE:
        return ParseEncoder(embedding, units, dropout=dropout, dtype=dtype, name="encoder")
    if name == CONVOLUTION:
        return StackedConvolutionalEncoder(
            embedding,
            units,
            num_layers,
            width,
            activation,
            dropout=dropout,
            dtype=dtype,
            name="encoder",
        )

    def make_layer(depth):
        options = {"layer_normalization": layer_normalization, "dtype": dtype}
        layer = f"encoder_layer_{depth}"
        if direction == "bidirectional":
            forward = make_recurrent_layer(name, units, name="forward", **options)
            return Bidirectional(forward, dtype=dtype, name=layer)
        options["go_backwards"] = direction == "reversed"
        return make_recurrent_layer(name, units, name=layer, **options)

    return RecurrentEncoder(
        embedding,
        [make_layer(depth) for depth in range(num_layers)],
        residual=residual,
        dropout=dropout,
        dtype=dtype,
        name="encoder",
    )
