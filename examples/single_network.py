"""Translate with a single network: a language model over source, separator and target.

One recurrent network reads `[BOS] source [SEP] target [EOS]`; only the target's words count in the
loss. To translate, it reads the source and the separator and continues (Jurafsky and Martin, Speech
and Language Processing, on the encoder-decoder model, where encoder and decoder are one network).
It does not use `RecurrentSeq2SeqLM`: it is the language model of this package. The sentences are
made up; their words are translated in reverse order:

    python examples/single_network.py
"""

import argparse
import random

import keras
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.tokenizers import WordTokenizer

WORDS = {"dog": "chien", "cat": "chat", "sees": "voit", "eats": "mange", "big": "grand"}
LENGTH = 12


def made_up_pairs(count, seed=0):
    """Return pairs of one to four words and their translations, the last word first."""
    generator = random.Random(seed)
    rows = [generator.choices(list(WORDS), k=generator.randint(1, 4)) for _ in range(count)]
    sources = [" ".join(row) for row in rows]
    return sources, [" ".join(WORDS[word] for word in reversed(row)) for row in rows]


def make_batches(sources, targets, tokenizer):
    """Return batches for `fit`: the whole sequence, with weights of 1 after the separator."""
    pairs = WordTokenizer(tokenizer.words, add_bos=True, add_eos=True)
    ids = pairs.tokenize_pairs(sources, targets).to_tensor()  # [BOS] source [SEP] target [EOS]
    is_target = tf.cumsum(tf.cast(ids == tokenizer.sep_token_id, tf.int32), axis=1) > 0
    is_word = ids != tokenizer.pad_token_id
    inputs = {"token_ids": ids[:, :-1], "padding_mask": is_word[:, :-1]}
    weights = tf.cast(is_target[:, :-1] & is_word[:, 1:], tf.float32)
    rows = (inputs, ids[:, 1:], weights)
    return tf.data.Dataset.from_tensor_slices(rows).shuffle(len(sources), seed=1).batch(32)


def translate(model, sources):
    """Continue `[BOS] source [SEP]` by beam search, and return what comes after."""
    tokenizer = model.tokenizer
    ids = tokenizer.encode(tf.constant(sources))
    prompts = tf.concat([ids, [[tokenizer.sep_token_id]] * len(sources)], axis=1)
    found = model.search(prompts, BeamSearch(4), max_length=LENGTH)
    rows = zip(found.tokens[:, 0].numpy(), prompts.row_lengths().numpy(), strict=True)
    return [tokenizer.detokenize(tokens[length:]) for tokens, length in rows]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=3000, help="made-up pairs")
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(1)

    sources, targets = made_up_pairs(options.rows)
    tokenizer = WordTokenizer.train(sources + targets)
    model = RecurrentLanguageModel(
        RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=32, units=96),
        RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=LENGTH),
    )
    model.compile(keras.optimizers.Adam(5e-3, global_clipnorm=1.0))
    model.fit(
        make_batches(sources, targets, tokenizer), epochs=options.epochs, shuffle=False, verbose=2
    )

    others, expected = made_up_pairs(200, seed=1)
    translated = translate(model, others)
    for pair in zip(others[:5], translated, strict=False):
        print(*pair, sep=" = ")
    right = sum(own == text for own, text in zip(translated, expected, strict=True)) / len(others)
    print(f"{right:.1%} of 200 sentences are translated right")
    return right


if __name__ == "__main__":
    main()
