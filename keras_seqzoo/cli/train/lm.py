"""`seqzoo train lm`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.options import Progress, refuse_given
from keras_seqzoo.cli.presets import load_recurrent_language_model
from keras_seqzoo.cli.train.options import (
    Clipnorm,
    Description,
    MinimumCount,
    MixedBfloat16,
    Momentum,
    PresetFolder,
    Residual,
    Seed,
    Share,
    Size,
    TextFile,
    Untied,
    WeightDecay,
    finite,
    share,
    train_preset,
)
from keras_seqzoo.data import read_lines, read_paragraphs
from keras_seqzoo.training import LanguageModelTraining, make_language_model

EXAMPLES = """\b
Example:
  seqzoo train lm --train train.txt --valid valid.txt --units 200 --layers 2 --out my-lm
  seqzoo score --preset my-lm < test.txt
  seqzoo generate --preset my-lm --samples 3 "The film"
"""

OwnShare = Annotated[
    float | None, typer.Option(callback=share, help="By default that of --dropout.")
]

# What `make_language_model` hands on to the backbone as it is.
BACKBONE_OPTIONS = (
    "embedding_dim",
    "units",
    "last_units",
    "cell",
    "residual",
    "dropout",
    "input_dropout",
    "output_dropout",
    "word_dropout",
    "variational",
    "recurrent_dropout",
    "zoneout",
    "weight_drop",
    "scale_embedding",
)
# What makes a model.
MODEL_OPTIONS = (
    *("tokenizer", "vocabulary_size", "minimum_count", "layers", "untied", "softmax", "samples"),
    *BACKBONE_OPTIONS,
)
# What `LanguageModelTraining` takes as it is.
TRAINING_OPTIONS = (
    "epochs",
    "batch_size",
    "length",
    "optimizer",
    "learning_rate",
    "schedule",
    "warmup_steps",
    "decay",
    "patience",
    "clipnorm",
    "weight_decay",
    "average",
    "seed",
)


def train_lm(
    context: typer.Context,
    train: TextFile,
    valid: TextFile,
    out: PresetFolder,
    description: Description = "Language model.",
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Preset of a language model to go on from, in place of a new model; options that "
            "make a model then cannot be given.",
        ),
    ] = None,
    tokenizer: Literal["word", "character", "bpe", "unigram"] = "word",
    vocabulary_size: Annotated[
        int | None,
        typer.Option(min=6, help="5 special tokens counted; by default all, or 8000 subwords."),
    ] = None,
    minimum_count: MinimumCount = 1,
    cell: Literal["lstm", "gru", "elman"] = "lstm",
    embedding_dim: Size = 256,
    units: Size = 512,
    layers: Size = 1,
    last_units: Annotated[
        int | None, typer.Option(min=1, help="Of the last layer; by default those of --units.")
    ] = None,
    residual: Residual = False,
    untied: Untied = False,
    softmax: Annotated[
        Literal["full", "sampled", "nce", "negative-sampling", "class-factored", "hierarchical"],
        typer.Option(help="For large vocabularies one of the others, which are not tied."),
    ] = "full",
    samples: Annotated[
        int | None, typer.Option(min=1, help="Tokens drawn for a batch; by default 1024.")
    ] = None,
    dropout: Share = 0.3,
    input_dropout: OwnShare = None,
    output_dropout: OwnShare = None,
    word_dropout: Annotated[
        float, typer.Option(callback=share, help="Words that are not seen in a batch.")
    ] = 0.0,
    variational: Annotated[
        bool, typer.Option("--variational", help="One dropout mask for all steps of a row.")
    ] = False,
    recurrent_dropout: Share = 0.0,
    zoneout: Share = 0.0,
    weight_drop: Share = 0.0,
    scale_embedding: Annotated[
        bool, typer.Option("--scale-embedding", help="Multiply it with the root of its size.")
    ] = False,
    paragraphs: Annotated[
        bool,
        typer.Option("--paragraphs", help="A text is a paragraph, up to a blank line, not a line."),
    ] = False,
    sentences: Annotated[
        bool,
        typer.Option("--sentences", help="A row for each sentence, not streams that run on."),
    ] = False,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Streams, or sentences; by default 20, or fewer."),
    ] = None,
    length: Annotated[
        int,
        typer.Option(min=1, help="Tokens a gradient flows through; longer --sentences are cut."),
    ] = 35,
    epochs: Size = 15,
    optimizer: Literal["sgd", "momentum", "adagrad", "adam"] = "sgd",
    learning_rate: Annotated[
        float | None,
        typer.Option(callback=finite, help="The highest; by default 20, 2, 0.1 or 0.002."),
    ] = None,
    schedule: Annotated[
        Literal["cosine", "plateau", "constant"],
        typer.Option(help="How the rate falls; plateau: when validation gets no better."),
    ] = "cosine",
    warmup_steps: Annotated[int, typer.Option(min=0, help="Of the cosine.")] = 0,
    decay: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Of the rate, on a plateau.")
    ] = 0.5,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many epochs that got no better.")
    ] = None,
    clipnorm: Clipnorm = 0.25,
    weight_decay: WeightDecay = 0.0,
    average: Momentum = 0.999,
    seed: Seed = 0,
    mixed_bfloat16: MixedBfloat16 = False,
    progress: Progress = None,
):
    """Train a recurrent language model on text.

    DIR becomes the preset. After each epoch the perplexity of the validation text is measured, and
    the weights with the lowest are kept. Ctrl-C stops after the step under way; the same command
    goes on from there. A batch is --batch-size parts of the text of --length tokens, each going on
    where that of the last batch ended; with --sentences, as many sentences.
    """
    if start is not None:
        refuse_given(context, MODEL_OPTIONS, "cannot be given with --start")
    if softmax != "full":
        refuse_given(context, ("untied",), "goes with --softmax full, the others are not tied")
    if schedule != "plateau":
        refuse_given(context, ("decay",), "goes with --schedule plateau")
    read = read_paragraphs if paragraphs else read_lines

    def make_training(texts, options, **run):
        model = _make_model(texts, options)
        return LanguageModelTraining(model, carry=not sentences, options=options, **run)

    train_preset(
        context,
        read=lambda: (read(train), read(valid)),
        lines=lambda *texts: dict(zip(("train", "valid"), texts, strict=True)),
        make_training=make_training,
        chosen=TRAINING_OPTIONS,
        score="perplexity",
    )


def _make_model(texts, options):
    dtype = "mixed_bfloat16" if options["mixed_bfloat16"] else None
    if options["start"] is not None:
        return load_recurrent_language_model(options["start"], dtype)
    return make_language_model(
        texts,
        tokenizer=options["tokenizer"],
        vocabulary_size=options["vocabulary_size"],
        minimum_count=options["minimum_count"],
        tie_softmax=not options["untied"],
        softmax=options["softmax"],
        samples=options["samples"],
        num_layers=options["layers"],
        dtype=dtype,
        **{name: options[name] for name in BACKBONE_OPTIONS},
    )
