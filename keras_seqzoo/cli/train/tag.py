"""`seqzoo train tag`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.options import Column, Progress, refuse_column, refuse_given
from keras_seqzoo.cli.presets import check_task
from keras_seqzoo.cli.train.options import (
    Clipnorm,
    Description,
    EmbeddingDim,
    FreezeEmbeddings,
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
from keras_seqzoo.data import read_tagged_sentences
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.training import TaggerTraining, make_tagger
from keras_seqzoo.training.subword_tokenizers import SUBWORDS

EXAMPLES = """\b
Examples:
  seqzoo train tag --train train.conllu --valid dev.conllu --out my-tagger
  seqzoo train tag --train train.conll --valid dev.conll --measure f1 --out my-entities
  seqzoo train tag --train train.conll --valid dev.conll --start my-tagger --out my-other-tagger
  seqzoo tag --preset my-tagger "Two dogs run."
"""

TaggedFile = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="CoNLL-U (.conllu), or words and tags in the first and last column."
    ),
]

# What is not for a tagger that begins with another's backbone.
BACKBONE_OPTIONS = (
    *("minimum_count", "vocabulary_size", "pieces", "piece_vocabulary_size", "word_length"),
    *("piece_dim", "piece_units", "piece_encoder", "cell", "units", "layers"),
)
EMBEDDING_OPTIONS = ("vectors", "embedding_dim")

RATES = {"dropout": 0.5, "unknown_rate": 0.05}

TRAINING_OPTIONS = (
    *("epochs", "batch_size", "learning_rate", "warmup_steps", "clipnorm", "weight_decay"),
    *("measure", "average", "seed"),
)


def train_tag(
    context: typer.Context,
    train: TaggedFile,
    valid: TaggedFile,
    out: PresetFolder,
    description: Description = "Tagger.",
    column: Column = "upos",
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Preset of a tagger, of the same or other tags, to begin with."
        ),
    ] = None,
    measure: Annotated[
        Literal["accuracy", "f1"],
        typer.Option(help="What decides: right tags, or the F1 of entities (B-type, I-type)."),
    ] = "accuracy",
    minimum_count: Annotated[
        int | None,
        typer.Option(min=1, help="Words that come less often are unknown; by default 2, or 1."),
    ] = None,
    vocabulary_size: Annotated[int | None, typer.Option(min=1, help="By default all.")] = None,
    pieces: Annotated[
        Literal["character", "bpe", "unigram", "none"], typer.Option(help="Of words.")
    ] = "character",
    piece_vocabulary_size: Annotated[
        int | None,
        typer.Option(min=262, help="Subwords; by default 1000, or all that the words give."),
    ] = None,
    word_length: Annotated[int, typer.Option(min=1, help="The most pieces of a word.")] = 20,
    vectors: Vectors = None,
    freeze_embeddings: FreezeEmbeddings = False,
    crf: Annotated[
        bool, typer.Option("--crf/--no-crf", help="Tags by a CRF, or each by itself.")
    ] = True,
    embedding_dim: EmbeddingDim = None,
    piece_dim: Size = 30,
    piece_units: Size = 50,
    piece_encoder: Literal["lstm", "convolution"] = "lstm",
    cell: Literal["lstm", "gru", "elman"] = "lstm",
    units: Annotated[int, typer.Option(min=1, help="Of each direction.")] = 200,
    layers: Size = 1,
    dropout: Annotated[
        float | None,
        typer.Option(callback=share, help="By default 0.5, or that of --start."),
    ] = None,
    unknown_rate: Annotated[
        float | None,
        typer.Option(
            callback=share,
            help="Words that are unknown in training; by default 0.05, or that of --start.",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1)] = 32,
    epochs: Size = 15,
    learning_rate: Rate = 2e-3,
    warmup_steps: WarmupSteps = 100,
    clipnorm: Clipnorm = 1.0,
    weight_decay: WeightDecay = 0.0,
    average: Momentum = 0.99,
    seed: Seed = 0,
    mixed_bfloat16: MixedBfloat16 = False,
    progress: Progress = None,
):
    """Train a tagger: a tag for each word.

    DIR becomes the preset. After each epoch the validation sentences are tagged, and the best
    weights are kept. Ctrl-C stops after the step under way; the same command goes on from there.
    """
    if start is not None:
        of_backbone = (*BACKBONE_OPTIONS, *EMBEDDING_OPTIONS)
        refuse_given(context, of_backbone, "cannot be given with --start")
        check_task("--start", start, RecurrentTagger, "a tagger")
    if start is None and vectors is None:
        refuse_given(context, ("freeze_embeddings",), "goes with --vectors or --start")
    if pieces not in SUBWORDS:
        refuse_given(context, ("piece_vocabulary_size",), "goes with --pieces bpe or unigram")
    if pieces == "none":
        of_pieces = ("piece_dim", "piece_units", "piece_encoder", "word_length")
        refuse_given(context, of_pieces, "does not go with --pieces none")

    refuse_column(context, train, valid)

    def make_training(data, options, **run):
        return TaggerTraining(_make_model(*data, options), options=options, **run)

    train_preset(
        context,
        read=lambda: [read_tagged_sentences(path, column) for path in (train, valid)],
        lines=lambda train, valid: {"train": _lines(*train), "valid": _lines(*valid)},
        make_training=make_training,
        chosen=TRAINING_OPTIONS,
        score=measure,
    )


def _make_model(words, tags, options):
    if options["start"] is not None:
        kind = {"start": options["start"]}
    else:
        kind = RATES | {name: options[name] for name in BACKBONE_OPTIONS}
        kind["num_layers"] = kind.pop("layers")
        kind |= {"vectors": word_vectors(options), **embedding_width(options)}
    kind |= {name: options[name] for name in RATES if options[name] is not None}
    return make_tagger(
        words,
        tags,
        crf=options["crf"],
        freeze_embeddings=options["freeze_embeddings"],
        dtype="mixed_bfloat16" if options["mixed_bfloat16"] else None,
        **kind,
    )


def _lines(words, tags):
    return [f"{' '.join(row)}\t{' '.join(own)}" for row, own in zip(words, tags, strict=True)]
