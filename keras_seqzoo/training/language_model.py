"""Recurrent language models: a new model for a text, and its training."""

import functools
import warnings
from typing import Literal

import keras
import numpy as np

from keras_seqzoo.callbacks.stream_states import StreamStates
from keras_seqzoo.data import RaggedIds, Sentences, running_batches, sentence_batches
from keras_seqzoo.data.batching.id_cache import chunks
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
from keras_seqzoo.models.language_model.running_text import RunningText
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from keras_seqzoo.training.data import DroppedItems
from keras_seqzoo.training.measure import Measure
from keras_seqzoo.training.optimization import limit_warmup, warmup_cosine
from keras_seqzoo.training.options import Options, option, options, rate_option, size_option
from keras_seqzoo.training.reports import LanguageModelReport
from keras_seqzoo.training.run import TrainingOptions, TrainingRun
from keras_seqzoo.training.vocabularies import SUBWORDS, train_subwords

TOKENIZERS = {"word": WordTokenizer, "character": CharacterTokenizer}
SOFTMAX_LAYERS = {
    "sampled": SampledSoftmax,
    "nce": NoiseContrastiveEstimation,
    "negative-sampling": NegativeSampling,
    "class-factored": ClassFactoredSoftmax,
    "hierarchical": HierarchicalSoftmax,
}
SAMPLING = ("sampled", "nce", "negative-sampling")
SOFTMAXES = ("full", *SOFTMAX_LAYERS)
# Name -> optimizer and its default learning rate.
OPTIMIZERS = {
    "sgd": (keras.optimizers.SGD, 20.0),
    "momentum": (functools.partial(keras.optimizers.SGD, momentum=0.9), 2.0),
    "adagrad": (keras.optimizers.Adagrad, 0.1),
    "adam": (keras.optimizers.Adam, 2e-3),
}
BATCH_SIZE = 20


@options
class LanguageModelOptions(Options):
    """Options of `make_language_model`."""

    cell: Literal["lstm", "gru", "elman"] = option("lstm", "Recurrent cell.")
    embedding_dim: int = size_option(256, "Size of the token embeddings.")
    units: int = size_option(512, "Units of each layer.")
    num_layers: int = size_option(1, "Number of recurrent layers.", flag="layers")
    dropout: float = rate_option(0.0, "Dropout rate.", cli_default=0.3)
    tokenizer: Literal[*TOKENIZERS, *SUBWORDS] = option(
        "word", "Kind of tokens.", panel="Vocabulary"
    )
    vocabulary_size: int | None = option(
        None,
        "Number of tokens, including 5 special tokens; by default all words or characters, or 8000 "
        "subwords (fewer if the text has fewer).",
        minimum=6,
        panel="Vocabulary",
    )
    minimum_count: int = size_option(1, "Rarer words or characters are [UNK].", panel="Vocabulary")
    sequence_length: int = size_option(128, "Length of the preprocessor, in tokens.", flag=None)
    last_units: int | None = size_option(
        None, "Units of the last layer; by default `units`.", panel="Model"
    )
    layer_normalization: bool = option(False, "Normalize inside LSTM or GRU cells.", panel="Model")
    residual: bool = option(False, "Add each layer's input to its output.", panel="Model")
    tie_softmax: bool = option(
        True,
        "Use the embedding as output projection, with the full `softmax`.",
        cli_help="Use an output projection separate from the embedding.",
        flag="untied",
        inverted=True,
        panel="Model",
    )
    softmax: Literal[SOFTMAXES] = option(
        "full",
        "Output layer. All except full are for large vocabularies: they are not tied, and use the "
        "token frequencies of the text.",
        panel="Model",
    )
    samples: int | None = size_option(
        None, "Tokens that a sampled `softmax` draws for a batch; by default 1024.", panel="Model"
    )
    input_dropout: float | None = rate_option(
        None, "Dropout rate of the embeddings; by default `dropout`.", panel="Dropout"
    )
    output_dropout: float | None = rate_option(
        None, "Dropout rate of the outputs; by default `dropout`.", panel="Dropout"
    )
    word_dropout: float = rate_option(0.0, "Rate of words hidden in a batch.", panel="Dropout")
    variational: bool = option(
        False, "Use one dropout mask for all steps of a sequence.", panel="Dropout"
    )
    recurrent_dropout: float = rate_option(
        0.0, "Dropout rate of the recurrent state.", panel="Dropout"
    )
    zoneout: float = rate_option(0.0, "Rate of units that keep their state.", panel="Dropout")
    weight_drop: float = rate_option(0.0, "Dropout rate of the recurrent weights.", panel="Dropout")
    scale_embedding: bool = option(
        False, "Multiply the embeddings by the square root of their size.", panel="Model"
    )
    dtype: object = option(None, "Keras dtype policy.", flag=None)

    def __post_init__(self):
        """Check each option, and that the options fit together."""
        super().__post_init__()
        if self.samples is not None and self.softmax not in SAMPLING:
            raise ValueError(
                f"`samples` must be None unless `softmax` is one of {', '.join(SAMPLING)}, got "
                f"{self.samples}."
            )
        if self.tokenizer not in TOKENIZERS and self.minimum_count > 1:
            raise ValueError(
                f"`minimum_count` must be 1 unless `tokenizer` is one of {', '.join(TOKENIZERS)}, "
                f"got {self.minimum_count}."
            )


