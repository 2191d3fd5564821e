"""`seqzoo train classify`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.options import Progress, refuse_given
from keras_seqzoo.cli.presets import check_task
from keras_seqzoo.cli.train.options import (
    Clipnorm,
    Description,
    EmbeddingDim,
    FreezeEmbeddings,
    MinimumCount,
    MixedBfloat16,
    Momentum,
    PresetFolder,
    Rate,
    Seed,
    Size,
    Vectors,
    WarmupSteps,
    WeightDecay,
    embedding_width,
    share,
    train_preset,
    word_vectors,
)
from keras_seqzoo.data import read_labelled_texts
from keras_seqzoo.layers.classifier_head import POOLINGS
from keras_seqzoo.models import RecurrentLanguageModel
from keras_seqzoo.training import TextClassifierTraining, make_text_classifier

EXAMPLES = """\b
Examples:
  seqzoo train classify --train train.tsv --valid valid.tsv --out my-classifier
  seqzoo train classify --train train.jsonl --valid valid.jsonl --start my-lm --out my-classifier
  seqzoo classify --preset my-classifier "A film to see again."
"""

LabelledFile = Annotated[
    str,
    typer.Option(metavar="FILE", help="Lines of label, tab, text, or .jsonl of label and text."),
]

# What is not for a model that begins with another's backbone.
BACKBONE_OPTIONS = (
    *("encoder", "tokenizer", "vocabulary_size", "minimum_count", "vectors", "embedding_dim"),
    *("units", "layers", "bidirectional", "filters", "widths"),
)
TRAINING_OPTIONS = (
    *("epochs", "batch_size", "learning_rate", "warmup_steps", "clipnorm", "weight_decay"),
    *("balanced", "average", "seed"),
)


def train_classify(
    context: typer.Context,
    train: LabelledFile,
    valid: LabelledFile,
    out: PresetFolder,
    description: Description = "Text classifier.",
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Preset of a recurrent language model to begin with, if any."
        ),
    ] = None,
    encoder: Literal["lstm", "gru", "elman", "convolution"] = "lstm",
    tokenizer: Literal["word", "bpe", "unigram"] = "word",
    vocabulary_size: Annotated[
        int | None,
        typer.Option(
            min=6, help="5 special tokens counted; by default 20000, or all that the texts give."
        ),
    ] = None,
    minimum_count: MinimumCount = 1,
    vectors: Vectors = None,
    freeze_embeddings: FreezeEmbeddings = False,
    embedding_dim: EmbeddingDim = None,
    units: Size = 128,
    layers: Size = 1,
    bidirectional: Annotated[
        bool, typer.Option("--bidirectional", help="Read in both directions.")
    ] = False,
    filters: Annotated[int, typer.Option(min=1, help="Of each width of a convolution.")] = 100,
    widths: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Of convolutions; may be given several times; 3, 4 and 5."),
    ] = None,
    encoder_dropout: Annotated[
        float | None,
        typer.Option(callback=share, help="In the encoder; by default none, or that of --start."),
    ] = None,
    word_dropout: Annotated[
        float | None,
        typer.Option(callback=share, help="Words that a recurrent encoder does not see."),
    ] = None,
    pooling: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(POOLINGS)}; may be given several times; by default last states, or "
            "maxima."
        ),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Of k-max.")] = 3,
    hidden_units: Annotated[int | None, typer.Option(min=1, help="Of the head, if any.")] = None,
    dropout: Annotated[float, typer.Option(callback=share, help="In the head.")] = 0.5,
    sequence_length: Annotated[int, typer.Option(min=1, help="Tokens of a text.")] = 512,
    truncation_side: Annotated[
        Literal["right", "left"], typer.Option(help="Where longer texts are cut.")
    ] = "right",
    batch_size: Annotated[int, typer.Option(min=1)] = 32,
    epochs: Size = 5,
    learning_rate: Rate = 1e-3,
    warmup_steps: WarmupSteps = 100,
    clipnorm: Clipnorm = 1.0,
    weight_decay: WeightDecay = 0.0,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Rare labels weigh as much as frequent ones.")
    ] = False,
    average: Momentum = 0.99,
    seed: Seed = 0,
    mixed_bfloat16: MixedBfloat16 = False,
    progress: Progress = None,
):
    """Train a text classifier.

    DIR becomes the preset. After each epoch the accuracy on the validation texts is measured, and
    the weights with the highest are kept. Ctrl-C stops after the step under way; the same command
    goes on from there. Where the label in a .jsonl file is a list, a text may have any number.
    """
    if start is not None:
        refuse_given(context, BACKBONE_OPTIONS, "cannot be given with --start")
        check_task("--start", start, RecurrentLanguageModel, "a recurrent language model")
    elif encoder == "convolution":
        recurrent = ("units", "layers", "bidirectional", "word_dropout")
        refuse_given(context, recurrent, "goes with a recurrent encoder")
    else:
        refuse_given(context, ("filters", "widths"), "goes with --encoder convolution")
    if start is None and vectors is None:
        refuse_given(context, ("freeze_embeddings",), "goes with --vectors or --start")
    if tokenizer != "word":
        refuse_given(context, ("minimum_count", "vectors"), "goes with --tokenizer word")
    if "k-max" not in (pooling or ()):
        refuse_given(context, ("k",), "goes with --pooling k-max")

    def make_training(data, options, **run):
        return TextClassifierTraining(_make_model(*data, options), options=options, **run)

    train_preset(
        context,
        read=lambda: (read_labelled_texts(train), read_labelled_texts(valid)),
        lines=lambda train, valid: {"train": _lines(*train), "valid": _lines(*valid)},
        make_training=make_training,
        chosen=TRAINING_OPTIONS,
        score="accuracy",
    )


def _lines(texts, labels):
    return [f"{label}\t{text}" for text, label in zip(texts, labels, strict=True)]


def _make_model(texts, labels, options):
    kinds = {"dropout": options["encoder_dropout"], "word_dropout": options["word_dropout"]}
    kind = {name: rate for name, rate in kinds.items() if rate is not None}
    if options["start"] is None:
        kind |= embedding_width(options)
        if options["encoder"] == "convolution":
            kind |= {"filters": options["filters"], "widths": options["widths"] or (3, 4, 5)}
        else:
            kind |= {"units": options["units"], "num_layers": options["layers"]}
            kind |= {"bidirectional": options["bidirectional"]}
    pooling = options["pooling"]
    return make_text_classifier(
        texts,
        labels,
        options["encoder"],
        options["tokenizer"],
        vectors=word_vectors(options),
        pooling=pooling[0] if pooling and len(pooling) == 1 else pooling or None,
        dtype="mixed_bfloat16" if options["mixed_bfloat16"] else None,
        backbone_options=kind,
        **{
            name: options[name]
            for name in (
                *("vocabulary_size", "minimum_count", "start", "freeze_embeddings"),
                *("sequence_length", "truncation_side", "k", "hidden_units", "dropout"),
            )
        },
    )
