"""`seqzoo train ngram`."""

import io
import sys
from typing import Annotated, Literal

import typer

from keras_seqzoo.cli.lines import training_texts
from keras_seqzoo.cli.options import Progress, Quiet, count_option, refuse_given
from keras_seqzoo.cli.progress import phase
from keras_seqzoo.cli.train.options import TrainText
from keras_seqzoo.cli.train.preset import make_report
from keras_seqzoo.counting.files import ngram_word_counts
from keras_seqzoo.data import TextFiles
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.models.language_model.ngram import (
    AbsoluteDiscounting,
    FixedInterpolation,
    KneserNey,
    LaplaceSmoothing,
    MaximumLikelihood,
    NGramLanguageModel,
    WittenBell,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS

EXAMPLES = """\b
Examples:
  seqzoo train ngram --order 5 < some.txt > model.arpa
  seqzoo train ngram --train large.txt.gz --memory 2048 --out model.arpa.gz
  seqzoo score --preset model.arpa < other.txt
  seqzoo generate --preset model.arpa --samples 3 "The film"
"""

DELETED = "deleted-interpolation"
ESTIMATORS = {
    "kneser-ney": KneserNey(),
    "kneser-ney-backoff": KneserNey(interpolates=False),
    "absolute": AbsoluteDiscounting(),
    "witten-bell": WittenBell(),
    "interpolation": FixedInterpolation(),
    "laplace": LaplaceSmoothing(),
    "maximum-likelihood": MaximumLikelihood(),
}


def train_ngram(
    context: typer.Context,
    train: TrainText = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="New ARPA file (.arpa or .arpa.gz); by default standard output."
        ),
    ] = None,
    order: Annotated[int, count_option("Length of the longest n-grams.", max=16)] = 5,
    estimator: Annotated[
        Literal[(*ESTIMATORS, DELETED)],
        typer.Option(
            help="Estimator of probabilities; kneser-ney is modified Kneser-Ney, and "
            f"{DELETED} learns the weights of interpolation on the text itself."
        ),
    ] = "kneser-ney",
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Other text, from which the weights of --estimator interpolation are learned.",
        ),
    ] = None,
    minimum_count: Annotated[
        int,
        count_option("Rarer words are counted as unknown words."),
    ] = 1,
    vocabulary_size: Annotated[
        int | None,
        count_option("Number of known words, the most frequent ones; by default all."),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Counts of n-grams by seqzoo count, instead of text."),
    ] = None,
    memory: Annotated[
        int | None,
        count_option(
            "Count n-grams within N MiB, with temporary files, if the text does not fit in memory; "
            "by default they are counted in memory."
        ),
    ] = None,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Estimate an n-gram language model from text.

    The model is written as an ARPA file. Words are separated by white space.
    """
    if out is not None:
        check_new_file(out, "out")
    size = None if vocabulary_size is None else vocabulary_size + len(SPECIAL_TOKENS)
    if held_out is not None and estimator != "interpolation":
        raise ValueError(
            f"--held-out can only be used with --estimator interpolation, got {estimator}."
        )
    learned = held_out is not None or estimator == DELETED
    if learned:
        reason = "cannot be used with learned weights, which are counted in memory."
        refuse_given(context, ("counts", "memory"), reason)
    smoothing = ESTIMATORS.get(estimator)
    if counts is not None:
        refuse_given(context, ("train",), "cannot be used with --counts.")
        with phase(context, "reading counts"):
            words, longest = ngram_word_counts(counts)
            if context.get_parameter_source("order").name == "DEFAULT":
                order = min(order, longest)
            tokenizer = WordTokenizer.from_counts(words, size, minimum_count)
            limit = {} if memory is None else {"memory": memory}
            model = NGramLanguageModel.from_counts(counts, order, smoothing, tokenizer, **limit)
        read = counts
    else:
        lines = training_texts(train)
        with phase(context, "counting words"):
            tokenizer = WordTokenizer.train(lines, size, minimum_count)
        with phase(context, "counting n-grams"):
            if learned:
                held_out_lines = None if held_out is None else TextFiles(held_out)
                model = NGramLanguageModel.train_interpolated(
                    lines, held_out_lines, order, tokenizer
                )
            else:
                model = NGramLanguageModel.train(lines, order, smoothing, tokenizer, memory)
        read = f"{sum(1 for _ in lines)} lines"
    with phase(context, "writing"):
        _write(model, out)
    sizes = [f"{count} {n}-grams" for n, count in enumerate(model.lookup.sizes[1:], 2)]
    words = f"{len(tokenizer.words)} words"
    make_report(context)(", ".join([f"{read}: {words}", *sizes]))


def _write(model, out):
    if out is not None:
        model.save_arpa(out)
        return
    output = io.TextIOWrapper(sys.stdout.buffer, "utf-8", newline="\n")
    try:
        model.write_arpa(output)
    finally:
        output.detach()