@options
class LanguageModelTrainingOptions(TrainingOptions):
    """Options of `LanguageModelTraining`."""

    ema_momentum = 0.999
    batch_size: int | None = size_option(
        None,
        f"Streams or sentences in a batch; by default {BATCH_SIZE}, or the number of tokens of a "
        "shorter text.",
    )
    length: int = size_option(
        35, "Tokens in a row, through which gradients flow; longer sentences are cut."
    )
    learning_rate: float | None = option(
        None,
        "Highest learning rate; by default 20 for sgd, 2 for momentum, 0.1 for adagrad, 0.002 for "
        "adam.",
        minimum=0.0,
    )
    carry: bool = option(
        True,
        "Read the text as streams that continue from batch to batch, not as one row per sentence.",
        cli_help="Read each sentence as a row, instead of the text as streams.",
        flag="sentences",
        inverted=True,
        panel="Training",
    )
    optimizer: Literal[tuple(OPTIMIZERS)] = option(
        "sgd",
        "Optimizer. For a softmax over words, gradient descent with small clipped gradients does "
        "better: adaptive learning rates make the steps for rare words too large (Merity et al. "
        "2018, section 3).",
        cli_help="Optimizer.",
        panel="Training",
    )
    schedule: Literal["cosine", "plateau", "constant"] = option(
        "cosine",
        'How the learning rate falls: "cosine" to a fiftieth in the last epoch; "plateau" by the '
        "factor `decay` after each epoch without a better perplexity.",
        cli_help="How the learning rate falls; plateau: after each epoch that is not better.",
        panel="Training",
    )
    warmup_steps: int = option(
        0,
        "Steps in which the learning rate rises (in a run that is too short, a tenth of its "
        "steps); with the cosine schedule.",
        minimum=0,
        panel="Training",
    )
    decay: float = option(
        0.5, "Factor of the learning rate at a plateau.", above=0, below=1, panel="Training"
    )
    clipnorm: float = option(0.25, "Largest norm of all gradients.", above=0, panel="Training")
    weight_decay: float = option(0.0, "Decoupled weight decay.", minimum=0.0, panel="Training")

    def __post_init__(self):
        """Check each option, and that options go together."""
        super().__post_init__()
        if self.warmup_steps and self.schedule != "cosine":
            raise ValueError(
                f'`warmup_steps` must be 0 unless `schedule` is "cosine", got {self.warmup_steps}.'
            )


def make_language_model(texts, **kwargs):
    """Train a tokenizer on a text and create a recurrent language model for it.

    Args:
        texts: list of strings, or an iterable of them that can be read several times, such as
            `keras_seqzoo.data.TextFiles`.
        **kwargs: the options in `LanguageModelOptions`.

    Returns:
        A `RecurrentLanguageModel`. Its initial weights follow `keras.utils.set_random_seed`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range or does not fit the text.

    Example:
    ```python
    model = make_language_model(texts, vocabulary_size=10_000, units=200, num_layers=2)
    ```
    """
    options = LanguageModelOptions(**kwargs)
    if options.tokenizer in TOKENIZERS:
        tokenizer = TOKENIZERS[options.tokenizer].train(
            texts, options.vocabulary_size, options.minimum_count
        )
    else:
        tokenizer = train_subwords(options.tokenizer, texts, options.vocabulary_size, 8000)
    size = tokenizer.vocabulary_size()
    backbone = RecurrentBackbone(
        size,
        **options.select("cell", "embedding_dim", "units", "num_layers", "last_units", "residual"),
        **options.select("dropout", "input_dropout", "output_dropout", "word_dropout"),
        **options.select("variational", "recurrent_dropout", "zoneout", "weight_drop"),
        **options.select("scale_embedding", "layer_normalization", "dtype"),
    )
    preprocessor = RecurrentLanguageModelPreprocessor(
        tokenizer, sequence_length=options.sequence_length
    )
    if options.softmax == "full":
        return RecurrentLanguageModel(backbone, preprocessor, options.tie_softmax)
    counts = np.ones(size, np.int64)  # add-one smoothing
    for chunk in chunks(texts):
        labels = tokenize_sentences(tokenizer, chunk).flat_values.numpy()
        counts += np.bincount(labels, minlength=size)
    samples = options.samples or 1024
    arguments = {
        "sampled": {"samples": samples, "proposals": counts},
        "nce": {"samples": samples, "proposals": counts},
        "negative-sampling": {"samples": samples, "proposals": counts**0.75},
        "class-factored": {"classes": frequency_classes(counts)},
        "hierarchical": {"counts": counts},
    }[options.softmax]
    layer = SOFTMAX_LAYERS[options.softmax](size, dtype=backbone.dtype_policy, **arguments)
    return RecurrentLanguageModel(backbone, preprocessor, tie_softmax=False, softmax=layer)


