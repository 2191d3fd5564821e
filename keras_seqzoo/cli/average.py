"""`seqzoo average`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.train.options import Description
from keras_seqzoo.zoo import average_presets

EXAMPLES = """\b
Example:
  seqzoo train tag --train a.conll --valid b.conll --start my-tagger --seed 0 --out run-0
  seqzoo train tag --train a.conll --valid b.conll --start my-tagger --seed 1 --out run-1
  seqzoo average run-0 run-1 --out my-other-tagger
"""


def average(
    presets: Annotated[list[str], typer.Argument(metavar="NAME...", help="Presets, two or more.")],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the new preset: new or empty.")
    ],
    description: Description = "Average of presets.",
):
    """Make one preset of several: the mean of their weights.

    They are models alike in all but their weights that began with the same ones, those of the
    output layer too (so that --start is a model of the same tags), and went on by different seeds.
    """
    typer.echo(average_presets(presets, out, metadata={"description": description}))
