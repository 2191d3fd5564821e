"""Back-translation: a translator that also learns from untranslated sentences.

Few sentences have a translation, but many more are available in the target language alone. A model
of the reverse direction is trained on the few pairs and translates the many sentences by sampling.
The translator then learns from the real pairs and these synthetic ones. Their targets are right
even where their sources are not (Sennrich et al. 2016, "Improving neural machine translation models
with monolingual data"; sampling as in Edunov et al. 2018, "Understanding back-translation at
scale"):

    python examples/back_translation.py --save /tmp/translator

The baseline is a model trained on the pairs alone for at least as many steps. The sentences are
made up: words of one language and, with verbs last, of another.
"""

import argparse
import random
import tempfile
from pathlib import Path

import keras

from keras_seqzoo.decoding import Greedy, Sampling
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import make_translation_model
from keras_seqzoo.zoo import save_preset

ARTICLES = {"a": "ein", "the": "das"}
ADJECTIVES = {"red": "rote", "small": "kleine", "old": "alte", "wild": "wilde", "fast": "flinke"}
NOUNS = {"dog": "tier", "car": "auto", "boat": "boot", "child": "kind", "book": "buch"}
VERBS = {"sees": "sieht", "likes": "mag", "needs": "braucht", "finds": "findet"}
WORDS = {**ARTICLES, **ADJECTIVES, **NOUNS, **VERBS}


def made_up_pairs(count, generator):
    """Return made-up sentences and their translations (verb last): two lists of strings."""
    sources, targets = [], []
    for _ in range(count):
        things = []
        for _ in range(2):
            adjectives = generator.sample(list(ADJECTIVES), k=generator.randint(0, 2))
            things.append([generator.choice(list(ARTICLES)), *adjectives])
            things[-1].append(generator.choice(list(NOUNS)))
        verb = generator.choice(list(VERBS))
        source = [*things[0], verb, *things[1]]
        target = [WORDS[word] for word in (*things[0], *things[1], verb)]
        sources.append(" ".join(source))
        targets.append(" ".join(target))
    return sources, targets


def train(sources, targets, epochs, seed=1):
    """Train a translator."""
    keras.utils.set_random_seed(seed)
    model = make_translation_model(
        sources,
        targets,
        tokenizer="word",
        minimum_count=1,
        embedding_dim=32,
        encoder_units=32,
        decoder_units=64,
        dropout=0.2,
        sequence_length=12,
    )
    model.compile(keras.optimizers.Adam(3e-3, global_clipnorm=1.0))
    pairs = {"encoder_text": sources, "decoder_text": targets}
    model.fit(pairs, batch_size=32, epochs=epochs, verbose=2)
    return model


def right(model, sources, targets):
    """Return the share of sentences that are translated without a mistake."""
    found = model.translate(sources, Greedy())
    pairs = zip(found, targets, strict=True)
    return sum(best.text == target for [best], target in pairs) / len(targets)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=48, help="sentences with translations")
    parser.add_argument("--more", type=int, default=480, help="sentences in the target language")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--save", help="new folder for the preset")
    options = parser.parse_args(arguments)

    generator = random.Random(0)
    sources, targets = made_up_pairs(options.pairs, generator)
    _, more = made_up_pairs(options.more, generator)
    test = made_up_pairs(200, generator)
    longer = 1 + options.more // options.pairs  # as many pairs, again and again

    alone = train(sources, targets, options.epochs * longer)
    reverse = train(targets, sources, options.epochs * longer)
    drawn = [sample.text for [sample] in reverse.translate(more, Sampling(samples=1, seed=1))]
    print(more[0], "->", drawn[0])
    both = train([*sources, *drawn], [*targets, *more], options.epochs)

    scores = {name: right(model, *test) for name, model in (("alone", alone), ("both", both))}
    print(f"Right: {scores['alone']:.1%} with pairs alone, {scores['both']:.1%} with both")
    folder = Path(options.save or Path(tempfile.mkdtemp(), "translator"))
    save_preset(both, folder)
    print(test[0][0], "->", RecurrentSeq2SeqLM.from_preset(str(folder)).generate(test[0][0]))
    return scores


if __name__ == "__main__":
    main()
