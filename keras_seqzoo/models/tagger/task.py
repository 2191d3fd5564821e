"""The recurrent tagger."""

from typing import NamedTuple

import keras
import keras_hub
import numpy as np
import tensorflow as tf

from keras_seqzoo.checks import list_of_items, shorten
from keras_seqzoo.data.batching.length_buckets import run_by_length
from keras_seqzoo.layers import ConditionalRandomField, iob2_transitions
from keras_seqzoo.layers.crf.iob2 import is_iob2
from keras_seqzoo.metrics import tag_accuracy
from keras_seqzoo.models.common.graph_functions import graph_function
from keras_seqzoo.models.common.labels import count_labels
from keras_seqzoo.models.common.task import SequenceTask, check_vocabulary
from keras_seqzoo.models.tagger.backbone import RecurrentTaggerBackbone
from keras_seqzoo.models.tagger.preprocessor import RecurrentTaggerPreprocessor, sentence_weights
from keras_seqzoo.replicas import part_of_mean, replica_count


class Tagging(NamedTuple):
    """The tags of one sentence.

    Attributes:
        tags: list of strings, one for each word.
        probabilities: list of floats, the probability of each single tag. With a CRF it is the sum
            over all tag sequences with this tag.
    """

    tags: list[str]
    probabilities: list[float]


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentTagger(SequenceTask, keras_hub.models.Task):
    """Recurrent network that assigns a tag to each word of a sentence.

        P(y_t | w) = softmax(W h_t + b),    or with `crf`    P(y | w) = CRF(W h_1 + b .. W h_n + b)

    with h from a `RecurrentTaggerBackbone`. It scores tags word by word, or with a
    `ConditionalRandomField` whole tag sequences. If the tags mark entities as `B-type` and
    `I-type`, the CRF gives probability 0 to sequences that IOB2 does not allow, so it cannot learn
    from them.

    Args:
        backbone: a `RecurrentTaggerBackbone`.
        preprocessor: a `RecurrentTaggerPreprocessor`, or `None` to work with ids only.
        num_labels: int, or `None` for the number of labels of the preprocessor.
        crf: bool, whether to use a conditional random field.
        allowed: which tags may follow each other in the CRF: a bool array as in
            `ConditionalRandomField`, or `None` if every tag may follow any other. `"auto"` follows
            IOB2 if the preprocessor has a label `B-type` for each label `I-type`, and otherwise
            allows everything. Pass `None` for tags in the older IOB1, where an entity may begin
            with `I-type`.

    Call arguments:
        inputs: see `RecurrentTaggerBackbone`.

    Returns:
        Scores, float32 `(batch, words, num_labels)`: logits, or the potentials of the CRF.

    Raises:
        ValueError: if `num_labels` is missing or differs from the preprocessor's labels; if only
            one of `backbone` and `preprocessor` has pieces of words; if a tokenizer has more
            tokens than the backbone; or if `allowed` is given without a CRF.

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
            check_vocabulary(backbone, "vocabulary_size", preprocessor.tokenizer)
            if preprocessor.piece_tokenizer is not None:
                check_vocabulary(backbone, "piece_vocabulary_size", preprocessor.piece_tokenizer)
        if isinstance(allowed, str) and allowed == "auto":
            allowed = iob2_transitions(labels) if crf and is_iob2(labels or ()) else None
        if allowed is not None and not crf:
            raise ValueError("`allowed` must be None or 'auto' without a `crf`, got transitions.")
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
        """Configure training.

        Args:
            optimizer: an optimizer; by default Adam with rate 0.001 and gradient norm 1.
            loss: must be `None`; `compute_loss` computes the loss.
            **kwargs: see `keras.Model.compile`.
        """
        if loss is not None:
            raise ValueError(f"`loss` must be None, since the tagger has its own, got {loss!r}.")
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-3, global_clipnorm=1.0)
        super().compile(optimizer, None, **kwargs)

    def fit(self, *args, class_weight=None, **kwargs):
        """Train the model; see `keras.Model.fit`.

        Args:
            *args: words and tags, see `RecurrentTaggerPreprocessor`.
            class_weight: must be `None`. Use `sample_weight` to weight sentences.
            **kwargs: see `keras.Model.fit`.
        """
        if class_weight is not None:
            raise ValueError(
                f"`class_weight` must be None, got {class_weight!r}. A sentence has no class; "
                "`sample_weight` (batch,) weights sentences."
            )
        return super().fit(*args, **kwargs)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Compute the mean of `-log P(y | w)` over the words of the batch.

        With several replicas (`tf.distribute`), each one computes its part of the mean.

        Args:
            x: not used.
            y: int32 `(batch, words)`, tag ids, -1 at padding.
            y_pred: the output of the model.
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
        loss = part_of_mean(tf.reduce_sum(losses), tf.reduce_sum(words))
        return loss + tf.add_n(self.losses) / replica_count() if self.losses else loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Update the metrics. With a CRF they get the best tag sequence, one-hot."""
        if self.crf and len(self.metrics) > 1:  # more than the loss
            ids, _ = self.field.best_labels(y_pred, x["padding_mask"])
            y_pred = tf.one_hot(ids, self.num_labels)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def best_ids(self, inputs):
        """Find the best tags, in graph.

        Returns:
            A tuple of ids, int32 `(batch, words)`, and probabilities, float32 of the same shape,
            see `Tagging`.
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

    def tag(self, sentences, batch_size=64):
        """Tag sentences.

        Args:
            sentences: list or tensor of strings, list of lists of words, or ragged tensor of words.
            batch_size: int, the number of sentences to tag at a time.

        Returns:
            A list with a list of tags for each sentence.

        Raises:
            ValueError: if the model has no preprocessor, or `sentences` is a string.
        """
        return [tagging.tags for tagging in self.predict_tags(sentences, batch_size)]

    def predict_tags(self, sentences, batch_size=64):
        """Tag sentences and give the probability of each tag.

        Args:
            sentences: see `tag`.
            batch_size: int, the number of sentences to tag at a time.

        Returns:
            A list of `Tagging`, one for each sentence.

        Raises:
            ValueError: see `tag`.
        """
        if self.preprocessor is None:
            raise ValueError("`preprocessor` must not be None for a model to take words.")
        words = self.preprocessor.words_of(_as_words(sentences))
        lengths, starts = words.row_lengths().numpy(), words.row_starts().numpy()
        words, run, names = words.values.numpy(), self._tag_function(), self.preprocessor.labels

        def tag_rows(rows):
            own = np.concatenate([words[starts[row] :][: lengths[row]] for row in rows])
            found = run(tf.constant(own, tf.string), lengths[rows])
            found = zip(lengths[rows], *(part.numpy() for part in found), strict=True)
            for length, ids, certain in found:
                yield Tagging([names[id] for id in ids[:length]], certain[:length].tolist())

        return run_by_length(tag_rows, lengths, batch_size)

    def _tag_function(self):
        """Return the graph from words and the numbers of words of the sentences to `best_ids`."""
        preprocessor = self.preprocessor
        tokenizers = (preprocessor.tokenizer, preprocessor.piece_tokenizer)
        revisions = (tokenizer and tokenizer.revision for tokenizer in tokenizers)

        def tag(words, lengths):
            words = tf.RaggedTensor.from_row_lengths(words, lengths, validate=False)
            return self.best_ids(preprocessor.inputs_of(words))

        specs = tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)
        return graph_function(self, ("tag", preprocessor, *revisions), tag, *specs)

    def accuracy(self, sentences, tags, batch_size=64):
        """Compute the fraction of words with the right tag; both arguments are lists of lists."""
        return tag_accuracy(tags, self.tag(sentences, batch_size))

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "num_labels": self.num_labels,
            "crf": self.crf,
            "allowed": self.field.allowed if self.crf else None,
        }


def _check_pieces(backbone, preprocessor):
    """Check that both or neither of backbone and preprocessor use pieces of words."""
    number = backbone.piece_vocabulary_size
    if (number is None) != (preprocessor.piece_tokenizer is None):
        raise ValueError(
            "`backbone` and `preprocessor` must both have pieces of words, or neither, got "
            f"`piece_vocabulary_size` {number} and `piece_tokenizer` "
            f"{preprocessor.piece_tokenizer!r}."
        )


def _as_words(sentences):
    """Return sentences as a list of strings, or as ragged words `(batch, None)`."""
    if isinstance(sentences, (tf.Tensor, tf.RaggedTensor)):
        return sentences
    sentences = list_of_items(sentences, "sentences")
    whole = [isinstance(sentence, (str, bytes)) for sentence in sentences]
    if all(whole):
        return tf.constant(sentences, tf.string)
    if any(whole):
        raise ValueError("`sentences` must be strings or lists of words, got both.")
    for number, sentence in enumerate(sentences, 1):
        if not hasattr(sentence, "__len__"):
            problem = f"got {shorten(repr(sentence))} as number {number}."
            raise ValueError(f"`sentences` must be strings or lists of words, {problem}")
    words = [word for sentence in sentences for word in sentence]
    lengths = list(map(len, sentences))
    return tf.RaggedTensor.from_row_lengths(tf.constant(words, tf.string), lengths)
