"""`seqzoo train translate`."""

from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.options import BleuTokenizer, Progress
from keras_seqzoo.cli.train.options import (
    Description,
    MixedBfloat16,
    Momentum,
    PresetFolder,
    Residual,
    Seed,
    Share,
    Size,
    TextFile,
    Untied,
    WarmupSteps,
    WeightDecay,
    finite,
    train_preset,
)
from keras_seqzoo.data import read_parallel
from keras_seqzoo.metrics.translation_scores import BLEU_TOKENIZER
from keras_seqzoo.training import TranslationTraining, make_translation_model

EXAMPLES = """\b
Example:
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --out en_fr
  seqzoo translate --preset en_fr "Two dogs run through the snow."
"""

TEXT_OPTIONS = ("source", "target", "valid_source", "valid_target")
# What `make_translation_model` hands on to the backbone as it is.
BACKBONE_OPTIONS = (
    "cell",
    "embedding_dim",
    "encoder_units",
    "decoder_units",
    "encoder_layers",
    "decoder_layers",
    "direction",
    "scaled_attention",
    "attend_from",
    "input_feeding",
    "context",
    "bridge",
    "residual",
    "dropout",
)
# What `TranslationTraining` takes as it is.
TRAINING_OPTIONS = (
    "epochs",
    "batch_size",
    "learning_rate",
    "warmup_steps",
    "label_smoothing",
    "weight_decay",
    "average",
    "measure",
    "bleu_tokenizer",
    "seed",
)


def train_translate(
    context: typer.Context,
    source: TextFile,
    target: TextFile,
    valid_source: TextFile,
    valid_target: TextFile,
    out: PresetFolder,
    description: Description = "Translation model.",
    measure: Annotated[
        Literal["chrf", "bleu", "loss"],
        typer.Option(help="What chooses the best epoch, on the validation pairs."),
    ] = "chrf",
    bleu_tokenizer: BleuTokenizer = BLEU_TOKENIZER,
    tokenizer: Literal["bpe", "unigram"] = "bpe",
    vocabulary_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="With 261 special tokens; by default 5000, or all that the text gives."
        ),
    ] = None,
    separate_vocabularies: Annotated[
        bool,
        typer.Option("--separate-vocabularies", help="One vocabulary for each side, not a joint."),
    ] = False,
    cell: Literal["gru", "lstm", "elman"] = "gru",
    embedding_dim: Size = 256,
    encoder_units: Annotated[int, typer.Option(min=1, help="In each direction.")] = 256,
    decoder_units: Size = 512,
    encoder_layers: Size = 1,
    decoder_layers: Size = 1,
    direction: Literal["bidirectional", "forward", "reversed"] = "bidirectional",
    attention: Literal["general", "dot", "concat", "bahdanau", "none"] = "general",
    attention_units: Annotated[int, typer.Option(min=1, help="Of the joined vector.")] = 256,
    scaled_attention: Annotated[
        bool, typer.Option(help="Divide dot and general scores by the root of the size.")
    ] = True,
    attend_from: Annotated[
        Literal["top", "bottom"], typer.Option(help="The decoder's layer that asks for attention.")
    ] = "top",
    input_feeding: Annotated[
        bool, typer.Option("--input-feeding", help="The joined vector goes into the next step.")
    ] = False,
    context_vector: Annotated[
        Literal["initial", "every_step"],
        typer.Option("--context", help="Where a decoder without attention sees the source."),
    ] = "initial",
    bridge: Annotated[
        Literal["tanh", "copy"], typer.Option(help="From the encoder's last states to the decoder.")
    ] = "tanh",
    residual: Residual = False,
    untied: Untied = False,
    dropout: Share = 0.3,
    epochs: Size = 30,
    batch_size: Size = 64,
    learning_rate: Annotated[
        float, typer.Option(callback=finite, help="Adam's, after warm-up.")
    ] = 2e-3,
    warmup_steps: WarmupSteps = 400,
    label_smoothing: Share = 0.1,
    weight_decay: WeightDecay = 0.0,
    average: Momentum = 0.999,
    max_length: Annotated[
        int, typer.Option(min=2, help="Tokens; longer training pairs are left out.")
    ] = 64,
    seed: Seed = 0,
    mixed_bfloat16: MixedBfloat16 = False,
    progress: Progress = None,
):
    """Train a translation model on parallel text.

    DIR becomes the preset. After each epoch the validation set is translated and its loss computed,
    and the weights with the best chrF (or --measure) are kept; those of the last epoch are the
    preset DIR/training/last. Ctrl-C stops after the step under way; the same command goes on from
    there. The defaults are those of the pretrained models, which have --measure bleu.
    """

    def make_training(texts, options, **run):
        model, boundaries = _make_model(*texts, options), _boundaries(max_length)
        return TranslationTraining(model, boundaries=boundaries, options=options, **run)

    train_preset(
        context,
        read=lambda: (read_parallel(source, target), read_parallel(valid_source, valid_target)),
        lines=lambda train, valid: dict(zip(TEXT_OPTIONS, (*train, *valid), strict=True)),
        make_training=make_training,
        chosen=TRAINING_OPTIONS,
        score=measure,
    )


def _make_model(source, target, options):
    attention = None if options["attention"] == "none" else options["attention"]
    return make_translation_model(
        source,
        target,
        tokenizer=options["tokenizer"],
        vocabulary_size=options["vocabulary_size"],
        separate_vocabularies=options["separate_vocabularies"],
        # Twice as long as in training: translations may be, and no training pair is cut short.
        sequence_length=max(128, 2 * options["max_length"]),
        tie_softmax=not options["untied"],
        attention=attention,
        attention_units=attention and options["attention_units"],
        dtype="mixed_bfloat16" if options["mixed_bfloat16"] else None,
        **{name: options[name] for name in BACKBONE_OPTIONS},
    )


def _boundaries(max_length):
    """Return the lengths that batches are padded to, up to the longest."""
    lengths = (8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    return (*(length for length in lengths if length < max_length), max_length)
