"""The tree text classifier: backbone, preprocessor and task."""

import keras
import tensorflow as tf

from keras_seqzoo.checks import check_batch, check_integer
from keras_seqzoo.layers.trees.dependencies import DependencyTreeEncoder, root_steps
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.classifier.preprocessor import TextClassifierPreprocessor
from keras_seqzoo.models.common.backbone import SequenceBackbone, token_embedding, token_inputs
from keras_seqzoo.models.common.parsed_sentences import parsed_texts
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.packing import pad_with_mask
from keras_seqzoo.tokenizers.parse import NO_HEAD, split_parses


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TreeBackbone(SequenceBackbone):
    """Embedding and a Child-Sum Tree-LSTM over dependency trees.

        x_t = sqrt(d) E[w_t],        h_t = TreeLSTM(x_t, the states of the dependents of t)

    See `keras_seqzoo.layers.DependencyTreeEncoder` for the equations.

    Args:
        vocabulary_size: int, number of tokens.
        embedding_dim: int, d, size of the embeddings.
        units: int, size of h.
        dropout: float, dropout rate on the embedded words.
        dtype: dtype policy of all layers.

    Call arguments:
        inputs: a dict of `token_ids`, int32 `(batch, length)`, `padding_mask`, boolean
            `(batch, length)`, and `heads`, int32 `(batch, length)`, the number of each word's
            head in its sentence, from 1, or 0 for the root.

    Returns:
        A float tensor `(batch, length, units)`, zero at padding.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    >>> backbone = TreeBackbone(100, embedding_dim=8, units=5)
    >>> ids, mask = keras.ops.ones((1, 3), "int32"), keras.ops.ones((1, 3), "bool")
    >>> heads = keras.ops.array([[2, 0, 2]])
    >>> backbone({"token_ids": ids, "padding_mask": mask, "heads": heads}).shape
    TensorShape([1, 3, 5])
    """

    def __init__(
        self, vocabulary_size, embedding_dim=100, units=128, dropout=0.0, dtype=None, **kwargs
    ):
        check_integer("vocabulary_size", vocabulary_size, minimum=1)
        check_integer("embedding_dim", embedding_dim, minimum=1)
        check_integer("units", units, minimum=1)

        # === Layers ===
        embedding = token_embedding(vocabulary_size, embedding_dim, dtype)
        drop = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")
        encoder = DependencyTreeEncoder(units, dtype=dtype, name="encoder")

        # === Functional Model ===
        inputs = token_inputs()
        inputs["heads"] = keras.Input((None,), dtype="int32", name="heads")
        embedded = drop(embedding(inputs["token_ids"]) * embedding_dim**0.5)
        outputs = encoder(embedded, inputs["heads"], mask=inputs["padding_mask"])
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        # === Config ===
        self.encoder = encoder
        self.token_embedding = embedding
        self._set_arguments(
            vocabulary_size=vocabulary_size,
            embedding_dim=embedding_dim,
            units=units,
            dropout=dropout,
        )


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TreeTextClassifierPreprocessor(TextClassifierPreprocessor):
    r"""Preprocessor of parsed sentences for a `TreeTextClassifier`.

    A text is a sentence in CoNLL-U, a string: `str` of a `keras_seqzoo.data.ConlluSentence`. Only
    its words and heads are used; each word is one token. In a sentence that is longer than
    `sequence_length`, words whose head is cut off become roots.

    Arguments, call arguments and returns: see `TextClassifierPreprocessor`; the dict also has
    `heads`.

    Raises:
        ValueError: if the tokenizer is not a `WordTokenizer`, `truncation_side` is not "right", or
            see `TextClassifierPreprocessor`.
        tf.errors.InvalidArgumentError: if a text is neither blank nor a sentence in CoNLL-U with a
            head for each word, or a label is not among `labels`.

    Example:
    >>> tokenizer = WordTokenizer(["she", "reads"])
    >>> preprocessor = TreeTextClassifierPreprocessor(tokenizer)
    >>> rows = ["1 she _ PRON _ _ 2 nsubj _ _", "2 reads _ VERB _ _ 0 root _ _"]
    >>> inputs = preprocessor(["\n".join(rows).replace(" ", "\t")])
    >>> inputs["token_ids"].numpy().tolist(), inputs["heads"].numpy().tolist()
    ([[5, 6]], [[2, 0]])
    """

    backbone_cls = TreeBackbone

    def __init__(
        self, tokenizer, sequence_length=None, truncation_side="right", labels=None, **kwargs
    ):
        if not isinstance(tokenizer, WordTokenizer):
            raise ValueError(f"`tokenizer` must be a WordTokenizer, got {tokenizer!r}.")
        if truncation_side == "left":
            raise ValueError(
                '`truncation_side` must be "right" for trees, whose heads count words from the '
                'left, got "left".'
            )
        super().__init__(tokenizer, sequence_length, truncation_side, labels, **kwargs)

    def _all_ids(self, texts):
        """Return ragged pairs of the id and the head of each word, `(batch, None, 2)`."""
        words, heads = split_parses(check_batch("x", tf.convert_to_tensor(texts, tf.string)))
        ids = self.tokenizer.word_ids(words.values)
        return words.with_values(tf.stack([ids, heads.values], axis=1))

    def columns(self, ids):
        """Return ids and heads, ragged `(batch, None)`, by the names of the inputs."""
        return {
            "token_ids": ids.with_values(ids.values[:, 0]),
            "heads": ids.with_values(ids.values[:, 1]),
        }

    def padded(self, ids, length=None):
        """Pad pairs of ids and heads; return the dict of inputs."""
        columns = self.columns(ids)
        heads, _ = pad_with_mask(columns["heads"], 0, length)
        return {**super().padded(columns["token_ids"], length), "heads": heads}

    def call(self, x, y=None, sample_weight=None):
        """Convert texts and labels to ids; see the class."""
        x = check_batch("x", tf.convert_to_tensor(x, tf.string))
        words, heads = split_parses(x)
        is_read = (words.row_lengths() > 0) | (tf.strings.strip(x) == "")
        is_read &= tf.reduce_all(heads != NO_HEAD, axis=1)
        need = "`x` must be sentences in CoNLL-U with a head for each word, got"
        check = tf.debugging.Assert(
            tf.reduce_all(is_read), [need, tf.boolean_mask(x, ~is_read)], summarize=1
        )
        with tf.control_dependencies([check]):
            x = tf.identity(x)
        return super().call(x, y, sample_weight)


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class TreeTextClassifier(TextClassification):
    """Tree-LSTM that classifies parsed sentences.

        h_1 .. h_n = backbone(w_1 .. w_n, tree),    P(label | w, tree) = softmax(U h_root + c)

    (Tai, Socher and Manning 2015, "Improved semantic representations from tree-structured long
    short-term memory networks", section 4.1, with one label per sentence.) With `pooling`, the
    states of all words are pooled instead of the root's state.

    Texts are sentences in CoNLL-U, as strings, see `TreeTextClassifierPreprocessor`. `classify`,
    `predict_probabilities` and `accuracy` also take `keras_seqzoo.data.ConlluSentence`s, and check
    that heads form a tree.

    Arguments, call arguments, returns and errors: see `TextClassification`; the inputs also have
    `heads`.

    Example:
    ```python
    sentences = keras_seqzoo.data.read_conllu("train.conllu")
    words = [" ".join(sentence.words) for sentence in sentences]
    tokenizer = keras_seqzoo.tokenizers.WordTokenizer.train(words, normalization=["lowercase"])
    model = keras_seqzoo.models.TreeTextClassifier(
        TreeBackbone(tokenizer.vocabulary_size()),
        preprocessor=TreeTextClassifierPreprocessor(tokenizer, labels=["email", "weblog"]),
    )
    labels = [sentence.comment("label") for sentence in sentences]
    model.fit([str(sentence) for sentence in sentences], labels, batch_size=32, epochs=3)
    model.classify(sentences)[0].labels
    ```
    """

    backbone_cls = TreeBackbone
    preprocessor_cls = TreeTextClassifierPreprocessor

    @staticmethod
    def default_pooling(backbone):
        """Return "mean": over the roots it is the state of the one root."""
        return "mean"

    def pooled_steps(self, inputs, pooling):
        """Return a mask of the roots, or with `pooling` of all words."""
        if pooling is None:
            return root_steps(inputs["heads"], inputs["padding_mask"])
        return super().pooled_steps(inputs, pooling)

    def predict_probabilities(self, texts, batch_size=32):
        """Compute label probabilities of sentences; see the base class."""
        return super().predict_probabilities(parsed_texts(texts), batch_size)
