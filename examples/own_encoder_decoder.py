"""Translate with a custom encoder and decoder, and beam search over them.

Any `Encoder` and `Decoder` become a translator with `EncoderDecoder`: it trains with `model.fit`,
and every search in `keras_seqzoo.decoding` runs on it. Here a convolution reads the source, and a
gate chooses between the LSTM's output and what attention finds. By default the sentences are made
up:

    python examples/own_encoder_decoder.py --save /tmp/translator.keras
    python examples/own_encoder_decoder.py --data $SEQZOO_DATA --epochs 8
"""

import argparse
import os
import random
import tempfile

import keras
import sacrebleu
import tensorflow as tf

from keras_seqzoo.data import load_multi30k, translation_batches
from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.layers import LSTM, BahdanauAttention, Bidirectional, TiedSoftmax
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import Decoder, Encoder, EncoderDecoder
from keras_seqzoo.tokenizers import BytePairTokenizer


def made_up_pairs(count, seed=0):
    """Return pairs of a tiny English and French; French adjectives come last and agree."""
    generator = random.Random(seed)
    nouns = [("cat", "chat", 0), ("dog", "chien", 0), ("house", "maison", 1), ("car", "voiture", 1)]
    adjectives = [("green", "vert", "verte"), ("black", "noir", "noire"), ("grey", "gris", "grise")]
    verbs = [("sees", "voit"), ("likes", "aime"), ("looks for", "cherche")]
    pairs = []
    for _ in range(count):
        english, french = [], []
        for articles in (("the", "le", "la"), ("a", "un", "une")):
            (noun, nom, gender), adjective = generator.choice(nouns), generator.choice(adjectives)
            english.append(f"{articles[0]} {adjective[0]} {noun}")
            french.append(f"{articles[1 + gender]} {nom} {adjective[1 + gender]}")
        verb = generator.choice(verbs)
        pairs.append((f" {verb[0]} ".join(english), f" {verb[1]} ".join(french)))
    return tuple(map(list, zip(*pairs, strict=True)))


