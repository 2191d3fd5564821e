"""Two rungs of the ladder of language models, one after the other and both together.

An n-gram model counts, a feed-forward model learns embeddings; on the same words they are good at
different ones, so that their mean, with the weights that suit the validation text, is better than
either. By default the text is made up:

    python examples/language_model_ladder.py --save /tmp/feed_forward.keras
    python examples/language_model_ladder.py --train train.txt --valid valid.txt --test test.txt \\
        --order 6 --embedding-dim 200 --hidden-units 400 --dropout 0.4 --epochs 11
"""

import argparse
import os
import random
import tempfile

import keras

from keras_seqzoo.data import read_lines
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    FeedForwardLanguageModel,
    InterpolatedLanguageModel,
    NGramLanguageModel,
)
from keras_seqzoo.tokenizers import WordTokenizer


def made_up_text(sentences, seed):
    """Make sentences in which who acts says what is done, and an adjective may stand between."""
    generator = random.Random(seed)
    deeds = {"farmers": "grow", "cows": "eat", "cooks": "fry", "birds": "pick"}
    adjectives = ["old", "young", "happy", "hungry", "tired", "tall"]
    things = ["corn", "beans", "hay", "apples"]
    for _ in range(sentences):
        who = generator.choice(list(deeds))
        words = [generator.choice(adjectives) + " " if generator.random() < 0.8 else ""]
        yield f"{words[0]}{who} {deeds[who]} {generator.choice(things)}"


def halved(rate, after):
    """Make a schedule that halves the learning rate after each epoch but the first ones."""
    return keras.callbacks.LearningRateScheduler(
        lambda epoch, _: rate * 0.5 ** max(epoch + 1 - after, 0)
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", help="sentences, one a line, words between spaces")
    parser.add_argument("--valid")
    parser.add_argument("--test")
    parser.add_argument("--order", type=int, default=4, help="of the feed-forward model")
    parser.add_argument("--embedding-dim", type=int, default=16)
    parser.add_argument("--hidden-units", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--save", help="file of the feed-forward model")
    options = parser.parse_args(arguments)

    keras.utils.set_random_seed(0)
    paths = options.train, options.valid, options.test
    if all(paths):
        train, valid, test = (read_lines(path) for path in paths)
        rate, batch_size = options.learning_rate, options.batch_size
    else:
        train, valid, test = (list(made_up_text(n, seed)) for seed, n in enumerate((900, 90, 90)))
        rate, batch_size = 0.01, 32
    tokenizer = WordTokenizer.train(train)
    ngram = NGramLanguageModel.train(train, order=5, tokenizer=tokenizer)
    neural = FeedForwardLanguageModel(
        tokenizer,
        order=options.order,
        embedding_dim=options.embedding_dim,
        hidden_units=[options.hidden_units],
        tie_softmax=True,
        dropout=options.dropout,
    )
    neural.compile(keras.optimizers.Adam(rate), SequenceCrossentropy())
    neural.fit(
        *neural.examples(train),
        batch_size=batch_size,
        epochs=options.epochs,
        validation_data=neural.examples(valid),
        callbacks=[halved(rate, after=options.epochs // 2)],
        verbose=2,
    )
    both = InterpolatedLanguageModel.tuned([ngram, neural], valid)
    models = {"5-gram": ngram, "feed-forward": neural, "both": both}
    found = {}
    for name, model in models.items():
        found[name] = [model.perplexity(text, 256).perplexity for text in (valid, test)]
        print(f"{name:12}  valid {found[name][0]:8.3f}  test {found[name][1]:8.3f}")
    print("weights", [round(weight, 3) for weight in both.weights])
    path = options.save or os.path.join(tempfile.mkdtemp(), "feed_forward.keras")
    neural.save(path)
    print(f"the feed-forward model is in {path}")
    return neural, found


if __name__ == "__main__":
    main()
