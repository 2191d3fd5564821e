"""`seqzoo classify`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import count_lines, input_chunks, run_in_pieces, write_lines
from keras_seqzoo.cli.options import BatchSize, Progress, Quiet, Texts
from keras_seqzoo.cli.presets import DEFAULT_CLASSIFIER, Preset, load_text_classifier
from keras_seqzoo.cli.progress import progress_line
from keras_seqzoo.cli.server.options import server_command

EXAMPLES = """\b
Examples:
  seqzoo classify "A film to see again."
  seqzoo classify --preset my-classifier --all < reviews.txt
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
    batch_size: BatchSize = 32,
    progress: Progress = None,
    quiet: Quiet = False,
    served=None,
):
    """Classify texts.

    Each text gives one line of output: its label and the probability, separated by a tab. A model
    of texts with any number of labels prints all that apply.
    """
    if served is not None:
        with served:
            line = progress_line(context, "classified", count_lines(texts), "texts")
            for _, lines in served.chunks(texts):
                found = served.client.classify(lines)
                line.advance(len(lines))
                write_lines(_line(one, all_labels) for one in found)
        return
    model = load_text_classifier(preset)
    line = progress_line(context, "classified", count_lines(texts), "texts")
    for _, lines in input_chunks(texts):
        found = run_in_pieces(model.classify, line, batch_size, lines)
        write_lines(_line(one, all_labels) for one in found)


def _line(found, all_labels):
    labels = found.labels
    if all_labels:
        labels = sorted(found.probabilities, key=found.probabilities.get, reverse=True)
    return "\t".join(f"{label}\t{found.probabilities[label]:.4f}" for label in labels)
