"""`seqzoo classify`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import input_chunks, write_lines
from keras_seqzoo.cli.options import BatchSize, Preset
from keras_seqzoo.cli.presets import load_task
from keras_seqzoo.models.classifier.base import TextClassification

EXAMPLES = """\b
Examples:
  seqzoo classify --preset my-classifier "A film to see again."
  seqzoo classify --preset my-classifier --all < reviews.txt
"""


def load_text_classifier(preset):
    """Load the text classifier of a preset; raises `ValueError` if it holds none."""
    return load_task(preset, TextClassification, "a text classifier")


def classify(
    preset: Preset,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="By default lines of the input.")
    ] = None,
    all_labels: Annotated[
        bool, typer.Option("--all", help="Write every label, the most probable first.")
    ] = False,
    batch_size: BatchSize = 32,
):
    """Label texts.

    One line for each: the label and its probability, with a tab between; where a text may have any
    number of labels, all those that it has. With --all the same of every label.
    """
    model = load_text_classifier(preset)
    for _, lines in input_chunks(texts):
        write_lines(_line(found, all_labels) for found in model.classify(lines, batch_size))


def _line(found, all_labels):
    labels = found.labels
    if all_labels:
        labels = sorted(found.probabilities, key=found.probabilities.get, reverse=True)
    return "\t".join(f"{label}\t{found.probabilities[label]:.4f}" for label in labels)
