"""What the recurrent backbones are made of alike."""

import keras

from keras_seqzoo.layers import GRU, LSTM, Elman

CELLS = {"elman": Elman, "gru": GRU, "lstm": LSTM}


def token_embedding(vocabulary_size, dim, dtype, name="token_embedding"):
    """Make an embedding of tokens whose matrix may also be a softmax's.

    It starts small, as a softmax has it; layers that read tokens may scale it up again.
    """
    initializer = keras.initializers.RandomNormal(stddev=dim**-0.5)
    return keras.layers.Embedding(vocabulary_size, dim, initializer, dtype=dtype, name=name)


def token_inputs(prefix=""):
    """Make the inputs of token ids and their mask, each `(batch, length)`, in a dict."""
    return {
        f"{prefix}{name}": keras.Input((None,), dtype=dtype, name=f"{prefix}{name}")
        for name, dtype in (("token_ids", "int32"), ("padding_mask", "bool"))
    }
