"""`seqzoo classify`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import count_lines, input_chunks, run_in_pieces, write_lines
from keras_seqzoo.cli.options import BatchSize, Progress, Quiet, Texts
from keras_seqzoo.cli.presets import (
    DEFAULT_CLASSIFIER,
    Preset,
    is_task,
    load_text_classifier,
)
from keras_seqzoo.cli.progress import progress_line
from keras_seqzoo.cli.server.options import server_command
from keras_seqzoo.data import read_conllu
from keras_seqzoo.models import TreeTextClassifier

EXAMPLES = """\b
Examples:
  seqzoo classify "A film to see again."
  seqzoo classify --preset my-classifier --all < reviews.txt
  seqzoo classify --preset my-trees --conllu test.conllu
  seqzoo classify --server localhost:8500 --model sentiment < reviews.txt
"""


@server_command("texts", "all_labels", "batch_size", "progress", "quiet")
def classify(
    context: typer.Context,
    preset: Preset = DEFAULT_CLASSIFIER,
    texts: Texts = None,
    all_labels: Annotated[
        bool, typer.Option("--all", help="Print every label, the most probable first.")
    ] = False,
    conllu: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Classify the sentences of this CoNLL-U file by their trees, with a model of "
            "`seqzoo train classify --encoder tree`.",
        ),
    ] = None,
    batch_size: BatchSize = 32,
    progress: Progress = None,
    quiet: Quiet = False,
    served=None,
):
    """Classify texts.

    Each text gives one line of output: its label and the probability, separated by a tab. A
    multi-label model prints all labels that apply.
    """
    if conllu is not None and texts:
        raise ValueError("TEXT cannot be used with --conllu.")
    if served is not None:
        with served:
            line = progress_line(context, "classified", count_lines(texts), "texts")
            for _, lines in served.chunks(texts):
                found = served.client.classify(lines)
                line.advance(len(lines))
                write_lines(_line(one, all_labels) for one in found)
        return
    reads_trees = is_task(preset, TreeTextClassifier)
    if reads_trees and conllu is None:
        raise ValueError(f"--conllu must be given with the model of trees {preset}.")
    if conllu is not None and not reads_trees:
        raise ValueError(f"--conllu can only be used with a model of trees, got {preset}.")
    chunks, count = input_chunks(texts), count_lines(texts)
    if conllu is not None:
        sentences = read_conllu(conllu)
        chunks, count = [(1, sentences)], len(sentences)
    model = load_text_classifier(preset)
    line = progress_line(context, "classified", count, "texts")
    for _, lines in chunks:
        found = run_in_pieces(model.classify, line, batch_size, lines)
        write_lines(_line(one, all_labels) for one in found)


def _line(found, all_labels):
    labels = found.labels
    if all_labels:
        labels = sorted(found.probabilities, key=found.probabilities.get, reverse=True)
    return "\t".join(f"{label}\t{found.probabilities[label]:.4f}" for label in labels)
