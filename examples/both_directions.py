"""Train two translators of opposite directions together, so that their alignments agree.

The sentence pairs are made up: sentences and the same words in another language, in reverse order.
The two models are trained without and with the agreement bonus of Cohn et al. (2016). With the
bonus, each model is saved as a preset of its own:

    python examples/both_directions.py --save /tmp/translators

`seqzoo align --reverse-preset` combines the alignments of both presets.
"""

import argparse
import random
import tempfile
from pathlib import Path

import keras

from keras_seqzoo.models import (
    BidirectionalTranslation,
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
)
from keras_seqzoo.training import make_translation_model
from keras_seqzoo.zoo import save_preset

WORDS = {"red": "rot", "dog": "hund", "cat": "katze", "runs": "rennt", "sees": "sieht", "a": "ein"}


def made_up_pairs(count, seed=0):
    """Return made-up sentences and translations in reverse order: two lists of strings."""
    generator = random.Random(seed)
    sources = [generator.choices(list(WORDS), k=generator.randint(2, 6)) for _ in range(count)]
    targets = [[WORDS[word] for word in reversed(sentence)] for sentence in sources]
    return tuple([" ".join(sentence) for sentence in side] for side in (sources, targets))


def make_pair(sources, targets, symmetry):
    """Return two models that share one tokenizer for both languages, but no weights."""
    forward = make_translation_model(
        sources,
        targets,
        tokenizer="word",
        embedding_dim=32,
        encoder_units=32,
        decoder_units=64,
        sequence_length=8,
    )
    backbone = RecurrentEncoderDecoderBackbone.from_config(forward.backbone.get_config())
    backward = RecurrentSeq2SeqLM(backbone, forward.preprocessor)
    return BidirectionalTranslation(forward, backward, symmetry)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000, help="made-up pairs")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--symmetry", type=float, default=1.0, help="weight of the bonus")
    parser.add_argument("--save", help="new folder for both presets")
    options = parser.parse_args(arguments)

    sources, targets = made_up_pairs(options.rows)
    texts = {"encoder_text": sources, "decoder_text": targets}
    agreement = {}
    for symmetry in (0.0, options.symmetry):
        keras.utils.set_random_seed(1)
        pair = make_pair(sources, targets, symmetry)
        pair.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0))
        pair.fit(texts, batch_size=32, epochs=options.epochs, verbose=2)
        agreement[symmetry] = pair.evaluate(texts, verbose=0, return_dict=True)["agreement"]
        print(f"With the weight {symmetry:g} the alignments agree to {agreement[symmetry]:.1%}")

    folder = Path(options.save or tempfile.mkdtemp())
    for name in ("forward", "backward"):
        save_preset(getattr(pair, name), folder / name)
    backward = RecurrentSeq2SeqLM.from_preset(str(folder / "backward"))
    print(targets[0], "->", backward.generate(targets[0]))
    return agreement


if __name__ == "__main__":
    main()