class ConvolutionalEncoder(Encoder):
    """Encoder that reads each token with its neighbours, then runs in both directions."""

    def __init__(self, embedding, units, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.convolution = keras.layers.Conv1D(units, 3, padding="same", activation="tanh")
        lstm = LSTM(units // 2, return_sequences=True, return_state=True)
        self.reader = Bidirectional(lstm, merge_mode="concat")

    def call(self, token_ids, mask=None, training=False):
        embedded = self.embedding(token_ids)  # (B, S, E)
        if mask is not None:  # so that outputs near the end do not depend on the padding
            embedded *= keras.ops.cast(mask, embedded.dtype)[..., None]
        convolved = self.convolution(embedded)
        memory, *states = self.reader(convolved, mask=mask, training=training)
        return memory, states


class GatedDecoder(Decoder):
    """Decoder that mixes, unit by unit, the LSTM's output and what attention finds."""

    def __init__(self, embedding, units, **kwargs):
        super().__init__(**kwargs)
        self.embedding = embedding
        self.bridge = keras.layers.Dense(units, activation="tanh")
        self.lstm = LSTM(units, return_sequences=True, return_state=True)
        self.attention = BahdanauAttention(units)
        self.gate = keras.layers.Dense(units, activation="sigmoid")

    def init_state(self, memory, encoder_states, mask=None):
        forward, _, backward, _ = encoder_states  # of each direction: hidden state and memory
        hidden = self.bridge(keras.ops.concatenate([forward, backward], axis=-1))
        steps = keras.ops.shape(memory)[:2]
        return {
            "lstm": [hidden, keras.ops.zeros_like(hidden)],
            "memory": memory,
            "mask": keras.ops.ones(steps, "bool") if mask is None else mask,
            "weights": keras.ops.zeros(steps),
        }

    def call(self, token_ids, state, training=False):
        outputs, *states = self.lstm(self.embedding(token_ids), initial_state=state["lstm"])
        features, weights = self.look(outputs, state)  # all steps at once
        return features, {**state, "lstm": states, "weights": weights[:, -1]}

    def step(self, token_ids, state):
        output, states = self.lstm.step(self.embedding(token_ids), state["lstm"])
        feature, weights = self.look(output, state)
        return feature, {**state, "lstm": states, "weights": weights}

    def look(self, output, state):
        context, weights, _ = self.attention(output, state["memory"], mask=state["mask"])
        gate = self.gate(keras.ops.concatenate([output, context], axis=-1))
        return gate * output + (1.0 - gate) * context, weights

    def alignment(self, state):
        return state["weights"]


@keras.saving.register_keras_serializable(package="examples")
class Translator(EncoderDecoder, keras.Model):
    """Text-to-text model: one tokenizer for both languages, and the network."""

    def __init__(self, tokenizer, vocabulary_size, units=64, **kwargs):
        super().__init__(**kwargs)
        self.tokenizer, self.vocabulary_size, self.units = tokenizer, vocabulary_size, units
        normal = keras.initializers.RandomNormal(stddev=0.3)
        embedding = keras.layers.Embedding(vocabulary_size, units, normal)
        self.encoder = ConvolutionalEncoder(embedding, units)
        self.decoder = GatedDecoder(embedding, units)
        self.output_layer = TiedSoftmax(embedding)

    def translate(self, texts, width=4):
        """Return translations of a list of strings, by beam search."""
        start, end = self.tokenizer.start_token_id, self.tokenizer.end_token_id
        ids = [[start, *sequence, end] for sequence in self.tokenizer(texts).to_list()]
        ids = tf.ragged.constant(ids, tf.int32).to_tensor()  # [PAD] is 0
        found = BeamSearch(width, length_penalty=1.0)(
            self.step,
            self.start(ids, ids != 0),
            start_tokens=tf.fill([len(texts)], start),
            end_token=end,
            max_length=48,
        )
        return self.tokenizer.detokenize(found.tokens[:, 0])

    def get_config(self):
        tokenizer = keras.saving.serialize_keras_object(self.tokenizer)
        sizes = {"vocabulary_size": self.vocabulary_size, "units": self.units}
        return {**super().get_config(), "tokenizer": tokenizer, **sizes}

    @classmethod
    def from_config(cls, config):
        tokenizer = keras.saving.deserialize_keras_object(config.pop("tokenizer"))
        return cls(tokenizer, **config)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder that contains the folder multi30k")
    parser.add_argument("--rows", type=int, default=2000, help="made-up pairs of sentences")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--save", help="where to save the model, a .keras file")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    if options.data:
        size, units, batch_size = 4000, 256, 64
        source, target = load_multi30k("train", directory=options.data)
        test_source, test_target = load_multi30k("val", directory=options.data)
    else:
        size, units, batch_size = 340, 64, 16
        source, target = made_up_pairs(options.rows)
        test_source, test_target = made_up_pairs(200, seed=1)
    tokenizer = BytePairTokenizer.train(source + target, vocabulary_size=size)
    batches = translation_batches(
        source, target, tokenizer, tokenizer, batch_size=batch_size, reshuffle_each_epoch=True
    )
    model = Translator(tokenizer, size, units)
    model.compile(keras.optimizers.Adam(3e-3, clipnorm=1.0), SequenceCrossentropy())
    model.fit(batches, epochs=options.epochs, shuffle=False, verbose=2)

    path = options.save or os.path.join(tempfile.mkdtemp(), "translator.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    translated = loaded.translate(test_source[:200])
    assert translated == model.translate(test_source[:200])
    for pair in zip(test_source[:5], translated, strict=False):
        print(*pair, sep=" = ")
    bleu = sacrebleu.corpus_bleu(translated, [test_target[:200]]).score
    print(f"BLEU of the model in {path}: {bleu:.1f}")
    return bleu


if __name__ == "__main__":
    main()
