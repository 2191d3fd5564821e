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
# # Classify film reviews
#
# We build a classifier from individual layers: an embedding, a GRU in both directions, and a
# pooling layer that learns which words matter. Then we look at those words. The data are 6,000
# reviews from the [Large Movie Review Dataset](https://ai.stanford.edu/~amaas/data/sentiment/);
# `load_imdb` reads them from the folder in the environment variable `SEQZOO_DATA`, or downloads
# them (84 MB).

# %%
import random

import keras
import matplotlib.pyplot as plt
import numpy as np

from keras_seqzoo.data import load_imdb
from keras_seqzoo.layers import GRU, AttentionPooling, Bidirectional
from keras_seqzoo.tokenizers import WordTokenizer

keras.utils.set_random_seed(1)

# %% [markdown]
# ## The data
#
# The file groups all reviews with the same label together, and reviews of the same film next to
# each other. So we hold out whole blocks for validation, and shuffle only the training reviews.

# %%
texts, labels = load_imdb("train")
pairs = [
    (text.replace("<br />", " "), float(label == "positive"))
    for text, label in zip(texts, labels, strict=True)
]
validation = [pair for block in (pairs[:500], pairs[-500:]) for pair in block]
training = random.Random(1).sample(pairs[500:-500], 5000)
print(training[0][0][:80], "...", training[0][1])

# %% [markdown]
# ## Words to numbers
#
# The tokenizer learns the 10,000 most frequent words. It truncates reviews after 150 words and
# pads shorter ones with id 0.

# %%
LENGTH = 150
tokenizer = WordTokenizer.train(
    [text for text, _ in training],
    10_000,
    normalization=["nfkc", "lowercase"],
    split_punctuation=True,
    sequence_length=LENGTH,
)


def arrays(rows):
    ids = tokenizer([text for text, _ in rows]).numpy()
    return ids, np.array([[label] for _, label in rows])


inputs, targets = arrays(training)
validation_inputs, validation_targets = arrays(validation)
print(inputs.shape, tokenizer.detokenize(inputs[:1, :8]))

# %% [markdown]
# ## The model
#
# The layers are Keras layers. The embedding makes a mask, so that padding changes nothing.
# `AttentionPooling` is a weighted mean of the steps (Yang et al. 2016).

# %%
ids = keras.Input((LENGTH,), dtype="int32")
embedded = keras.layers.Embedding(tokenizer.vocabulary_size(), 64, mask_zero=True)(ids)
hidden = Bidirectional(GRU(32, return_sequences=True))(embedded)
pooled, weights = AttentionPooling()(hidden, return_weights=True)
outputs = keras.layers.Dense(1, activation="sigmoid")(keras.layers.Dropout(0.3)(pooled))
model = keras.Model(ids, outputs)
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["accuracy"])
history = model.fit(
    inputs,
    targets,
    batch_size=50,
    epochs=4,
    validation_data=(validation_inputs, validation_targets),
    verbose=2,
).history

# %%
figure, axis = plt.subplots(figsize=(5, 3))
epochs = range(1, len(history["loss"]) + 1)
axis.plot(epochs, history["accuracy"], "o-", label="training")
axis.plot(epochs, history["val_accuracy"], "o-", label="validation")
axis.set(xlabel="epoch", ylabel="accuracy", xticks=epochs)
axis.legend()
figure.tight_layout()
plt.show()

# %% [markdown]
# The training accuracy keeps rising after the validation accuracy has stopped: with 5,000 reviews,
# the model overfits. The preset `bilstm_imdb_sentiment`, which starts from word
# vectors and trains on 72,500 reviews, most of them labelled by other models, reaches 91.7% on
# the test reviews.
#
# ## Which words matter
#
# A second model with the same layers also returns the weights of the pooling layer.

# %%
reader = keras.Model(ids, [outputs, weights])
sentences = [
    "the plot is dull and the actors are terrible .",
    "a wonderful film , i loved every minute of it .",
    "i expected to be bored , but it was great fun .",
]
probabilities, found = reader.predict(tokenizer(sentences), verbose=0)
figure, axes = plt.subplots(len(sentences), figsize=(7, 4))
for axis, sentence, probability, values in zip(axes, sentences, probabilities, found, strict=True):
    words = sentence.split()
    axis.bar(range(len(words)), values[: len(words)])
    axis.set_xticks(range(len(words)), words, rotation=30)
    axis.set_title(f"{100 * probability[0]:.0f}% positive", fontsize=9)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Save and load
#
# The model is saved as a `.keras` file. Run `import keras_seqzoo` before you load it.

# %%
model.save("reviews.keras")
loaded = keras.models.load_model("reviews.keras")
difference = np.abs(loaded.predict(tokenizer(sentences), verbose=0) - probabilities).max()
accuracy = max(history["val_accuracy"])
print(f"accuracy {accuracy:.3f}, difference after loading {difference}")

# %% [markdown]
# ## Where to go on
#
# `RecurrentTextClassifier` is this model with a built-in tokenizer, `fit` on strings and export.
# `seqzoo train classify` trains one from a file of labels and texts.
