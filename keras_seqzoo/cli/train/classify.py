"""`seqzoo train classify`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.options import refuse_given
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
  seqzoo classify --preset my-classifier "A film to see again."
"""

LabelledFile = Annotated[
    list[str],
    typer.Option(
        metavar="FILE",
        help="Lines of label, tab and text, or .jsonl with label and text; may be gzipped (.gz), "
        f"or .tfrecord. {SEVERAL_FILES}",
    ),
]


@train_command(TextClassifierOptions, TextClassifierTrainingOptions, "Text classifier.")
def train_classify(
    ctx: typer.Context, train: LabelledFile, valid: LabelledFile, *, model, training
):
    """Train a text classifier.

    DIR becomes the preset. After each epoch the accuracy on the validation texts is computed, and
    the weights with the highest accuracy are kept. Ctrl-C stops after the current step; the same
    command resumes. If the label in a .jsonl file is a list, a text may have any number of labels.
    """
    if model.start is not None:
        check_task("--start", model.start, RecurrentLanguageModel, "a recurrent language model")
    elif model.encoder == "convolution":
        names = ("units", "layers", "bidirectional", "word_dropout")
        refuse_given(ctx, names, "can only be used with a recurrent --encoder.")
    else:
        names = ("filters", "widths")
        refuse_given(ctx, names, "can only be used with --encoder convolution.")
    if model.tokenizer != "word":
        names = ("minimum_count", "vectors")
        refuse_given(ctx, names, "can only be used with --tokenizer word.")
    if "k-max" not in (model.pooling or ()):
        refuse_given(ctx, ("k",), "can only be used with --pooling k-max.")
    train_labelled_preset(
        ctx,
        train=lambda: LabelledFiles(train),
        valid=lambda: LabelledFiles(valid),
        line=lambda text, label: f"{label}\t{text}",
        make_model=make_text_classifier,
        model=model,
        training_class=TextClassifierTraining,
        training=training,
    )
