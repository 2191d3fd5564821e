# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Decoding strategies compared
#
# A translation model gives the probability of the next word. A decoding strategy chooses the words.
# Here we compare greedy search, beam search, diverse beam search and sampling, with the
# preset `gru_attention_multi30k_en_fr`, on 200 validation captions of
# [Multi30k](https://github.com/multi30k/dataset).

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    Greedy,
    NoRepeatedNGrams,
    Sampling,
    minimum_bayes_risk,
)
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models import RecurrentSeq2SeqLM

model = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
sources, references = (texts[:200] for texts in load_multi30k("val"))

# %% [markdown]
# ## Wider beams
#
# Beam search keeps the most probable partial translations; greedy search keeps only one. We time
# the second call of each strategy, because the first one compiles.

# %%
bleu, seconds = {}, {}
for width in (1, 2, 4, 8):
    strategy = Greedy() if width == 1 else BeamSearch(width)
    model.translate(sources, strategy)
    start = time.perf_counter()
    found = model.translate(sources, strategy)
    seconds[width] = time.perf_counter() - start
    bleu[width] = score_translations([best.text for best, *_ in found], references).bleu
    print(f"width {width}: BLEU {bleu[width]:.1f}, {len(sources) / seconds[width]:.0f} sentences/s")

# %%
figure, (quality, speed) = plt.subplots(1, 2, figsize=(8, 3))
quality.plot(list(bleu), list(bleu.values()), "o-")
quality.set(xlabel="width", ylabel="BLEU", xscale="log", xticks=list(bleu), xticklabels=list(bleu))
speed.plot(list(bleu), [len(sources) / value for value in seconds.values()], "o-")
speed.set(xlabel="width", ylabel="sentences a second", xscale="log", ylim=0)
speed.set(xticks=list(bleu), xticklabels=list(bleu))
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Length penalty
#
# Each additional word makes a translation less probable, so beam search ranked by log P alone
# stops too early. `BeamSearch` divides log P by the length to the power of α: 0 applies no
# correction, 1 gives the mean per token. For some α, we print the total length of the translations
# in words, divided by the length of the references, and BLEU:

# %%
words = sum(len(reference.split()) for reference in references)
ratios = {}
for alpha in (0.0, 0.5, 1.0, 1.5):
    found = model.translate(sources, BeamSearch(8, length_penalty=alpha))
    ratios[alpha] = sum(len(best.text.split()) for best, *_ in found) / words
    score = score_translations([best.text for best, *_ in found], references).bleu
    print(f"alpha {alpha}: length {ratios[alpha]:.3f}, BLEU {score:.1f}")

# %% [markdown]
# ## Different translations
#
# The best four hypotheses of a beam often differ in a single word. In diverse beam search
# (Vijayakumar et al. 2018), groups of hypotheses avoid each other's words. Sampling draws words
# by their probability. Groups and samples may still find equal translations.

# %%
text = ["A boy in a red shirt is jumping over a small wall."]
strategies = {
    "beam": BeamSearch(8, n_best=4),
    "diverse": DiverseBeamSearch(4, groups=4, diversity=2.0, n_best=4),
    "samples": Sampling(samples=4, temperature=0.8, seed=1),
}
kinds = {}
for name, strategy in strategies.items():
    [hypotheses] = model.translate(text, strategy)
    kinds[name] = [hypothesis.text for hypothesis in hypotheses]
    print(name, *kinds[name], sep="\n  ")

# %% [markdown]
# ## Temperature
#
# With a temperature below 1, samples have more probable words; above 1, they vary more. We plot the
# mean log probability of 16 samples, and how many of them are different:

# %%
temperatures, means, distinct = (0.2, 0.5, 0.8, 1.1, 1.4), [], []
for temperature in temperatures:
    [drawn] = model.translate(text, Sampling(samples=16, temperature=temperature, seed=1))
    means.append(np.mean([sample.log_probability for sample in drawn]))
    distinct.append(len({sample.text for sample in drawn}))
figure, axis = plt.subplots(figsize=(5, 3))
axis.plot(temperatures, means, "o-", color="tab:blue")
axis.set(xlabel="temperature", ylabel="mean log P")
other = axis.twinx()
other.plot(temperatures, distinct, "s--", color="tab:orange")
other.set_ylabel("different samples of 16")
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Minimum Bayes risk
#
# Minimum Bayes risk decoding takes the candidate with the highest mean chrF against all
# candidates.

# %%
[drawn] = model.translate(text, Sampling(samples=24, temperature=0.8, seed=1))
(agreement, index), *_ = minimum_bayes_risk([sample.text for sample in drawn])
print(f"{drawn[index].text} (agreement {agreement:.1f})")

# %% [markdown]
# ## Constraints
#
# Constraints restrict what may come next; required phrases must appear in the translation.

# %%
[[best]] = model.translate(text, BeamSearch(8, constraints=[NoRepeatedNGrams(2)]))
[[required]] = model.translate(text, required_phrases=[["petit garçon"]])
print(best.text, required.text, sep="\n")

# %% [markdown]
# ## A model of your own
#
# The strategies need only a step function. It takes a token and a state, and returns log
# probabilities and the next state. Here is a chain of three words and an end token, 3. Greedy
# search takes the most probable first word; beam search finds the more probable sentence.

# %%
chain = np.log([[0.1, 0.5, 0.4, 1e-9], [1e-9, 0.4, 0.3, 0.3], [1e-9, 0.05, 0.05, 0.9]])
table = tf.constant(np.vstack([chain, np.zeros((1, 4))]), "float32")


def step(tokens, state):
    return tf.gather(table, tokens), state


results = {}
for name, strategy in {"greedy": Greedy(), "beam": BeamSearch(3, length_penalty=0.0)}.items():
    found = strategy(step, tf.zeros((1, 1)), tf.constant([0]), end_token=3, max_length=4)
    results[name] = float(found.log_probabilities[0, 0])
    print(name, found.tokens[0, 0].numpy(), f"P = {np.exp(results[name]):.3f}")
