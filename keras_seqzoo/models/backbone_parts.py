"""What the recurrent backbones are made of alike."""

import keras

from keras_seqzoo.layers import GRU, LSTM, Elman

CELLS = {"elman": Elman, "gru": GRU, "lstm": LSTM}


def token_embedding(vocabulary_size, dim, dtype, name="token_embedding"):
    """Make an embedding of tokens whose matrix may also be a softmax's.

    It starts small, as a softmax has it; the layers that read tokens scale it up again.
    """
    initializer = keras.initializers.RandomNormal(stddev=dim**-0.5)
    return keras.layers.Embedding(vocabulary_size, dim, initializer, dtype=dtype, name=name)
