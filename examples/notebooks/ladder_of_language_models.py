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
# # The ladder of language models
#
# A language model gives the probability of a text, word by word. Here are four, from counts to an
# LSTM, trained on the same English captions of [Multi30k](https://github.com/multi30k/dataset) and
# compared by perplexity. A model with a perplexity of 100 is as uncertain as if it chose among 100
# equally probable words. Lower is better.

# %%
import keras
import matplotlib.pyplot as plt

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import Sampling
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    FeedForwardLanguageModel,
    InterpolatedLanguageModel,
    NGramLanguageModel,
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.tokenizers import WordTokenizer

keras.utils.set_random_seed(1)
training = load_multi30k("train")[0][:12_000]
validation = load_multi30k("val")[0]
tokenizer = WordTokenizer.train(
    training, 4000, normalization=["nfkc", "lowercase"], split_punctuation=True
)
perplexities = {}


def report(name, model):
    perplexities[name] = model.perplexity(validation).perplexity
    print(f"{name}: {perplexities[name]:.1f}")


# %% [markdown]
# ## Rung 1: counts
#
# An n-gram model counts how often a word followed the n - 1 words before it. For unseen n-grams,
# it falls back on shorter contexts (interpolated modified Kneser-Ney).

# %%
for order in (1, 2, 3, 4):
    ngram = NGramLanguageModel.train(training, order, tokenizer=tokenizer)
    report(f"{order}-gram", ngram)

# %% [markdown]
# ## Rung 2: a feed-forward network
#
# It reads the last three words as vectors (Bengio et al. 2003). Words that occur in similar
# contexts get similar vectors, so what it learns about "dog" also applies to "puppy".

# %%
feed_forward = FeedForwardLanguageModel(
    tokenizer, order=4, embedding_dim=64, hidden_units=[128], tie_softmax=True, dropout=0.2
)
feed_forward.compile(keras.optimizers.Adam(2e-3), SequenceCrossentropy())
contexts, words = feed_forward.examples(training)  # three words each, and the next one
feed_forward.fit(contexts, words, batch_size=256, epochs=3, verbose=2)
report("feed-forward", feed_forward)

# %% [markdown]
# ## Rung 3: recurrent networks
#
# Elman's network and the LSTM read the whole sentence.

# %%
recurrent = {}
for cell in ("elman", "lstm"):
    backbone = RecurrentBackbone(
        tokenizer.vocabulary_size(), embedding_dim=128, units=128, cell=cell, dropout=0.3
    )
    preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=24)
    recurrent[cell] = RecurrentLanguageModel(backbone, preprocessor)
    recurrent[cell].compile(keras.optimizers.Adam(3e-3))
    recurrent[cell].fit(training, batch_size=64, epochs=4, verbose=2)
    report(cell, recurrent[cell])

# %% [markdown]
# ## A mixture
#
# Different kinds of models are good at different words, so we take a weighted mean of them. We tune
# the weights on half of the validation text, and measure on the other half.

# %%
members = [ngram, feed_forward, recurrent["lstm"]]
mixture = InterpolatedLanguageModel.tuned(members, validation[::2])
other = validation[1::2]
alone = {type(model).__name__: model.perplexity(other).perplexity for model in members}
together = mixture.perplexity(other).perplexity
print({name: round(value, 1) for name, value in alone.items()}, f"together {together:.1f}")
print("weights", [round(float(weight), 2) for weight in mixture.weights])

# %%
figure, axis = plt.subplots(figsize=(6, 3))
axis.barh(list(perplexities), list(perplexities.values()))
axis.invert_yaxis()
axis.set(xlabel="perplexity on the validation captions (log scale)", xscale="log")
for place, value in enumerate(perplexities.values()):
    axis.text(value, place, f" {value:.0f}", va="center")
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Generated text
#
# The unigram model knows only how frequent words are. Longer contexts make better phrases, and the
# LSTM better sentences.

# %%
unigram = NGramLanguageModel.train(training, 1, tokenizer=tokenizer)
for name, model in {"1-gram": unigram, "4-gram": ngram, "lstm": recurrent["lstm"]}.items():
    [texts] = model.generate(["a man"], strategy=Sampling(samples=3, seed=1), max_length=15)
    print(name, *texts, sep="\n  ")
