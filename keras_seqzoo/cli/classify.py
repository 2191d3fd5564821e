"""`seqzoo classify`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import input_chunks, write_lines
from keras_seqzoo.cli.options import BatchSize, Texts
from keras_seqzoo.cli.presets import OptionalPreset, load_text_classifier
from keras_seqzoo.cli.server.options import server_command

EXAMPLES = """\b
Examples:
  seqzoo classify --preset bilstm_imdb_sentiment "A film to see again."
  seqzoo classify --preset bilstm_imdb_sentiment --all < reviews.txt
  seqzoo classify --server localhost:8500 --model sentiment < reviews.txt
"""


@server_command("texts", "all_labels", "batch_size")
def classify(
    context: typer.Context,
    preset: OptionalPreset = None,
    texts: Texts = None,
    all_labels: Annotated[
        bool, typer.Option("--all", help="Print every label, the most probable first.")
    ] = False,
    batch_size: BatchSize = 32,
    served=None,
):
    """Classify texts.

    Each text gives one line of output: its label and the probability, separated by a tab. A model
    of texts with any number of labels prints all that apply.
    """
    if served is not None:
        with served:
            for _, lines in served.chunks(texts):
                write_lines(_line(found, all_labels) for found in served.client.classify(lines))
        return
    model = load_text_classifier(preset)
    for _, lines in input_chunks(texts):
        write_lines(_line(found, all_labels) for found in model.classify(lines, batch_size))


def _line(found, all_labels):
    labels = found.labels
    if all_labels:
        labels = sorted(found.probabilities, key=found.probabilities.get, reverse=True)
    return "\t".join(f"{label}\t{found.probabilities[label]:.4f}" for label in labels)
