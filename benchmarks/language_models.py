"""The ladder of language models on the Penn Treebank: one table, the same events for all.

    python benchmarks/language_models.py --log-linear FILE --feed-forward FILE --elman PRESET \\
        --small PRESET --tied PRESET

The n-gram models are counted here. The others were trained before, by the commands in RESULTS.md:
`.keras` files of fixed-context models, and presets of recurrent models, which read each of the two
texts as one stream. Models that are not given are left out. Perplexities are over words and ends of
sentences; `<unk>` is an ordinary word. Choices (weights of mixtures, the rates of dynamic
evaluation, the weight of a cache) are made on the validation text.
"""

import argparse
import os
from pathlib import Path

import keras
from measure import Table, machine

import keras_seqzoo
from keras_seqzoo.data import read_lines
from keras_seqzoo.models import (
    CacheLanguageModel,
    DynamicEvaluation,
    InterpolatedLanguageModel,
    LanguageModel,
    NeuralCacheLanguageModel,
    NGramLanguageModel,
    RecurrentLanguageModel,
    RunningText,
    gradient_rms,
)
from keras_seqzoo.models.language_model.ngram import WittenBell
from keras_seqzoo.tokenizers import WordTokenizer

# Published figures: Mikolov's thesis of 2012, table 4.1; Zaremba, Sutskever and Vinyals 2014;
# a tied model of two layers of 512 units, srush/cs287; Merity, Keskar and Socher 2018.
FIXED = {"log_linear": ("log-linear", 142.1), "feed_forward": ("feed-forward", 140.2)}
RECURRENT = {
    "elman": ("Elman", 124.7),
    "small": ("LSTM, 2 layers of 200 units", 114.5),
    "tied": ("LSTM, 2 layers of 512 units, tied", 76.05),
    "averaged": ("LSTM, weights dropped, averaged", 57.3),
}
# Learning rates and decays: the same for all weights, and with `gradient_rms`.
RATES = ((8.0, 0.0), (8.0, 0.01), (16.0, 0.01), (16.0, 0.03))
OWN_RATES = ((0.01, 0.01), (0.02, 0.01), (0.02, 0.03), (0.03, 0.03), (0.03, 0.06))
RMS_LINES = 6000  # of the training text, for the root mean squares of gradients
CACHES = (0.02, 0.05, 0.1)
NEURAL_CACHES = {"weights": (0.05, 0.1, 0.2), "flatnesses": (0.3, 0.5, 0.75, 1.0), "size": 2000}


def load(split):
    """Return the sentences of a split."""
    return read_lines(Path(os.environ["SEQZOO_DATA"], "ptb", f"ptb.{split}.txt.gz"))


class Remembered(LanguageModel):
    """A model that reads each text once, since reading with dynamic evaluation takes minutes."""

    def __init__(self, model):
        self.model, self.tokenizer = model, model.tokenizer
        self.remembers_sentences = model.remembers_sentences
        self.scores = {}

    def token_scores(self, texts, batch_size=64):
        """Return log P of each token, as when the text was read."""
        key = tuple(texts)
        if key not in self.scores:
            self.scores[key] = self.model.token_scores(texts, batch_size)
        return self.scores[key]


def best_of(models, texts):
    """Return the model with the lowest perplexity."""
    return min(models, key=lambda model: model.perplexity(texts, 256).perplexity)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in (*FIXED, *RECURRENT):
        parser.add_argument(f"--{name.replace('_', '-')}", help="a .keras file or a preset")
    options = vars(parser.parse_args())
    print(machine(), keras_seqzoo.__version__, "\n")
    train, valid, test = (load(split) for split in ("train", "valid", "test"))
    tokenizer = WordTokenizer.train(train)
    table = Table("model", "valid", "test", "published")

    def report(name, model, published=None):
        found = [f"{model.perplexity(text, 256).perplexity:.2f}" for text in (valid, test)]
        table.row(name, *found, published)

    ngram = NGramLanguageModel.train(train, 5, tokenizer=tokenizer)
    wittenbell = NGramLanguageModel.train(train, 5, WittenBell(), tokenizer)
    report("5-gram, Witten-Bell", wittenbell)
    report("5-gram, modified Kneser-Ney", ngram, 141.2)
    report("the same with a cache", CacheLanguageModel(ngram, 0.12, 1000, 0.007), 125.7)
    best = None
    for name, (title, published) in FIXED.items():
        if options[name]:
            report(title, keras.models.load_model(options[name], compile=False), published)
    for name, (title, published) in RECURRENT.items():
        if options[name]:
            model = RecurrentLanguageModel.from_preset(options[name])
            report(title, RunningText(model, streams=8), published)
            report(f"{title}, sentence by sentence", model)
            best = model
    if best is None:
        return
    ngram = Remembered(ngram)
    reading = {"streams": 8, "jit_compile": True}
    running = Remembered(RunningText(best, **reading))
    report("the last and the 5-gram", InterpolatedLanguageModel.tuned([ngram, running], valid))
    cached = best_of([CacheLanguageModel(running, weight, 1000) for weight in CACHES], valid)
    report(f"the last with a cache of weight {cached.weight}", cached)
    rms = gradient_rms(best, train[:RMS_LINES], **reading)
    for pairs, own, title in ((RATES, None, ""), (OWN_RATES, rms, " with `gradient_rms`")):
        options = {"gradient_rms": own, **reading}
        dynamic = best_of(
            [Remembered(DynamicEvaluation(best, *pair, **options)) for pair in pairs], valid
        )
        rates = f"{dynamic.model.learning_rate:g}, decay {dynamic.model.decay:g}"
        report(f"the last, dynamic evaluation{title} at rate {rates}", dynamic)
    report(
        "dynamic evaluation and the 5-gram",
        InterpolatedLanguageModel.tuned([ngram, dynamic], valid),
    )
    for title, read in (("the last", running), ("dynamic evaluation", dynamic)):
        cached = NeuralCacheLanguageModel.tuned(read.model, valid, **NEURAL_CACHES)
        options = f"weight {cached.weight}, flatness {cached.flatness}"
        cached = Remembered(cached)
        report(f"{title} with a neural cache, {options}", cached)
    report(
        "dynamic evaluation, neural cache and 5-gram",
        InterpolatedLanguageModel.tuned([ngram, cached], valid),
    )


if __name__ == "__main__":
    main()
