"""`seqzoo train vectors`."""

import shutil
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Literal

import keras
import tensorflow as tf
import typer

from keras_seqzoo.callbacks import Checkpoints, StopOnInterrupt
from keras_seqzoo.cli.lines import training_texts
from keras_seqzoo.cli.options import (
    Normalization,
    Progress,
    Quiet,
    count_option,
    number_option,
    refuse_given,
)
from keras_seqzoo.cli.progress import phase
from keras_seqzoo.cli.progress.training import EpochProgress
from keras_seqzoo.cli.train.options import Description, Seed, TrainText
from keras_seqzoo.cli.train.preset import make_report
from keras_seqzoo.cli.train.vector_models import (
    ALL_ARCHITECTURES,
    complete_options,
    make_vector_model,
)
from keras_seqzoo.data.file_lock import FileLock
from keras_seqzoo.data.output_files import check_folder, check_new_file, new_folder
from keras_seqzoo.data.training_files import text_digests
from keras_seqzoo.models.word_vectors import Collocations, RowAdagrad, linear_decay
from keras_seqzoo.models.word_vectors.vector_files import FORMATS
from keras_seqzoo.models.word_vectors.word2vec import OBJECTIVES
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.training_texts import mapped_texts

PRESET = "preset"

# Options that do not change the vectors.
FREE_PARAMETERS = ("out", "description", "checkpoint_minutes", "progress", "quiet")

EXAMPLES = """\b
Examples:
  seqzoo train vectors --out vectors.txt --normalization lowercase --split-punctuation < some.txt
  seqzoo similar --vectors vectors.txt film actor
  seqzoo train vectors --architecture glove --x-max 10 --out vectors.txt < some.txt
  seqzoo train vectors --subwords --format preset --out with-subwords < some.txt
  seqzoo train vectors --format preset --out my-vectors --normalization lowercase < some.txt
  seqzoo train tag --vectors my-vectors --train train.conllu --valid dev.conllu --out my-tagger
"""


