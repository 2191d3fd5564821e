"""`seqzoo train classify`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.presets import check_task
from keras_seqzoo.cli.train.options import SEVERAL_FILES, train_command
from keras_seqzoo.cli.train.preset import train_labelled_preset
from keras_seqzoo.data import LabelledFiles
from keras_seqzoo.models import RecurrentLanguageModel
from keras_seqzoo.training import (
    TextClassifierOptions,
    TextClassifierTraining,
    TextClassifierTrainingOptions,
    make_text_classifier,
)

EXAMPLES = """\b
Examples:
  seqzoo train classify --train train.tsv --valid valid.tsv --out my-classifier
  seqzoo train classify --train train.jsonl --valid valid.jsonl --start my-lm --out my-classifier
  seqzoo train classify --encoder tree --train train.conllu --valid dev.conllu --out my-trees
  seqzoo classify --preset my-classifier "A film to see again."
"""

LabelledFile = Annotated[
    list[str],
    typer.Option(
        metavar="FILE",
        help="Lines with label, tab and text; or .csv or .jsonl with label and text; or .conllu "
        f"with comments `# label = …`; may be gzipped (.gz), or .tfrecord. {SEVERAL_FILES}",
    ),
]


@train_command(TextClassifierOptions, TextClassifierTrainingOptions, "Text classifier.")
def train_classify(
    ctx: typer.Context, train: LabelledFile, valid: LabelledFile, *, model, training
):
    """Train a text classifier.

    DIR becomes the preset. After each epoch, the accuracy on the validation texts is computed, and
    the weights with the highest accuracy are kept; if it is the same, those with the lowest loss.
    Ctrl-C stops after the current step; the same command resumes. If the label in a .jsonl file is
    a list, a text may have any number of labels.
    With --encoder tree the files are .conllu, and each word has a head.
    """
    if model.start is not None:
        check_task("--start", model.start, RecurrentLanguageModel, "a recurrent language model")
    parses = model.encoder == "tree"
    train_labelled_preset(
        ctx,
        train=lambda: LabelledFiles(train, parses),
        valid=lambda: LabelledFiles(valid, parses),
        line=lambda text, label: f"{label}\t{text}",
        make_model=make_text_classifier,
        model=model,
        training_class=TextClassifierTraining,
        training=training,
    )
