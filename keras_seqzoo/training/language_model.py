"""Recurrent language models: making one for a text, and training it."""

import functools
import warnings

import keras
import numpy as np

from keras_seqzoo.checks import check_choice, check_integer, check_number
from keras_seqzoo.data import sentence_batches, stream_batches
from keras_seqzoo.layers.large_softmax import (
    ClassFactoredSoftmax,
    HierarchicalSoftmax,
    NegativeSampling,
    NoiseContrastiveEstimation,
    SampledSoftmax,
    frequency_classes,
)
from keras_seqzoo.losses import SequenceCrossentropy
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.models.language_model.base import tokenize_sentences
from keras_seqzoo.models.language_model.running_text import RunningText, running_tokens
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from keras_seqzoo.training.measures import Measure
from keras_seqzoo.training.optimization import fitting_warmup, warmup_cosine
from keras_seqzoo.training.run import TrainingRun
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords

WHOLE = {"word": WordTokenizer, "character": CharacterTokenizer}
TOKENIZERS = (*WHOLE, *SUBWORDS)
LAYERS = {
    "sampled": SampledSoftmax,
    "nce": NoiseContrastiveEstimation,
    "negative-sampling": NegativeSampling,
    "class-factored": ClassFactoredSoftmax,
    "hierarchical": HierarchicalSoftmax,
}
SAMPLING = ("sampled", "nce", "negative-sampling")
SOFTMAXES = ("full", *LAYERS)


def make_language_model(
    texts,
    tokenizer="word",
    vocabulary_size=None,
    minimum_count=1,
    sequence_length=128,
    tie_softmax=True,
    softmax="full",
    samples=None,
    **backbone_options,
):
    """Train a tokenizer on a text and make a recurrent language model for it.

    Args:
        texts: list of strings.
        tokenizer: `"word"`, `"character"`, `"bpe"` or `"unigram"`.
        vocabulary_size: int, number of tokens, or `None` for all words or characters, and 8,000
            subwords, or as many as the text gives.
        minimum_count: int, how often a word or character must come not to be `[UNK]`.
        sequence_length: int, the length of the preprocessor, in tokens.
        tie_softmax: bool, see `RecurrentLanguageModel`; for `softmax="full"` alone.
        softmax: `"full"`, `"sampled"`, `"nce"`, `"negative-sampling"`, `"class-factored"` or
            `"hierarchical"`, see `keras_seqzoo.layers.large_softmax`. Proposals, classes and tree
            are those of the tokens' frequencies in the text.
        samples: int, how many tokens the first three of these draw, or `None` for 1,024.
        **backbone_options: see `RecurrentBackbone`.

    Returns:
        A `RecurrentLanguageModel`. Its first weights follow `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the text.

    Example:
    ```python
    model = make_language_model(texts, vocabulary_size=10_000, units=200, num_layers=2)
    ```
    """
    check_choice("tokenizer", tokenizer, TOKENIZERS)
    check_choice("softmax", softmax, SOFTMAXES)
    if samples is not None and softmax not in SAMPLING:
        raise ValueError(f"`samples` needs one of {', '.join(SAMPLING)} as `softmax`.")
    if tokenizer not in WHOLE and minimum_count > 1:
        raise ValueError(f"`minimum_count` needs one of {', '.join(WHOLE)} as `tokenizer`.")
    samples = 1024 if samples is None else samples
    if tokenizer in WHOLE:
        tokenizer = WHOLE[tokenizer].train(texts, vocabulary_size, minimum_count)
    else:
        tokenizer = train_subwords(tokenizer, texts, vocabulary_size, 8000)
    backbone = RecurrentBackbone(tokenizer.vocabulary_size(), **backbone_options)
    preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=sequence_length)
    if softmax == "full":
        return RecurrentLanguageModel(backbone, preprocessor, tie_softmax)
    size = tokenizer.vocabulary_size()
    labels = tokenize_sentences(tokenizer, texts).flat_values.numpy()
    counts = np.bincount(labels, minlength=size) + 1  # of what is predicted, and once more
    arguments = {
        "sampled": {"samples": samples, "proposals": counts},
        "nce": {"samples": samples, "proposals": counts},
        "negative-sampling": {"samples": samples, "proposals": counts**0.75},
        "class-factored": {"classes": frequency_classes(counts)},
        "hierarchical": {"counts": counts},
    }[softmax]
    layer = LAYERS[softmax](size, dtype=backbone.dtype_policy, **arguments)
    return RecurrentLanguageModel(backbone, preprocessor, tie_softmax=False, softmax=layer)


