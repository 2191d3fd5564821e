"""`seqzoo train translate`."""

import dataclasses
from typing import Annotated

import typer

from keras_seqzoo.cli.options import count_option, refuse_given
from keras_seqzoo.cli.presets import check_task, load_translation_model
from keras_seqzoo.cli.train.options import (
    SEVERAL_FILES,
    TextFile,
    option_names,
    train_command,
)
from keras_seqzoo.cli.train.preset import held_in_memory, train_preset
from keras_seqzoo.data import ParallelFiles
from keras_seqzoo.data.pharaoh import format_links
from keras_seqzoo.data.training_files import text_digests
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import (
    TranslationModelOptions,
    TranslationTraining,
    TranslationTrainingOptions,
    make_translation_model,
)
from keras_seqzoo.training.objectives import FROM_START

EXAMPLES = """\b
Examples:
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --out en_fr
  seqzoo train translate --source news.en --target news.fr \\
    --valid-source val.en --valid-target val.fr --start en_fr --out en_fr_news
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --start en_fr --objective minimum-risk \\
    --learning-rate 0.0001 --epochs 2 --out en_fr_risk
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --objective supervised-attention \\
    --alignments train.align --out en_fr_aligned
  seqzoo train translate --source train.en --target train.fr --tokenizer word \\
    --valid-source val.en --valid-target val.fr --out en_fr_words
  seqzoo translate --preset en_fr "Two dogs run through the snow."
"""

TEXT_OPTIONS = ("source", "target", "valid_source", "valid_target")


@train_command(TranslationModelOptions, TranslationTrainingOptions, "Translation model.")
def train_translate(
    ctx: typer.Context,
    source: TextFile,
    target: TextFile,
    valid_source: TextFile,
    valid_target: TextFile,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Preset of a translation model to train further, with its tokenizers; options of "
            "a new model cannot be used with it.",
        ),
    ] = None,
    alignments: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="With supervised-attention: word alignments of the training pairs, one a line, "
            f"as seqzoo align writes them (0-0 2-1). {SEVERAL_FILES}",
            rich_help_panel="Training",
        ),
    ] = None,
    max_length: Annotated[
        int,
        count_option(
            "Largest number of tokens; longer training pairs are left out.",
            min=2,
            rich_help_panel="Training",
        ),
    ] = 64,
    *,
    model,
    training,
):
    """Train a translation model on parallel text.

    DIR becomes the preset. After each epoch the validation set is translated and its loss is
    computed, and the weights with the best chrF (or --measure) are kept. The weights of the last
    epoch are the preset DIR/training/last. Ctrl-C stops after the current step; the same command
    resumes. The pretrained models have the same defaults, but --measure bleu.
    """
    if start is not None:
        check_task("--start", start, RecurrentSeq2SeqLM, "a translation model")
        refuse_given(ctx, option_names(TranslationModelOptions), "cannot be used with --start.")

    elif training.objective in FROM_START:
        raise ValueError(
            f"--objective {training.objective} must be given with --start, a trained model."
        )
    supervised = training.objective == "supervised-attention"
    if supervised and not alignments:
        raise ValueError("--objective supervised-attention must be given with --alignments.")
    if alignments and not supervised:
        raise ValueError(
            "--alignments must be given with --objective supervised-attention, got "
            f"{training.objective}."
        )

    def make_model(train):
        if start is not None:
            return load_translation_model(start, dtype=model.dtype)
        return _make_model(train.source, train.target, model, max_length)

    train_preset(
        ctx,
        read=lambda: (
            ParallelFiles(source, target, alignments or None),
            held_in_memory(ParallelFiles(valid_source, valid_target)),
        ),
        digests=_digests,
        make_model=make_model,
        training_class=TranslationTraining,
        training=dataclasses.replace(training, boundaries=_boundaries(max_length)),
    )


def _digests(train, valid):
    aligned = train.alignments is not None
    rows = ((*texts, format_links(links)) for *texts, links in train) if aligned else train
    names = (*TEXT_OPTIONS[:2], "alignments")[: 2 + aligned]
    return dict(
        zip(
            (*names, *TEXT_OPTIONS[2:]),
            (
                *text_digests(rows, columns=len(names)),
                *text_digests(zip(*valid, strict=True), columns=2),
            ),
            strict=True,
        )
    )


def _make_model(source, target, options, max_length):
    options = dataclasses.replace(
        options,
        attention_units=options.attention and options.attention_units,
        # Twice as long as in training: translations may be, and no training pair is cut.
        sequence_length=max(128, 2 * max_length),
    )
    return make_translation_model(source, target, **options.to_dict())


def _boundaries(max_length):
    """Return the lengths that batches are padded to, up to the longest."""
    lengths = (8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    return (*(length for length in lengths if length < max_length), max_length)
