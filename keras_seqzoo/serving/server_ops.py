"""The ops that TensorFlow Serving has, and the ops that a SavedModel needs."""

import tensorflow as tf

from keras_seqzoo._compat import read_saved_model

# They call Python, or need a device other than a CPU.
ABSENT = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
DEVICE_PREFIXES = ("Cudnn", "Nccl", "TPU", "Xla")
# Ops of TensorFlow Text 2.12.1, which the servers 2.17 to 2.19 link (`ops_lib`). The server 2.20
# links Text 2.20, which has these and more.
TEXT_OPS = {
    "CaseFoldUTF8",
    "ConstrainedSequence",
    "FastBertNormalize",
    "FastWordpieceTokenizeWithOffsets",
    "FindSourceOffsets",
    "MaxSpanningTree",
    "NormalizeUTF8",
    "NormalizeUTF8WithOffsetsMap",
    "PhraseTokenize",
    "RegexSplitWithOffsets",
    "RougeL",
    "SentenceFragments",
    "SentenceFragmentsV2",
    "SentencepieceDetokenizeOp",
    "SentencepieceIdToStringOp",
    "SentencepieceOp",
    "SentencepieceStringToIdOp",
    "SentencepieceTokenizeOp",
    "SentencepieceTokenizeWithOffsetsOp",
    "SentencepieceVocabSizeOp",
    "SplitMergeTokenizeWithOffsets",
    "TFText>BoiseTagsToOffsets",
    "TFText>ByteSplitByOffsets",
    "TFText>ByteSplitWithOffsets",
    "TFText>FastSentencepieceDetokenize",
    "TFText>FastSentencepieceTokenize",
    "TFText>FastWordpieceDetokenize",
    "TFText>NgramsStringJoin",
    "TFText>OffsetsToBoiseTags",
    "TFText>PhraseDetokenize",
    "TFText>WhitespaceTokenizeWithOffsetsV2",
    "TokenizerFromLogits",
    "UnicodeScriptTokenizeWithOffsets",
    "WhitespaceTokenizeWithOffsets",
    "WordpieceTokenizeWithOffsets",
}


def has_op(name):
    """Return whether a server with TensorFlow's own ops and `TEXT_OPS` has an op."""
    if name in ABSENT or name.startswith(DEVICE_PREFIXES):
        return False
    return name in TEXT_OPS or hasattr(tf.raw_ops, name)


def operations(path):
    """Return the set of the types of all ops in a SavedModel, including its functions.

    Args:
        path: string, the folder of the SavedModel.
    """
    found = set()
    for graph in (meta.graph_def for meta in read_saved_model(path).meta_graphs):
        own = {function.signature.name for function in graph.library.function}
        nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
        found |= {node.op for node in nodes} - own
    return found


def check_operations(path):
    """Raise `ValueError` with the names of ops in a SavedModel that a server does not have."""
    missing = sorted(name for name in operations(path) if not has_op(name))
    if missing:
        raise ValueError(
            f"`model` must use ops that TensorFlow Serving has, got {', '.join(missing)}."
        )
