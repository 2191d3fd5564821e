"""`seqzoo train tag`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.options import Column, refuse_column
from keras_seqzoo.cli.presets import check_task
from keras_seqzoo.cli.train.options import SEVERAL_FILES, train_command
from keras_seqzoo.cli.train.preset import train_labelled_preset
from keras_seqzoo.data import TaggedFiles
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.training import (
    TaggerOptions,
    TaggerTraining,
    TaggerTrainingOptions,
    make_tagger,
)

EXAMPLES = """\b
Examples:
  seqzoo train tag --train train.conllu --valid dev.conllu --out my-tagger
  seqzoo train tag --train train.conll --valid dev.conll --measure f1 --out my-entities
  seqzoo train tag --train train.conll --valid dev.conll --start my-tagger --out my-other-tagger
  seqzoo tag --preset my-tagger "Two dogs run."
"""

TaggedFile = Annotated[
    list[str],
    typer.Option(
        metavar="FILE",
        help="CoNLL-U (.conllu), or words in the first column and tags in the last; may be gzipped "
        f"(.gz). {SEVERAL_FILES}",
    ),
]


@train_command(TaggerOptions, TaggerTrainingOptions, "Tagger.")
def train_tag(
    ctx: typer.Context,
    train: TaggedFile,
    valid: TaggedFile,
    column: Column = "upos",
    *,
    model,
    training,
):
    """Train a tagger: a tag for each word.

    DIR becomes the preset. After each epoch, the tagger is evaluated on the validation sentences,
    and the best weights are kept. Ctrl-C stops after the current step; the same command resumes.
    """
    if model.start is not None:
        check_task("--start", model.start, RecurrentTagger, "a tagger")
    refuse_column(ctx, *train, *valid)
    train_labelled_preset(
        ctx,
        train=lambda: TaggedFiles(train, column),
        valid=lambda: TaggedFiles(valid, column),
        line=lambda words, tags: f"{' '.join(words)}\t{' '.join(tags)}",
        make_model=make_tagger,
        model=model,
        training_class=TaggerTraining,
        training=training,
    )
