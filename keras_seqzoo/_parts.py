"""All parts of the package; importing them registers its presets and classes with Keras."""

from keras_seqzoo import (  # noqa: F401
    callbacks,
    counting,
    data,
    decoding,
    layers,
    losses,
    metrics,
    models,
    serving,
    tokenizers,
    training,
    zoo,
)

# The presets' classes are registered with Keras by now.
zoo.register_presets()
zoo.register_tokenizers(
    [
        models.ConvolutionalBackbone,
        models.RecurrentBackbone,
        models.RecurrentEncoderDecoderBackbone,
        models.RecurrentTaggerBackbone,
        models.TreeBackbone,
    ]
)