def train_vectors(
    context: typer.Context,
    out: Annotated[
        str, typer.Option(metavar="FILE", help="New file of the vectors, or folder of the preset.")
    ],
    train: TrainText = None,
    format: Annotated[
        Literal[*FORMATS, PRESET],
        typer.Option(help="Format of the file. A preset also has the tokenizer, for other models."),
    ] = "word2vec",
    normalization: Normalization = None,
    split_punctuation: Annotated[
        bool, typer.Option("--split-punctuation", help="Punctuation marks are words.")
    ] = False,
    collocation_passes: Annotated[
        int, count_option("Passes that join collocations, such as New_York.", min=0, max=5)
    ] = 0,
    minimum_count: Annotated[
        int | None,
        count_option("Rarer words get no vector; by default 5, or 1 if no word is so frequent."),
    ] = None,
    vocabulary_size: Annotated[int | None, count_option("Largest number of words.", min=2)] = None,
    embedding_dim: Annotated[int, count_option("Size of the vectors.")] = 100,
    architecture: Annotated[
        Literal[ALL_ARCHITECTURES],
        typer.Option(help="What is predicted from what; glove: counts of words near each other."),
    ] = "skip-gram",
    objective: Annotated[
        Literal[OBJECTIVES], typer.Option(help="Training objective.")
    ] = "negative-sampling",
    window: Annotated[
        int | None,
        count_option(
            "Largest number of context words on each side; by default 5, for glove 10.",
            show_default=False,
        ),
    ] = None,
    negatives: Annotated[int, count_option("Number of noise words per pair.")] = 5,
    subsample: Annotated[
        float, number_option("Subsample words above this relative frequency.", min=0.0)
    ] = 1e-3,
    subwords: Annotated[
        bool,
        typer.Option(
            "--subwords",
            help="A word is the sum of its character n-grams and its own vector (fastText). With "
            "--format preset, unknown words have vectors too.",
        ),
    ] = False,
    minimum_ngram: Annotated[int, count_option("Fewest characters in an n-gram.")] = 3,
    maximum_ngram: Annotated[int, count_option("Most characters in an n-gram.")] = 6,
    buckets: Annotated[int, count_option("Number of vectors for all n-grams.")] = 200_000,
    x_max: Annotated[
        float, number_option("Pairs of words with at least this count have full weight.", min=1e-6)
    ] = 100.0,
    epochs: Annotated[
        int | None,
        count_option("Number of epochs; by default 5, for glove 25.", show_default=False),
    ] = None,
    learning_rate: Annotated[
        float | None,
        number_option(
            "Initial learning rate; it falls to 0. By default 0.25, with --subwords 0.05, for "
            "glove 0.1.",
            min=1e-6,
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    checkpoint_minutes: Annotated[
        float, number_option("Minutes between two checkpoints within an epoch.", min=0.001)
    ] = 5.0,
    description: Description = "Word vectors.",
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Learn word vectors from text (word2vec, GloVe, fastText).

    Words are separated by white space; windows do not cross lines. Checkpoints are saved in
    OUT.training during training: after Ctrl-C or a crash, the same command resumes from there.
    """
    if format != PRESET:
        refuse_given(context, ("description",), "can only be used with --format preset.")
    elif collocation_passes:
        raise ValueError(
            "--collocation-passes cannot be used with --format preset: its tokenizer joins none."
        )
    complete_options(context)
    splitting = {
        "normalization": list(map(str, normalization or [])),
        "split_punctuation": split_punctuation,
    }
    preset = format == PRESET
    with new_folder(out, "out") if preset else nullcontext(check_new_file(out, "out")) as place:
        texts = training_texts(train)
        [digest] = text_digests(((line,) for line in texts), columns=1)
        with _checkpoints(context, digest) as checkpoints:
            lines = texts
            if any(splitting.values()):
                lines = mapped_texts(_make_splitter(splitting), lines)
            if collocation_passes:
                limits = {} if minimum_count is None else {"minimum_count": minimum_count}
                with phase(context, "joining collocations"):
                    found = Collocations.learn(lines, passes=collocation_passes, **limits)
                lines = found.mapped(lines)
            keras.utils.set_random_seed(seed)
            with phase(context, "counting words"):
                model, text = make_vector_model(context, lines)
            report = make_report(context)
            number, _, _ = digest.partition(",")
            report(f"{number}, {model.counts.sum()} words of {len(model.words)} kinds")
            _train(context, model, text, checkpoints, report)
            vectors = model.vectors()
            if preset:
                tokenizer = WordTokenizer(vectors.words, **splitting)
                vectors.save_to_preset(place, tokenizer, {"description": description})
            else:
                vectors.save(place, format)


@contextmanager
def _checkpoints(context, digest):
    """Yield the `Checkpoints` of a run; they are removed at its end.

    Their folder is next to the output. It stays if the run is stopped after a checkpoint.
    """
    folder = Path(f"{Path(context.params['out'])}.training")
    check_folder(folder, "out")
    options = {name: value for name, value in context.params.items() if name not in FREE_PARAMETERS}
    options["texts"] = digest
    checkpoints = None
    finished = False
    try:
        with FileLock(folder / "run.lock", "another run trains here"):
            minutes = context.params["checkpoint_minutes"]
            checkpoints = Checkpoints(folder / "checkpoints", minutes, options=options)
            yield checkpoints
            finished = True
    finally:
        if finished or (checkpoints is not None and not checkpoints.saved):
            shutil.rmtree(folder)


def _train(context, model, text, checkpoints, report):
    """Train a model on what `make_vector_model` returns with it, from the last checkpoint on."""
    params = context.params
    epochs = params["epochs"]
    steps = epochs * model.batches(text).cardinality().numpy()
    model.compile(RowAdagrad(linear_decay(params["learning_rate"], steps)))
    checkpoints.restore(model)
    if checkpoints.saved:
        report(f"resumed at epoch {checkpoints.epoch + 1} after step {checkpoints.step}")
    bar = EpochProgress(
        lambda: (checkpoints.epoch, checkpoints.step),
        epochs,
        model.counts.sum(),
        False if params["quiet"] else params["progress"],
        "words",
    )
    with StopOnInterrupt() as stop:
        for epoch in range(checkpoints.epoch, epochs):
            history = model.fit(
                checkpoints.rest(model.batches(text, seed=(params["seed"], epoch))),
                initial_epoch=epoch,
                epochs=epoch + 1,
                callbacks=[bar, stop, checkpoints],
                shuffle=False,
                verbose=0,
            ).history
            if stop.interrupted and checkpoints.epoch < epochs:
                report(
                    f"stopped in epoch {checkpoints.epoch + 1} after step {checkpoints.step}; the "
                    "same command resumes from there"
                )
                raise typer.Abort
            report(f"epoch {epoch + 1}  loss {history['loss'][0]:.4g}")


def _make_splitter(splitting):
    """Return a function that normalizes texts and puts single spaces between their words."""
    tokenizer = WordTokenizer(**splitting)

    def split(texts):
        words = tokenizer.cut(tokenizer.normalize(tf.constant(texts, tf.string)))
        joined = tf.strings.reduce_join(words, axis=-1, separator=" ")
        return [line.decode() for line in joined.numpy().tolist()]

    return split