class LanguageModelTraining(TrainingRun):
    """Training of a language model that keeps the best preset and can be stopped and resumed.

    With `carry`, the text is read as streams that continue from batch to batch; each epoch splits
    it at a different place. Otherwise each sentence is a row, cut or padded to `length`, and the
    rows are in random order. After each epoch, the EMA of the weights is evaluated by the
    perplexity of the validation sentences. They are also read as streams, or one by one and not
    cut. `run` takes lists of sentences as `train` and `validation`; `train` may also be
    `keras_seqzoo.data.TextFiles`.

    Args:
        model: a `RecurrentLanguageModel` with a preprocessor; the run compiles it.
        directory: folder of the preset; the state of the run is in its `training` folder.
        **kwargs: see `TrainingRun`, and the options in `LanguageModelTrainingOptions`.

    Raises:
        TypeError: if an option is unknown.
        ValueError: if an option is out of range.

    Example:
    ```python
    training = LanguageModelTraining(model, "my-preset", epochs=20, batch_size=20, length=35)
    training.run(train_sentences, valid_sentences)
    ```
    """

    options_class = LanguageModelTrainingOptions
    data_names = ("sentences",)
    measures = {"perplexity": Measure("perplexity", lower_is_better=True)}

    def __init__(self, model, directory, **kwargs):
        super().__init__(model, directory, **kwargs)
        if self.learning_rate is None:
            self.learning_rate = OPTIMIZERS[self.optimizer][1]
        self._sentences = None
        self._streams = StreamStates(
            lambda: self.pass_position[1] > 0 or 0 < self.state.step < self.steps
        )

    def prepare(self, train, validation):
        """Tokenize the text."""
        if not validation:
            raise ValueError("`validation` must have at least one sentence, got none.")
        long = DroppedItems()

        def encode(texts):
            sentences = self.model.sentence_ids(texts)
            lengths = np.array([len(sentence) for sentence in sentences])
            long.add(lengths > self.length)
            return Sentences(RaggedIds.from_lengths(np.concatenate(sentences), lengths))

        self._sentences = self.cache_rows(train, Sentences, encode, long)
        self.tokens = self._sentences.tokens["ids"]
        if self.batch_size is None:
            self.batch_size = BATCH_SIZE
            if self.carry and self.tokens < BATCH_SIZE:
                self.batch_size = self.tokens
                warnings.warn(
                    f"the text has {self.batch_size} tokens, so a batch has {self.batch_size} "
                    f"streams, not the default of {BATCH_SIZE}",
                    stacklevel=3,
                )
        if self.carry and self.tokens < self.batch_size:
            raise ValueError(
                f"`batch_size` must be at most the number of tokens of `train`, {self.tokens}, got "
                f"{self.batch_size}."
            )
        if not self.carry:
            self.report_dropped(f"cut to {self.length} tokens", "sentences", long)

    def batches(self, epoch, start=0):
        """Return the batches of an epoch."""
        seed = (self.seed, epoch)
        arguments = self._sentences, self.model.tokenizer.start_token_id, self.batch_size
        if not self.carry:
            return sentence_batches(*arguments, self.length, seed, start)
        offset = int(np.random.default_rng(seed).integers(self._sentences.tokens["ids"]))
        return running_batches(*arguments, self.length, offset, start)

    def compile_model(self, steps):
        """Compile the model with its optimizer and learning-rate schedule."""
        rate = self.learning_rate
        if self.schedule == "cosine":
            steps *= self.epochs
            warmup_steps = limit_warmup(self.warmup_steps, steps, self.report)
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
        """Return the EMA of the weights and the states of the streams."""
        return {**super().parts(), "streams": self._streams}

    def callbacks(self):
        """Return the callback that restores the states of streams."""
        return [self._streams]

    def on_epoch_begin(self):
        """Set the learning rate if it depends on earlier epochs."""
        if self.schedule == "plateau":
            misses = sum(not epoch["improved"] for epoch in self.state.history)
            self.model.optimizer.learning_rate = self.learning_rate * self.decay**misses

    def evaluate(self, validation, stop):
        """Compute the perplexity of the validation sentences."""
        model = RunningText(self.model, streams=8) if self.carry else self.model
        return {"perplexity": model.perplexity(validation).perplexity}

    def reports(self, validation):
        """Return the report of some generated texts."""
        return [LanguageModelReport()]

    def gradient_batch(self):
        """Return a batch, or `None` if the vocabulary is too large for all logits of a batch."""
        return super().gradient_batch() if self.model.softmax is None else None
