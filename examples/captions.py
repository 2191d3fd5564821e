"""One to many: generate a text from a vector, as in image captioning.

The vector stands for the features of a picture: which thing it shows, its colour, what it does, and
how many others there are, with noise. A small encoder turns it into the initial state of a
recurrent decoder, which also reads it at each step (`context="every_step"`). The model trains with
`model.fit`, and beam search writes the captions. The pictures are made up:

    python examples/captions.py --save /tmp/captions.keras
"""

import argparse
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.layers import GRU, TiedSoftmax
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import Encoder, EncoderDecoder, RecurrentDecoder
from keras_seqzoo.tokenizers import WordTokenizer

PARTS = (
    ("dog", "cat", "horse", "bird"),
    ("black", "white", "brown"),
    ("runs", "sleeps", "eats"),
    ("alone", "with another", "with two others"),
)


def made_up_pictures(count, seed=0):
    """Return made-up vectors `(count, 13)` and the caption of each."""
    generator = np.random.default_rng(seed)
    chosen = np.stack([generator.integers(0, len(part), count) for part in PARTS], axis=1)
    known = [np.eye(len(part))[chosen[:, place]] for place, part in enumerate(PARTS)]
    vectors = np.concatenate(known, axis=1)
    vectors += generator.normal(scale=0.2, size=vectors.shape)
    captions = []
    for row in chosen:
        thing, colour, does, others = (part[place] for part, place in zip(PARTS, row, strict=True))
        captions.append(f"a {colour} {thing} {does} {others}")
    return vectors.astype("float32"), captions


class VectorEncoder(Encoder):
    """Encoder of a vector to the decoder's initial state; there is no sequence to attend to."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.project = keras.layers.Dense(units, activation="tanh")

    def call(self, vectors, mask=None, training=False):
        state = self.project(vectors)
        return state[:, tf.newaxis], [[state]]


@keras.saving.register_keras_serializable(package="examples")
class Captioner(EncoderDecoder, keras.Model):
    """Model from vectors to texts. `EncoderDecoder` calls the vectors `encoder_token_ids`."""

    def __init__(self, tokenizer, vocabulary_size, units=64, **kwargs):
        super().__init__(**kwargs)
        self.tokenizer, self.vocabulary_size, self.units = tokenizer, vocabulary_size, units
        embedding = keras.layers.Embedding(vocabulary_size, units)
        self.encoder = VectorEncoder(units)
        self.decoder = RecurrentDecoder(embedding, [GRU(units)], context="every_step")
        self.output_layer = TiedSoftmax(embedding)

    def caption(self, vectors, width=4):
        """Return captions for vectors, by beam search."""
        found = BeamSearch(width)(
            self.step,
            self.start(tf.constant(vectors)),
            start_tokens=tf.fill([len(vectors)], self.tokenizer.start_token_id),
            end_token=self.tokenizer.end_token_id,
            max_length=12,
        )
        return self.tokenizer.detokenize(found.tokens[:, 0])

    def build_from_config(self, config):
        """Create the weights of a saved model; vectors and ids differ in dtype."""
        shapes = config["input_shape"]
        vectors = keras.KerasTensor(shapes["encoder_token_ids"])
        ids = keras.KerasTensor(shapes["decoder_token_ids"], "int32")
        self({"encoder_token_ids": vectors, "decoder_token_ids": ids})

    def get_config(self):
        tokenizer = keras.saving.serialize_keras_object(self.tokenizer)
        sizes = {"vocabulary_size": self.vocabulary_size, "units": self.units}
        return {**super().get_config(), "tokenizer": tokenizer, **sizes}

    @classmethod
    def from_config(cls, config):
        tokenizer = keras.saving.deserialize_keras_object(config.pop("tokenizer"))
        return cls(tokenizer, **config)


def make_batches(vectors, captions, tokenizer):
    """Return batches for `fit`: the caption up to each word, and the next word."""
    ids = tokenizer(captions)
    begin, end = ([[token]] * len(captions) for token in (2, 3))  # [BOS] and [EOS]
    inputs = {"encoder_token_ids": vectors}
    inputs["decoder_token_ids"] = tf.concat([begin, ids], axis=1).to_tensor()  # [PAD] is 0
    labels = tf.concat([ids, end], axis=1).to_tensor()
    rows = (inputs, labels, tf.cast(labels != 0, tf.float32))
    return tf.data.Dataset.from_tensor_slices(rows).shuffle(len(captions), seed=1).batch(32)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2000, help="made-up pictures")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--save", help="where to save the model, a .keras file")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    vectors, captions = made_up_pictures(options.rows)
    others, expected = made_up_pictures(200, seed=1)
    tokenizer = WordTokenizer.train(captions)
    model = Captioner(tokenizer, tokenizer.vocabulary_size())
    model.compile(keras.optimizers.Adam(3e-3, clipnorm=1.0), SequenceCrossentropy())
    model.fit(
        make_batches(vectors, captions, tokenizer), epochs=options.epochs, shuffle=False, verbose=2
    )

    path = options.save or os.path.join(tempfile.mkdtemp(), "captions.keras")
    model.save(path)
    written = keras.models.load_model(path).caption(others)
    assert written == model.caption(others)
    for pair in zip(written[:5], expected, strict=False):
        print(" | ".join(pair))
    right = np.mean([own == text for own, text in zip(written, expected, strict=True)])
    print(f"The model in {path} writes {right:.1%} of 200 captions right")
    return float(right)


if __name__ == "__main__":
    main()
