"""Private APIs of Keras, KerasHub, TensorFlow and TensorFlow Text, one function for each.

No other module of the package imports a private module of these libraries. Subclasses of Keras
classes use inherited private members where they are. Checked with tensorflow 2.21, keras 3.15,
keras-hub 0.32 and tensorflow-text 2.21.
"""

import os

import tensorflow as tf
from keras_hub.src.utils import preset_utils
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_text.python.ops.sentencepiece_tokenizer import gen_sentencepiece_tokenizer


def flatten_layers(layer, include_self=True, recursive=True):
    """Return the sublayers of a layer: `keras.layers.Layer._flatten_layers` of keras 3.15.

    If it is removed: collect the `keras.layers.Layer`s in the attributes, lists and dicts of a
    layer.
    """
    return layer._flatten_layers(include_self=include_self, recursive=recursive)


def clip_summed_gradients(optimizer):
    """Let an optimizer sum up the gradients of all replicas before it clips them.

    It overrides `_clip_gradients` and `_all_reduce_sum_gradients` of keras 3.15, which clips the
    gradients of each replica before it sums them. If they are removed: sum and clip before
    `apply_gradients`.

    Args:
        optimizer: a `keras.optimizers.Optimizer`.
    """
    if "_clip_gradients" in vars(optimizer):
        return
    clip = optimizer._clip_gradients

    def clip_sum(gradients):
        replica = tf.distribute.get_replica_context()
        return clip(replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients))

    optimizer._clip_gradients = clip_sum
    optimizer._all_reduce_sum_gradients = list


def load_preset_json(preset, filename):
    """Read a JSON file of a preset: `preset_utils.load_json` of keras-hub 0.32.

    It downloads presets from handles such as `hf://...`. If it is removed: read local presets with
    `json`, and download others with the libraries of their hosts.
    """
    return preset_utils.load_json(preset, filename)


def register_hub_presets(presets, backbone_class):
    """Add presets to KerasHub's registry: `preset_utils.register_presets` of keras-hub 0.32.

    If it is removed: nothing is registered, and the names work only with the package's own classes.
    """
    if hasattr(preset_utils, "register_presets"):
        preset_utils.register_presets(presets, backbone_class)


def sentencepiece_model(proto, shared_name):
    """Create a SentencePiece resource: `sentencepiece_op` of tensorflow-text 2.21.

    `tensorflow_text.SentencepieceTokenizer` sets no `shared_name`. If the op is removed: use that
    class, but then two tokenizers of one SavedModel share a model (tensorflow/text issue 1304).
    """
    return gen_sentencepiece_tokenizer.sentencepiece_op(model=proto, shared_name=shared_name)


def sentencepiece_tokenize(model, texts, nbest_size, alpha):
    """Tokenize texts `(rows,)`: `sentencepiece_tokenize_op` of tensorflow-text 2.21.

    If it is removed: use `tensorflow_text.SentencepieceTokenizer.tokenize`, see
    `sentencepiece_model`.

    Returns:
        A tuple of int32 ids `(total,)` and int64 row splits `(rows + 1,)`.
    """
    return gen_sentencepiece_tokenizer.sentencepiece_tokenize_op(
        model,
        texts,
        nbest_size=nbest_size,
        alpha=alpha,
        add_bos=False,
        add_eos=False,
        reverse=False,
        out_type=tf.int32,
        return_nbest=False,
    )


def is_compiled_by_xla():
    """Return whether a graph is being built for XLA, by `get_enclosing_xla_context` of TF 2.21.

    If it is removed: return `False` if XLA can compile all code that it guards, otherwise `True`.
    """
    return tf.__internal__.get_enclosing_xla_context() is not None


def read_saved_model(path):
    """Read the graphs of a SavedModel: `saved_model_pb2` of tensorflow 2.21.

    If it is removed: check the graphs of the concrete functions before they are saved.

    Args:
        path: string, the folder of the SavedModel.
    """
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        return saved_model_pb2.SavedModel.FromString(file.read())