# Each with the rate that it is used with if none is given.
OPTIMIZERS = {
    "sgd": (keras.optimizers.SGD, 20.0),
    "momentum": (functools.partial(keras.optimizers.SGD, momentum=0.9), 2.0),
    "adagrad": (keras.optimizers.Adagrad, 0.1),
    "adam": (keras.optimizers.Adam, 2e-3),
}
BATCH_SIZE = 20
SCHEDULES = ("cosine", "plateau", "constant")


class LanguageModelTraining(TrainingRun):
    """Trains a recurrent language model, keeps the best preset, can be stopped and resumed.

    Sentences are read as streams that go on from batch to batch (`carry`), cut at another place in
    each epoch, or each as a row of its own, in random order and cut or padded to `length`. After
    each epoch the averaged weights are measured by their perplexity on the validation sentences,
    those being read as streams too, or one by one and whole. For `run`, `train` and `validation`
    are lists of sentences.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor; it is compiled here.
        directory: folder of the preset; the state of the run lies in its `training` folder.
        epochs: int.
        batch_size: int, rows of a batch: streams, or sentences; or `None` for 20, or for as many
            streams as the text has tokens, with a warning, where these are fewer.
        length: int, tokens of a row: through so many a gradient flows.
        carry: bool, whether rows are streams.
        optimizer: `"sgd"`, `"momentum"` (0.9), `"adagrad"` or `"adam"`. With a softmax over
            words plain gradient descent with small clipped gradients is ahead: of adaptive rates
            the embeddings of rare words take too large steps (Merity et al. 2018, section 3).
        learning_rate: float, the highest rate, or `None` for one that suits the optimizer: 20, 2,
            0.1 and 0.002.
        schedule: how the rate falls: `"cosine"` (to a fiftieth in the last epoch), `"plateau"`
            (times `decay` after each epoch whose perplexity is not the best so far), or
            `"constant"`.
        warmup_steps: int, steps in which the rate rises; of the cosine alone. Where they would fill
            the whole run, a tenth of the run.
        decay: float above 0 and below 1, see `schedule`.
        patience: int, the run ends after so many epochs in a row without a better perplexity, or
            `None` for all epochs.
        clipnorm: float above 0, the largest norm of all gradients together.
        weight_decay: float, decoupled decay of the weights.
        average: float in [0, 1), momentum of the running average of the weights.
        **kwargs: `seed`, `options`, `metadata` and `report` of `TrainingRun`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    training = LanguageModelTraining(model, "my-preset", epochs=20, batch_size=20, length=35)
    training.run(train_sentences, valid_sentences)
    ```
    """

    measures = {"perplexity": Measure("perplexity", lower_is_better=True)}

    def __init__(
        self,
        model,
        directory,
        epochs=15,
        batch_size=None,
        length=35,
        carry=True,
        optimizer="sgd",
        learning_rate=None,
        schedule="cosine",
        warmup_steps=0,
        decay=0.5,
        patience=None,
        clipnorm=0.25,
        weight_decay=0.0,
        average=0.999,
        **kwargs,
    ):
        super().__init__(model, directory, epochs, average, **kwargs)
        check_choice("optimizer", optimizer, OPTIMIZERS)
        check_choice("schedule", schedule, SCHEDULES)
        if not 0.0 < decay < 1.0:
            raise ValueError(f"`decay` must be above 0 and below 1, got {decay!r}.")
        if batch_size is not None:
            check_integer("batch_size", batch_size, minimum=1)
        self.batch_size = batch_size
        self.length = check_integer("length", length, minimum=1)
        self.carry = carry
        self.optimizer = optimizer
        if learning_rate is None:
            learning_rate = OPTIMIZERS[optimizer][1]
        self.learning_rate = check_number("learning_rate", learning_rate, minimum=0.0)
        self.schedule = schedule
        self.warmup_steps = check_integer("warmup_steps", warmup_steps, minimum=0)
        if self.warmup_steps and schedule != "cosine":
            raise ValueError('`warmup_steps` needs the `schedule` "cosine".')
        self.decay = decay
        self.patience = None if patience is None else check_integer("patience", patience, 1)
        self.clipnorm = check_number("clipnorm", clipnorm, minimum=1e-12)
        self.weight_decay = check_number("weight_decay", weight_decay, minimum=0.0)
        self._text = None
        self._streams = _StreamStates(self)

    def prepare(self, train, validation):
        """Tokenize the text."""
        if not train or not validation:
            raise ValueError("`train` and `validation` must have at least one sentence each.")
        sentences = self.model.sentence_ids(train)
        begin = self.model.tokenizer.start_token_id
        self._text = running_tokens(sentences, begin) if self.carry else (sentences, begin)
        if self.batch_size is None:
            self.batch_size = BATCH_SIZE
            if self.carry and len(self._text[0]) < BATCH_SIZE:
                self.batch_size = len(self._text[0])
                warnings.warn(
                    f"the text has {self.batch_size} tokens, so a batch has {self.batch_size} "
                    f"streams, and not the default of {BATCH_SIZE}",
                    stacklevel=3,
                )
        if not self.carry:
            long = np.array([len(sentence) > self.length for sentence in sentences])
            self.report_lost(f"cut to {self.length} tokens", "sentences", long)

    def batches(self, epoch):
        """Give the batches of an epoch."""
        seed = (self.seed, epoch)
        if not self.carry:
            return sentence_batches(*self._text, self.batch_size, self.length, seed)
        offset = int(np.random.default_rng(seed).integers(len(self._text[0])))
        return stream_batches(*self._text, self.batch_size, self.length, offset)

    def compile_model(self, steps):
        """Compile the model with its optimizer and the schedule of its rate."""
        rate = self.learning_rate
        if self.schedule == "cosine":
            steps *= self.epochs
            warmup_steps = fitting_warmup(self.warmup_steps, steps, self.report)
            rate = warmup_cosine(rate, warmup_steps, steps)
        self.model.compile(
            OPTIMIZERS[self.optimizer][0](
                rate,
                global_clipnorm=self.clipnorm,
                weight_decay=self.weight_decay or None,
            ),
            SequenceCrossentropy(),
            streams=self.batch_size if self.carry else None,
        )

    def parts(self):
        """Give the running average, and the states of the streams."""
        return {**super().parts(), "streams": self._streams}

    def callbacks(self):
        """Give what sets the states of streams."""
        return [self._streams] if self.carry else []

    def begin_epoch(self):
        """Set the learning rate, where it depends on the epochs before."""
        if self.schedule == "plateau":
            misses = sum(not epoch["improved"] for epoch in self.state.history)
            self.model.optimizer.learning_rate = self.learning_rate * self.decay**misses

    def is_over(self):
        """Tell whether all epochs are done, or the last ones brought nothing."""
        if super().is_over():
            return True
        last = self.state.history[-self.patience :] if self.patience else []
        return bool(last) and len(last) == self.patience and not any(e["improved"] for e in last)

    def measure(self, validation, stop):
        """Compute the perplexity of the validation sentences."""
        model = RunningText(self.model, streams=8) if self.carry else self.model
        return {"perplexity": model.perplexity(validation).perplexity}


class _StreamStates(keras.callbacks.Callback):
    """Lets a run that stopped within an epoch go on with the states of its streams."""

    def __init__(self, run):
        super().__init__()
        self.run = run
        self._saved = {}

    def get_state(self):
        within = self.run.carry and 0 < self.run.state.step < self.run.steps
        return self.run.model.carried_states.get_state() if within else {}

    def set_state(self, arrays, model):
        self._saved = arrays

    def on_epoch_begin(self, epoch, logs=None):
        if self._saved:
            self.model.carried_states.set_state(self._saved)
            self._saved = {}
