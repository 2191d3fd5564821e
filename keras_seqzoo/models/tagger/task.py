"""The ready recurrent tagger."""

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_texts
from keras_seqzoo.data.length_buckets import sort_by_length
from keras_seqzoo.layers import ConditionalRandomField, iob2_transitions
from keras_seqzoo.layers.crf.iob2 import is_iob2
from keras_seqzoo.metrics import tag_accuracy
from keras_seqzoo.models.common.graph_functions import TracedFunctions
from keras_seqzoo.models.common.labels import count_labels
from keras_seqzoo.models.common.task import QuantizedModel, Recompilation, StringsOrIds
from keras_seqzoo.models.tagger.backbone import RecurrentTaggerBackbone
from keras_seqzoo.models.tagger.preprocessor import (
    RecurrentTaggerPreprocessor,
    sentence_weights,
)
from keras_seqzoo.zoo.named_presets import NamedTaskPresets


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTagger(
    NamedTaskPresets,
    StringsOrIds,
    QuantizedModel,
    TracedFunctions,
    Recompilation,
    keras_hub.models.Task,
):
    """Gives each word of a sentence a tag.

        P(y_t | w) = softmax(W h_t + b),    or with `crf`    P(y | w) = CRF(W h_1 + b .. W h_n + b)

    with h from a `RecurrentTaggerBackbone`: word by word, or whole sequences of tags with a
    `ConditionalRandomField`. Where the tags mark entities as `B-type` and `I-type`, sequences that
    IOB2 does not allow have no probability there; nothing can be learned from such sequences.

    Args:
        backbone: a `RecurrentTaggerBackbone`.
        preprocessor: a `RecurrentTaggerPreprocessor`, or `None`, with which `fit` takes tensors.
        num_labels: int, or `None` for as many as the preprocessor has.
        crf: bool.
        allowed: which tags may follow each other, for the CRF: a bool array as
            `ConditionalRandomField` takes it, or `None` where every tag may follow any other.
            `"auto"` allows what IOB2 does if the preprocessor has a label `B-type` for each label
            `I-type`, and all if not. Give `None` for tags in the older IOB1, where an entity may
            begin with `I-type`.

    Call arguments:
        inputs: see `RecurrentTaggerBackbone`.

    Returns:
        Scores, float32 `(batch, words, num_labels)`: logits, or the potentials of the CRF.

    Raises:
        ValueError: if `num_labels` is missing, or the preprocessor has other labels; if one of
            backbone and preprocessor has pieces of words and the other has not; if `allowed` is
            given without a CRF.

    Example:
    ```python
    words = keras_seqzoo.tokenizers.WordTokenizer.train(sentences)
    preprocessor = RecurrentTaggerPreprocessor(words, labels=["DET", "NOUN", "VERB"])
    model = RecurrentTagger(RecurrentTaggerBackbone(words.vocabulary_size()), preprocessor)
    model.fit(["the cat sat"], ["DET NOUN VERB"], epochs=20)
    model.tag(["the cat"])  # [['DET', 'NOUN']]
    ```
    """

    backbone_cls = RecurrentTaggerBackbone
    preprocessor_cls = RecurrentTaggerPreprocessor

    def __init__(
        self, backbone, preprocessor=None, num_labels=None, crf=True, allowed="auto", **kwargs
    ):
        labels = None if preprocessor is None else preprocessor.labels
        num_labels = count_labels("num_labels", num_labels, labels)
        if preprocessor is not None:
            _check_pieces(backbone, preprocessor)
        if isinstance(allowed, str) and allowed == "auto":
            allowed = iob2_transitions(labels) if crf and is_iob2(labels or ()) else None
        if allowed is not None and not crf:
            raise ValueError("`allowed` needs `crf`: without it tags are given one by one.")
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        scores = keras.layers.Dense(num_labels, dtype="float32", name="scores")
        field = None
        if crf:
            field = ConditionalRandomField(num_labels, allowed, dtype="float32", name="crf")

        # === Functional Model ===
        inputs = backbone.input
        outputs = scores(backbone(inputs))
        if crf:
            outputs = field(outputs, mask=inputs["padding_mask"])
        self.field = field
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)

        # === Config ===
        self.num_labels = num_labels
        self.crf = crf

    def compile(self, optimizer="auto", loss=None, **kwargs):
        """Configures training.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: `None`: the loss is the tagger's own, see `compute_loss`.
            **kwargs: see `keras.Model.compile`.
        """
        if loss is not None:
            raise ValueError(f"`loss` must be None, the tagger has its own, got {loss!r}.")
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        super().compile(optimizer, None, **kwargs)

    def fit(self, *args, class_weight=None, **kwargs):
        """Trains; see `keras.Model.fit`.

        Args:
            *args: words and tags, see `RecurrentTaggerPreprocessor`.
            class_weight: `None`: tags cannot be weighed, sentences can, by `sample_weight`.
            **kwargs: see `keras.Model.fit`.
        """
        if class_weight is not None:
            raise ValueError(
                f"`class_weight` must be None, got {class_weight!r}: a sentence has no class. "
                "`sample_weight` (batch,) weighs sentences."
            )
        return super().fit(*args, **kwargs)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Computes `-log P(y | w)` of a word, in the mean over the words of the batch.

        Args:
            x: not used.
            y: int32 `(batch, words)`, ids of tags, -1 at padding.
            y_pred: what the model gave.
            sample_weight: float `(batch,)` or `(batch, 1)`, weights of sentences, or `None`.
            training: not used.
        """
        valid = tf.cast(y >= 0, tf.float32)
        if self.crf:
            losses = self.field.loss(y, y_pred)
        else:
            ids = tf.maximum(tf.cast(y, tf.int32), 0)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(ids, y_pred)
            losses = tf.reduce_sum(losses * valid, axis=1)
        words = tf.reduce_sum(valid, axis=1)
        if sample_weight is not None:
            sample_weight = sentence_weights(sample_weight)
            losses, words = losses * sample_weight, words * sample_weight
        loss = tf.math.divide_no_nan(tf.reduce_sum(losses), tf.reduce_sum(words))
        return tf.add_n([loss, *self.losses]) if self.losses else loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Updates the metrics: with a CRF they get the tags of the best sequence, as ones."""
        if self.crf and len(self.metrics) > 1:  # more than the loss
            ids, _ = self.field.best_labels(y_pred, x["padding_mask"])
            y_pred = tf.one_hot(ids, self.num_labels)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def best_ids(self, inputs):
        """Finds the best tags in graph: ids, int32 `(batch, words)`, and their probabilities.

        The probability is that of each tag by itself, over all sequences.
        """
        scores = self(inputs, training=False)
        if self.crf:
            mask = inputs["padding_mask"]
            ids, _ = self.field.best_labels(scores, mask)
            probabilities = self.field.marginals(scores, mask)
        else:
            ids = tf.argmax(scores, axis=-1, output_type=tf.int32)
            probabilities = tf.nn.softmax(scores)
        return ids, tf.gather(probabilities, ids, batch_dims=2)

    def tag(self, sentences, batch_size=64, return_probabilities=False):
        """Tags sentences.

        Args:
            sentences: list or tensor of strings, or list of lists of words, or ragged tensor.
            batch_size: int, sentences worked on at a time.
            return_probabilities: bool, whether to give the probability of each tag too.

        Returns:
            A list with a list of tags for each sentence; with probabilities a tuple of it and a
            list of lists of floats.

        Raises:
            ValueError: if the model has no preprocessor, or `sentences` is a string.
        """
        if self.preprocessor is None:
            raise ValueError(f"{type(self).__name__} needs a `preprocessor` to take words.")
        if isinstance(sentences, tf.RaggedTensor):
            sentences = sentences.to_list()
        sentences = list_of_texts(sentences, "sentences")
        tags, shares = [[] for _ in sentences], [[] for _ in sentences]
        if not sentences:
            return (tags, shares) if return_probabilities else tags
        if np.ndim(sentences[0]):
            sentences = tf.ragged.constant(sentences, tf.string, ragged_rank=1)
        words = self.preprocessor.words_of(sentences)
        run = self._traced("best_ids", self.best_ids)
        names = self.preprocessor.labels
        lengths = words.row_lengths().numpy()
        for batch in sort_by_length(lengths, batch_size):
            inputs = self.preprocessor.inputs_of(tf.gather(words, batch))
            ids, probabilities = (part.numpy() for part in run(inputs))
            for row, sentence in enumerate(batch):
                length = lengths[sentence]
                tags[sentence] = [names[id] for id in ids[row, :length]]
                shares[sentence] = probabilities[row, :length].tolist()
        return (tags, shares) if return_probabilities else tags

    def accuracy(self, sentences, tags, batch_size=64):
        """Computes the share of words whose tag is right; sentences and tags are lists of lists."""
        return tag_accuracy(tags, self.tag(sentences, batch_size))

    def get_config(self):
        """Returns every constructor argument."""
        return {
            **super().get_config(),
            "num_labels": self.num_labels,
            "crf": self.crf,
            "allowed": self.field.allowed if self.crf else None,
        }


def _check_pieces(backbone, preprocessor):
    """Refuses a backbone and a preprocessor of which only one knows pieces of words."""
    number = backbone.piece_vocabulary_size
    if (number is None) != (preprocessor.piece_tokenizer is None):
        raise ValueError(
            "`backbone` and `preprocessor` must both have pieces of words, or neither: got "
            f"`piece_vocabulary_size` {number} and `piece_tokenizer` "
            f"{preprocessor.piece_tokenizer!r}."
        )
