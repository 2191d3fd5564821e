"""Made-up parallel text and tiny models that read it."""

import random

from keras_seqzoo.training import make_translation_model

WORDS = {"red": "rot", "dog": "hund", "cat": "katze", "runs": "rennt", "sees": "sieht", "a": "ein"}


def parallel_text(lines, seed=0):
    """Sentences of one to six words, and their translations word by word."""
    generator = random.Random(seed)
    source = [
        [generator.choice(list(WORDS)) for _ in range(generator.randint(1, 6))]
        for _ in range(lines)
    ]
    return (
        [" ".join(sentence) for sentence in source],
        [" ".join(WORDS[word] for word in sentence) for sentence in source],
    )


def tiny_model(**options):
    """An untrained model that has seen the words' characters."""
    sizes = {"embedding_dim": 4, "encoder_units": 3, "decoder_units": 5, "attention_units": 4}
    return make_translation_model(
        *parallel_text(40), **{"vocabulary_size": 290, "sequence_length": 24, **sizes, **options}
    )


def write_parallel_text(folder, name, lines, seed=0):
    """Write both sides to files; returns their paths."""
    paths = [folder / f"{name}.{side}" for side in ("source", "target")]
    for path, text in zip(paths, parallel_text(lines, seed), strict=True):
        path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return paths
