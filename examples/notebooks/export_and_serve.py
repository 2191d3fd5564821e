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
# # Export and serve
#
# A SavedModel that contains the tokenizer, the network and the beam search takes text and returns
# text. A server needs neither Keras nor this package to run it.

# %%
import json
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

from keras_seqzoo.decoding import BeamSearch
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.serving import export

model = RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")

# %% [markdown]
# ## Export
#
# The search is fixed at export; callers cannot choose another. Each export into the same folder is
# a new version. TensorFlow Serving loads it while it still answers with the old one.

# %%
path = Path(export(model, "models/en_fr", strategy=BeamSearch(5), max_input_length=48))
for file in sorted(path.rglob("*")):
    if file.is_file():
        print(f"{file.stat().st_size / 1e6:6.2f} MB  {file.relative_to(path)}")

# %% [markdown]
# `signature.json` describes the inputs and outputs.

# %%
description = json.loads((path / "assets.extra" / "signature.json").read_text())
for name, signature in description["signatures"].items():
    print(name, list(signature["inputs"]), "->", list(signature["outputs"]))

# %% [markdown]
# ## Call it
#
# We call it as a server does. A program without our package imports `tensorflow_text` first, for
# the tokenizer's ops.

# %%
served = tf.saved_model.load(str(path))
translate = served.signatures["serving_default"]
answer = translate(text=tf.constant(["Two dogs run.", "A cat.", ""]))
for text, score in zip(answer["translation"].numpy(), answer["score"].numpy(), strict=True):
    print(f"{score:.3f}", text.decode())

# %% [markdown]
# The results equal the model's:

# %%
texts = ["A man is playing a guitar.", "Children play in the park."]
own = [best.text for best, *_ in model.translate(texts, BeamSearch(5))]
theirs = [text.decode() for text in translate(text=tf.constant(texts))["translation"].numpy()]
print(own == theirs, own)

# %% [markdown]
# ## Batches
#
# A server can gather requests into batches. Then it answers more requests per second, but each
# request waits longer.

# %%
sentence = "A woman in a green coat is waiting at a bus stop and reading a book."
sizes, latency = [1, 2, 4, 8, 16, 32], []
for size in sizes:
    batch = tf.constant([sentence] * size)
    translate(text=batch)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        translate(text=batch)
        times.append(time.perf_counter() - start)
    latency.append(1000 * float(np.median(times)))
throughput = [1000 * size / value for size, value in zip(sizes, latency, strict=True)]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
left.plot(sizes, latency, "o-")
left.set(xlabel="sentences in a batch", ylabel="milliseconds", ylim=0)
right.plot(sizes, throughput, "o-")
right.set(xlabel="sentences in a batch", ylabel="sentences a second", ylim=0)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## Long lines
#
# A line that is longer than `max_input_length` tokens is cut, and the answer says so in
# `truncated`.

# %%
answer = translate(text=tf.constant(["A dog runs. " * 500, "A dog runs."]))
truncated = answer["truncated"].numpy().tolist()
print(truncated)

# %% [markdown]
# ## A server
#
# In a shell, with Docker:
#
# ```bash
# docker run -d -p 127.0.0.1:8500:8500 -p 127.0.0.1:8501:8501 \
#   -v "$PWD/models:/models:ro" -e MODEL_NAME=en_fr tensorflow/serving:2.21.0
# curl localhost:8501/v1/models/en_fr:predict -d '{"instances": ["Two dogs run."]}'
# ```
#
# And from Python, over gRPC, in batches of similar length:
#
# ```python
# from keras_seqzoo.serving import Client
#
# with Client("localhost:8500", "en_fr") as client:
#     for [best] in client.translate(["Two dogs run.", "A cat sleeps."]):
#         print(best.text, best.score)
# ```
#
# The page Serving covers access, limits and errors; Running a server covers threads, warm-up and
# monitoring.
