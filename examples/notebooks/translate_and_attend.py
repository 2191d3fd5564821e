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
# # Train a translator and look at its attention
#
# An encoder reads an English caption, a decoder writes a French one, and attention tells the
# decoder where to look (Luong et al. 2015). We train on short captions of
# [Multi30k](https://github.com/multi30k/dataset) for a few minutes; `load_multi30k` reads them
# from the folder in the environment variable `SEQZOO_DATA`, or downloads them.

# %%
import keras
import matplotlib.pyplot as plt

from keras_seqzoo.data import load_multi30k, translation_batches
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models import (
    RecurrentEncoderDecoderBackbone,
    RecurrentSeq2SeqLM,
    RecurrentSeq2SeqLMPreprocessor,
    word_alignment,
)
from keras_seqzoo.tokenizers import BytePairTokenizer

keras.utils.set_random_seed(1)

# %% [markdown]
# ## The data
#
# We use only pairs of at most 11 English words, so that an epoch takes less than a minute.


# %%
def short(split):
    pairs = zip(*load_multi30k(split, source="en", target="fr"), strict=True)
    chosen = [pair for pair in pairs if len(pair[0].split()) <= 11]
    return tuple(map(list, zip(*chosen, strict=True)))


sources, targets = short("train")
valid_sources, valid_targets = short("val")
print(len(sources), "pairs;", sources[0], "=", targets[0])

# %% [markdown]
# ## The model
#
# A single byte-pair vocabulary serves both languages, so one matrix is the embedding of the
# source, the embedding of the target, and the output layer.

# %%
tokenizer = BytePairTokenizer.train(sources + targets, 4000)
preprocessor = RecurrentSeq2SeqLMPreprocessor(
    tokenizer, encoder_sequence_length=32, decoder_sequence_length=32
)
backbone = RecurrentEncoderDecoderBackbone(
    tokenizer.vocabulary_size(),
    tokenizer.vocabulary_size(),
    embedding_dim=128,
    encoder_units=128,
    decoder_units=256,
    attention_units=128,
    cell="gru",
    share_embeddings=True,
    dropout=0.2,
)
model = RecurrentSeq2SeqLM(backbone, preprocessor)
model.compile(keras.optimizers.Adam(2e-3, global_clipnorm=1.0))

# %% [markdown]
# `fit` takes strings. Batches of ids are faster: they group pairs of similar length, and XLA
# compiles a step once for each length.

# %%
batches = translation_batches(
    sources, targets, preprocessor.encode_source, preprocessor.encode_target, batch_size=64, seed=1
)
scores = []


def validate(epoch, logs):
    found = model.translate(valid_sources, Greedy())
    scores.append(score_translations([best.text for best, *_ in found], valid_targets).bleu)
    print(f"epoch {epoch + 1}: BLEU {scores[-1]:.1f}")


model.fit(
    batches,
    epochs=4,
    verbose=2,
    callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=validate)],
)

# %%
figure, axis = plt.subplots(figsize=(5, 3))
axis.plot(range(1, len(scores) + 1), scores, "o-")
axis.set(xlabel="epoch", ylabel="BLEU on short validation captions", ylim=0)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Attention
#
# Each row is a word piece of the translation, each column one of the source. Dark cells show where
# the decoder looked when it wrote the row.

# %%
[[best]] = model.translate(["Two men play guitar on a stage."], BeamSearch(5), alignments=True)
figure, axis = plt.subplots(figsize=(5, 4))
axis.imshow(best.alignment, cmap="Greys", vmin=0, vmax=1)
axis.set_xticks(range(len(best.source_tokens)), best.source_tokens, rotation=60)
axis.set_yticks(range(len(best.target_tokens)), best.target_tokens)
axis.set_title(best.text)
figure.tight_layout()
plt.show()

# %% [markdown]
# Attention lets us align words. Each target word is linked to the source word with the largest
# attention. This is often right, and sometimes one word off.

# %%
aligned = word_alignment(best)
for source, target in aligned.links():
    print(aligned.source_words[source], "-", aligned.target_words[target])

# %% [markdown]
# ## Save
#
# A preset is a folder with the weights, the tokenizer and the configuration.
# `RecurrentSeq2SeqLM.from_preset("my-translator")` loads it, and `seqzoo translate --preset
# my-translator` translates with it.

# %%
model.save_to_preset("my-translator")
again = RecurrentSeq2SeqLM.from_preset("my-translator")
bleu = max(scores)
print(again.translate(["Two men play guitar on a stage."], BeamSearch(5))[0][0].text)
