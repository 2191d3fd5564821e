import json
import subprocess
import sys

import keras
import pytest
import tensorflow as tf

from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer

TEXTS = ["the cat sat", "", " le chat\u2581 😀", "the mat"]

# Loads the models in a process that cannot import Keras or this package. TensorFlow Text's Python
# package imports Keras, so the process loads the library with its ops by itself, as servers do.
SCRIPT = """
import importlib.util, json, sys
for absent in ("keras", "keras_hub", "keras_seqzoo"):
    sys.modules[absent] = None
import tensorflow as tf

package = importlib.util.find_spec("tensorflow_text").submodule_search_locations[0]
tf.load_op_library(f"{package}/python/ops/_sentencepiece_tokenizer.so")
folder, exported, texts = json.loads(sys.argv[1])
encoded = [text.encode() for text in texts]
texts = tf.constant(texts)

def listed(outputs):
    return {name: value.numpy().tolist() for name, value in outputs.items() if name != "texts"} | {
        "texts": [[text.decode() for text in row] for row in outputs["texts"].numpy()]
    }

model = tf.saved_model.load(folder)
v2 = listed(model.signatures["serving_default"](inputs=texts))
keras_export = [x.numpy().tolist() for x in tf.saved_model.load(exported).serve(texts)]
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    meta = tf.compat.v1.saved_model.loader.load(session, ["serve"], folder)
    signature = meta.signature_def["serving_default"]
    fetches = {name: info.name for name, info in signature.outputs.items()}
    values = session.run(fetches, {signature.inputs["inputs"].name: encoded})
v1 = {name: value.tolist() for name, value in values.items() if name != "texts"}
v1["texts"] = [[text.decode() for text in row] for row in values["texts"].tolist()]
print(json.dumps([v2, v1, keras_export]))
"""


@pytest.mark.slow
def test_tokenizers_stay_apart_in_one_saved_model(tmp_path):
    english = ["the cat sat on the mat", "the dog sat on the log"]
    french = ["le chat dort là", "le chien dort ici"]
    tokenizers = [
        BytePairTokenizer.train(english, 280, sequence_length=12),
        BytePairTokenizer.train(french, 280, sequence_length=12),
        UnigramTokenizer.train(english, 275, sequence_length=12),
        UnigramTokenizer.train(french, 275, sequence_length=12),
        BytePairTokenizer.train(english, 280, sequence_length=12),  # equal to the first
    ]
    module = tf.Module()
    module.tokenizers = tokenizers

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def run(inputs):
        ids = {f"ids{i}": tokenizer(inputs) for i, tokenizer in enumerate(tokenizers)}
        texts = [t.detokenize(ids[f"ids{i}"]) for i, t in enumerate(tokenizers)]
        return {**ids, "texts": tf.stack(texts)}

    folder, exported = str(tmp_path / "saved"), str(tmp_path / "exported")
    tf.saved_model.save(module, folder, signatures=run)
    texts = keras.Input((), dtype="string")
    keras.Model(texts, [tokenizer(texts) for tokenizer in tokenizers]).export(
        exported, verbose=False
    )

    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([folder, exported, TEXTS])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    v2, v1, keras_export = json.loads(process.stdout)
    expected = [tokenizer(TEXTS).numpy().tolist() for tokenizer in tokenizers]
    assert len({str(ids) for ids in expected}) == 4
    assert keras_export == expected
    for outputs in (v2, v1):
        assert [outputs[f"ids{i}"] for i in range(5)] == expected
        assert outputs["texts"] == [
            tokenizer.detokenize(ids) for tokenizer, ids in zip(tokenizers, expected, strict=True)
        ]


@pytest.mark.slow
def test_tracing_does_not_copy_the_model():
    tokenizer = BytePairTokenizer.train(["the cat sat on the mat"] * 2, 275)
    traced = tf.function(tokenizer.tokenize).get_concrete_function(tf.TensorSpec([None], tf.string))
    assert "SentencepieceOp" not in {op.type for op in traced.graph.get_operations()}
