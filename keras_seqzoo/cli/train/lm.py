"""`seqzoo train lm`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.options import refuse_given
from keras_seqzoo.cli.presets import check_task, load_recurrent_language_model
from keras_seqzoo.cli.train.options import (
    TextFile,
    option_names,
    record_as_of_start,
    train_command,
)
from keras_seqzoo.cli.train.preset import train_preset
from keras_seqzoo.data import TextFiles
from keras_seqzoo.data.training_files import text_digests
from keras_seqzoo.models import RecurrentLanguageModel
from keras_seqzoo.training import (
    LanguageModelOptions,
    LanguageModelTraining,
    LanguageModelTrainingOptions,
    make_language_model,
)

EXAMPLES = """\b
Example:
  seqzoo train lm --train train.txt --valid valid.txt --units 200 --layers 2 --out my-lm
  seqzoo score --preset my-lm < test.txt
  seqzoo generate --preset my-lm --samples 3 "The film"
"""


@train_command(LanguageModelOptions, LanguageModelTrainingOptions, "Language model.")
def train_lm(
    ctx: typer.Context,
    train: TextFile,
    valid: TextFile,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Preset of a language model to train further; it excludes the options of a new "
            "model.",
        ),
    ] = None,
    paragraphs: Annotated[
        bool,
        typer.Option(
            "--paragraphs",
            help="A text is a paragraph that ends at a blank line, not a line.",
            rich_help_panel="Vocabulary",
        ),
    ] = False,
    *,
    model,
    training,
):
    """Train a recurrent language model on text.

    DIR becomes the preset. After each epoch, the perplexity of the validation text is computed, and
    the weights with the lowest perplexity are kept. Ctrl-C stops after the current step; the same
    command resumes. The text is split into --batch-size streams; each batch continues them by
    --length tokens. With --sentences, a batch is --batch-size sentences.
    """
    if start is not None:
        check_task("--start", start, RecurrentLanguageModel, "a recurrent language model")
        decided = option_names(LanguageModelOptions)
        refuse_given(ctx, decided, "cannot be used with --start.")
        record_as_of_start(ctx, decided)
    if model.softmax != "full":
        refuse_given(ctx, ("untied",), "can only be used with --softmax full.")
    if training.schedule != "plateau":
        refuse_given(ctx, ("decay",), "can only be used with --schedule plateau.")

    def make_model(texts):
        if start is not None:
            return load_recurrent_language_model(start, dtype=model.dtype)
        return make_language_model(texts, **model.to_dict())

    train_preset(
        ctx,
        read=lambda: (
            TextFiles(train, paragraphs),
            list(TextFiles(valid, paragraphs)),
        ),
        digests=_digests,
        make_model=make_model,
        training_class=LanguageModelTraining,
        training=training,
    )


def _digests(train, valid):
    names = {"train": train, "valid": valid}
    return {
        name: text_digests(((text,) for text in texts), columns=1)[0]
        for name, texts in names.items()
    }
