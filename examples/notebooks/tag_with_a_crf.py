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
# # A tagger with a conditional random field
#
# A tagger assigns a tag to each word. Here it finds what a request to a music player names: the
# artist, the song, the time. The words of an entity are tagged `B-` (begin), then `I-` (inside);
# the rest is `O`. We train the same network with and without a conditional random field, which
# scores whole tag sequences. Then we look at what it learned. The requests are made up.

# %%
import random

import keras
import matplotlib.pyplot as plt
import numpy as np

from keras_seqzoo.metrics import entity_scores
from keras_seqzoo.models import (
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
)
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer

# %% [markdown]
# ## The data
#
# The data are hard on purpose:
#
# - Some names are made of syllables. Most of them never occur in training, so the tagger must rely
#   on context and spelling.
# - Other names are "the" and a word that also occurs in songs.
# - Songs have one to four words. Some are words such as "by" or "tomorrow".
# - There are only 150 requests for training.

# %%
SYLLABLES = ["ka", "lo", "mi", "ren", "ta", "vos", "su", "nel", "bri", "do", "fa", "gu"]
SONG_WORDS = ["love", "night", "blue", "river", "by", "tomorrow", "play", "summer", "the", "fire"]
TIMES = [["now"], ["tomorrow"], ["at", "noon"], ["in", "the", "evening"], ["tomorrow", "night"]]
PATTERNS = [
    "play SONG by ARTIST",
    "play SONG by ARTIST TIME",
    "play ARTIST TIME",
    "i want to hear SONG",
    "put on SONG TIME please",
    "TIME play SONG by ARTIST",
    "what is SONG by ARTIST like",
]


def phrase(kind, draw):
    if kind == "TIME":
        return draw.choice(TIMES)
    if kind == "SONG":
        return draw.choices(SONG_WORDS, k=draw.randint(1, 4))
    if draw.random() < 0.3:
        return ["the", draw.choice(SONG_WORDS)]
    return ["".join(draw.choices(SYLLABLES, k=3)) for _ in range(draw.randint(1, 2))]


def requests(count, seed):
    draw, sentences, tags = random.Random(seed), [], []
    for _ in range(count):
        words, labels = [], []
        for part in draw.choice(PATTERNS).split():
            found = phrase(part, draw) if part.isupper() else [part]
            words += found
            kind = part.lower()
            labels += [f"B-{kind}"] + [f"I-{kind}"] * (len(found) - 1) if part.isupper() else ["O"]
        sentences.append(" ".join(words))
        tags.append(" ".join(labels))
    return sentences, tags


sentences, tags = requests(150, seed=1)
test_sentences, test_tags = requests(500, seed=2)
for word, tag in zip(sentences[0].split(), tags[0].split(), strict=True):
    print(f"{word:12} {tag}")

# %% [markdown]
# ## Two taggers
#
# All but the 35 most frequent words are unknown, and are read only by their characters.

# %%
words = WordTokenizer.train(sentences, 40)
characters = CharacterTokenizer.train(sentences, config_file="piece_tokenizer.json")
labels = ["O", *(f"{begin}-{kind}" for kind in ("artist", "song", "time") for begin in "BI")]


def make(crf):
    keras.utils.set_random_seed(1)
    backbone = RecurrentTaggerBackbone(
        words.vocabulary_size(), characters.vocabulary_size(), embedding_dim=16, units=16
    )
    preprocessor = RecurrentTaggerPreprocessor(words, characters, labels=labels)
    return RecurrentTagger(backbone, preprocessor, crf=crf)


def f1(model):
    found = model.tag(test_sentences)
    return entity_scores([tags.split() for tags in test_tags], found).overall.f1 * 100


curves, models = {}, {}
for name, crf in {"softmax": False, "CRF": True}.items():
    models[name] = make(crf)
    models[name].compile(keras.optimizers.Adam(5e-3))
    curves[name] = []
    for _ in range(12):
        models[name].fit(sentences, tags, batch_size=15, epochs=1, verbose=0)
        curves[name].append(f1(models[name]))
    print(name, *(f"{value:.1f}" for value in curves[name]))

# %%
figure, axis = plt.subplots(figsize=(5, 3))
for name, values in curves.items():
    axis.plot(range(1, len(values) + 1), values, "o-", label=name)
axis.set(xlabel="epoch", ylabel="F1 of entities", ylim=(0, 100))
axis.legend()
figure.tight_layout()
plt.show()

# %% [markdown]
# ## What the CRF learned
#
# Each cell is the score of a tag (column) after another tag (row). White cells are pairs that IOB2
# does not allow, such as `I-song` after `O`: the tagger can never output them.

# %%
field = models["CRF"].field
allowed = np.array(field.allowed)[:-1, :-1]
transitions = np.where(allowed, field.transition_weights.numpy(), np.nan)
limit = np.nanmax(np.abs(transitions))
figure, axis = plt.subplots(figsize=(5.5, 4.5))
image = axis.imshow(transitions, cmap="coolwarm", vmin=-limit, vmax=limit)
axis.set_xticks(range(len(labels)), labels, rotation=60)
axis.set_yticks(range(len(labels)), labels)
axis.set(xlabel="tag", ylabel="tag before")
figure.colorbar(image)
figure.tight_layout()
plt.show()

# %% [markdown]
# Without the CRF, each tag is chosen independently, so an entity may begin with an `I-` tag. We
# count the sentences with this error:


# %%
def broken(model):
    def wrong(tags):
        before = ["O", *tags]
        return any(
            tag.startswith("I-") and last[2:] != tag[2:]
            for last, tag in zip(before, tags, strict=False)
        )

    return sum(map(wrong, model.tag(test_sentences)))


violations = {name: broken(model) for name, model in models.items()}
print(violations)

# %% [markdown]
# ## The probability of a tag
#
# The CRF also gives the probability of each tag at each word (its marginals), summed over all tag
# sequences:

# %%
request = "play by the river tomorrow by kalomi"
[found] = models["CRF"].predict_tags([request])
rows = zip(request.split(), found.tags, found.probabilities, strict=True)
for word, tag, probability in rows:
    print(f"{word:10} {tag:10} {probability:.2f}")

# %% [markdown]
# ## Where to go on
#
# `seqzoo train tag` trains on CoNLL or CoNLL-U files, with word vectors and early
# stopping. `bilstm_crf_ewt_upos` and `bilstm_crf_wnut17_ner` are presets of the same class.
