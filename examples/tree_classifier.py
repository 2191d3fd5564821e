"""Classify parsed sentences with a Tree-LSTM.

By default the sentences are made up: "not" negates one of two adjectives, and only its head in the
dependency tree tells which. The word order is random and tells nothing.

    python examples/tree_classifier.py --save /tmp/trees.keras
    python examples/tree_classifier.py --data $SEQZOO_DATA/ud_ewt --epochs 4

`--data` names a folder with the files of UD English-EWT (`en_ewt-ud-train.conllu` and so on, plain
or `.gz`). The label of a sentence is then its genre, with which its `sent_id` begins: answers,
email, newsgroup, reviews or weblog. `--write` writes the labelled sentences for use on the command
line:

    python examples/tree_classifier.py --data $SEQZOO_DATA/ud_ewt --write genres
    seqzoo train classify --encoder tree --train genres/train.conllu --valid genres/dev.conllu \\
      --out genre-trees
    seqzoo evaluate --preset genre-trees --test genres/test.conllu
"""

import argparse
import os
import pathlib
import random
import tempfile

import keras
import numpy as np

from keras_seqzoo.data import ConlluSentence, read_conllu, write_conllu
from keras_seqzoo.models import TreeTextClassifier
from keras_seqzoo.training import make_text_classifier

GOOD, BAD = ["great", "lovely", "clever", "moving"], ["dull", "silly", "weak", "slow"]
PARTS = ("train", "dev", "test")


def made_up_sentences(count, seed=0):
    """Return sentences like "dull not is great" with trees; good if the root is good or not bad."""
    generator = random.Random(seed)
    sentences = []
    for _ in range(count):
        good, negated = generator.random() < 0.5, generator.random() < 0.5
        root = generator.choice(GOOD if good != negated else BAD)
        other = generator.choice(GOOD + BAD)
        # Words with their heads; the head of "not" is the root or the other adjective.
        tree = [(root, None), (other, root), ("is", root), ("not", root if negated else other)]
        generator.shuffle(tree)
        words = [word for word, _ in tree]
        heads = [0 if head is None else words.index(head) + 1 for _, head in tree]
        if words.count(root) == 1:  # the heads are clear
            sentences.append(labelled(make_sentence(words, heads), "good" if good else "bad"))
    return sentences


def make_sentence(words, heads):
    """Return a CoNLL-U sentence for words and the numbers of their heads."""
    rows = enumerate(zip(words, heads, strict=True), 1)
    return ConlluSentence(
        [], [(f"{n}", word, *"____", f"{head}", *"___") for n, (word, head) in rows]
    )


def labelled(sentence, label):
    """Return a sentence with a comment that states its label."""
    return ConlluSentence([*sentence.comments, f"# label = {label}"], sentence.rows)


def read_genres(folder, part):
    """Read a part of UD English-EWT, with the genre of each sentence as its label."""
    [path] = pathlib.Path(folder).glob(f"en_ewt-ud-{part}.conllu*")
    sentences = read_conllu(path)
    return [labelled(one, one.comment("sent_id").partition("-")[0]) for one in sentences]


def load(args):
    """Return the training, validation and test sentences."""
    if args.data:
        return [read_genres(args.data, part)[: args.rows] for part in PARTS]
    rows = args.rows or 4000
    return [made_up_sentences(rows), made_up_sentences(200, 1), made_up_sentences(500, 2)]


def columns(sentences):
    """Return the sentences as strings, and their labels."""
    return [str(one) for one in sentences], [one.comment("label") for one in sentences]


def main(arguments=None):
    """Train, save and load the model; return the accuracy on the test sentences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with UD English-EWT; default: made-up sentences")
    parser.add_argument("--write", help="write the labelled sentences to this folder, and stop")
    parser.add_argument("--rows", type=int, help="number of training sentences")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--save", help="where to save the model (.keras)")
    args = parser.parse_args(arguments)
    keras.utils.set_random_seed(0)
    parts = load(args)
    if args.write:
        os.makedirs(args.write, exist_ok=True)
        for part, sentences in zip(PARTS, parts, strict=True):
            write_conllu(os.path.join(args.write, f"{part}.conllu"), sentences)
        return None
    random.Random(0).shuffle(parts[0])  # `fit` does not shuffle, and documents follow each other
    train, valid, test = map(columns, parts)
    model = make_text_classifier(
        *train, encoder="tree", units=args.units, embedding_dim=64, dropout=0.3
    )
    options = {"epochs": args.epochs, "validation_data": valid, "shuffle": False, "verbose": 2}
    model.fit(*train, batch_size=32, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = args.save or os.path.join(folder, "trees.keras")
        model.save(path)
        loaded = keras.saving.load_model(path)
    assert isinstance(loaded, TreeTextClassifier)
    probabilities = model.predict_probabilities(test[0])
    np.testing.assert_allclose(loaded.predict_probabilities(test[0]), probabilities, atol=1e-5)
    accuracy = loaded.accuracy(*test)
    print(f"accuracy on {len(test[0])} test sentences: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
