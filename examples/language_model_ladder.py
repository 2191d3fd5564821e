"""A ladder of language models, rung by rung, and all of them together.

An n-gram model counts, a log-linear model weighs features of the context, a feed-forward model
learns embeddings, and a recurrent model remembers the whole sentence. They predict the same words
but are good at different ones. Their weighted mean, tuned on the validation text, is therefore
better than any of them. By default the text is made up:

    python examples/language_model_ladder.py --folder /tmp/ladder
    python examples/language_model_ladder.py --train train.txt --valid valid.txt --test test.txt \\
        --rungs feed-forward --order 6 --embedding-dim 200 --hidden-units 400 --dropout 0.4 \\
        --epochs 11
    python examples/language_model_ladder.py --train train.txt --valid valid.txt --test test.txt \\
        --rungs log-linear --classes 256 --batch-size 1024 --log-linear-epochs 6
"""

import argparse
import os
import random
import tempfile

import keras
import numpy as np

from keras_seqzoo.data import read_lines
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    FeedForwardLanguageModel,
    InterpolatedLanguageModel,
    LogLinearLanguageModel,
    NGramLanguageModel,
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.models.language_model.log_linear import (
    BrownClusters,
    Conjunction,
    PreviousClass,
    PreviousToken,
    previous_tokens,
)
from keras_seqzoo.tokenizers import WordTokenizer

RUNGS = ("log-linear", "feed-forward", "recurrent")


def made_up_text(sentences, seed):
    """Return sentences whose actor decides the verb, with an optional adjective first."""
    generator = random.Random(seed)
    deeds = {"farmers": "grow", "cows": "eat", "cooks": "fry", "birds": "pick"}
    adjectives = ["old", "young", "happy", "hungry", "tired", "tall"]
    things = ["corn", "beans", "hay", "apples"]
    for _ in range(sentences):
        who = generator.choice(list(deeds))
        words = [generator.choice(adjectives) + " " if generator.random() < 0.8 else ""]
        yield f"{words[0]}{who} {deeds[who]} {generator.choice(things)}"


def halved(rate, after):
    """Return a schedule that halves the learning rate after each epoch except the first ones."""
    return keras.callbacks.LearningRateScheduler(
        lambda epoch, _: rate * 0.5 ** max(epoch + 1 - after, 0)
    )


def feed_forward(train, valid, tokenizer, options):
    model = FeedForwardLanguageModel(
        tokenizer,
        order=options.order,
        embedding_dim=options.embedding_dim,
        hidden_units=[options.hidden_units],
        tie_softmax=True,
        dropout=options.dropout,
    )
    model.compile(keras.optimizers.Adam(options.learning_rate), SequenceCrossentropy())
    model.fit(
        *model.examples(train),
        batch_size=options.batch_size,
        epochs=options.epochs,
        validation_data=model.examples(valid),
        callbacks=[halved(options.learning_rate, after=options.epochs // 2)],
        verbose=2,
    )
    return model


def class_features(ids, vocabulary_size, classes, order):
    """Return features of the last words, of their Brown classes, and of pairs of both."""
    clusters = BrownClusters.learn(ids, vocabulary_size, classes).classes
    last = [PreviousClass(clusters, position) for position in range(1, order)]
    return [
        *(previous_tokens(count) for count in range(1, order)),
        *(Conjunction(last[:count]) for count in range(1, order)),
        Conjunction([PreviousToken(1), last[1]]),
        Conjunction([last[0], PreviousToken(2)]),
    ]


def log_linear(train, valid, tokenizer, options):
    sentences = [[tokenizer.start_token_id, *ids] for ids in tokenizer(train).to_list()]
    ids = np.concatenate([*sentences, [tokenizer.end_token_id]])
    features = class_features(ids, tokenizer.vocabulary_size(), options.classes, order=5)
    model = LogLinearLanguageModel.for_text(train, features, order=5, tokenizer=tokenizer)
    # The accumulator's initial value keeps first steps of rare features short: less overfitting.
    model.compile(
        keras.optimizers.Adagrad(1.0, initial_accumulator_value=1e-4), SequenceCrossentropy()
    )
    model.fit(
        *model.examples(train),
        batch_size=options.batch_size,
        epochs=options.log_linear_epochs,
        validation_data=model.examples(valid),
        validation_batch_size=512,
        verbose=2,
    )
    return model


def recurrent(train, valid, tokenizer, options):
    model = RecurrentLanguageModel(
        RecurrentBackbone(
            tokenizer.vocabulary_size(),
            embedding_dim=options.embedding_dim,
            units=options.hidden_units,
            dropout=options.dropout,
        ),
        RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=options.sequence_length),
    )
    model.compile(keras.optimizers.Adam(options.learning_rate, global_clipnorm=1.0))
    model.fit(train, batch_size=options.batch_size, epochs=options.epochs, verbose=2)
    return model


TRAINING = {"log-linear": log_linear, "feed-forward": feed_forward, "recurrent": recurrent}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", help="sentences, one per line, words separated by spaces")
    parser.add_argument("--valid")
    parser.add_argument("--test")
    parser.add_argument("--rungs", nargs="*", choices=RUNGS, default=list(RUNGS))
    parser.add_argument("--order", type=int, default=4, help="of the feed-forward model")
    parser.add_argument("--classes", type=int, default=8, help="of words, for log-linear features")
    parser.add_argument("--log-linear-epochs", type=int, help="by default 40, or 4 with --train")
    parser.add_argument("--embedding-dim", type=int, default=16)
    parser.add_argument("--hidden-units", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument(
        "--learning-rate", type=float, help="by default 0.01, or 0.001 with --train"
    )
    parser.add_argument("--batch-size", type=int, help="by default 32, or 512 with --train")
    parser.add_argument(
        "--sequence-length",
        type=int,
        help="of the recurrent model, by default 6, or 64 with --train",
    )
    parser.add_argument("--folder", help="folder for the trained models")
    options = parser.parse_args(arguments)

    paths = options.train, options.valid, options.test
    if any(paths) and not all(paths):
        parser.error("--train, --valid and --test go together")
    if all(paths):
        train, valid, test = (read_lines(path) for path in paths)
        defaults = {"learning_rate": 0.001, "batch_size": 512, "sequence_length": 64}
        defaults["log_linear_epochs"] = 4
    else:
        train, valid, test = (list(made_up_text(n, seed)) for seed, n in enumerate((900, 90, 90)))
        defaults = {"learning_rate": 0.01, "batch_size": 32, "sequence_length": 6}
        defaults["log_linear_epochs"] = 40
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    tokenizer = WordTokenizer.train(train)
    models = {"5-gram": NGramLanguageModel.train(train, order=5, tokenizer=tokenizer)}
    for rung in options.rungs:
        keras.utils.set_random_seed(0)
        models[rung] = TRAINING[rung](train, valid, tokenizer, options)
    models["all"] = InterpolatedLanguageModel.tuned(list(models.values()), valid)
    found = {}
    for name, model in models.items():
        found[name] = [model.perplexity(text, 256).perplexity for text in (valid, test)]
        print(f"{name:12}  valid {found[name][0]:8.3f}  test {found[name][1]:8.3f}")
    print("weights", [round(weight, 3) for weight in models["all"].weights])
    folder = options.folder or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    for rung in options.rungs:
        models[rung].save(os.path.join(folder, f"{rung}.keras"))
    print(f"the trained models are in {folder}")
    return models, found


if __name__ == "__main__":
    main()
