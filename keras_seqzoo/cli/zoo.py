"""`seqzoo list` and `seqzoo average`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.train.options import Description
from keras_seqzoo.zoo import average_presets, list_presets

AVERAGE_EXAMPLES = """\b
Example:
  seqzoo train tag --train a.conll --valid b.conll --start my-tagger --seed 0 --out run-0
  seqzoo train tag --train a.conll --valid b.conll --start my-tagger --seed 1 --out run-1
  seqzoo average run-0 run-1 --out my-other-tagger
"""


def list_names():
    """List the pretrained presets.

    Each line has the name, which other commands take as --preset, and a description.
    """
    presets = list_presets()
    width = max(map(len, presets), default=0)
    for name, metadata in presets.items():
        typer.echo(f"{name:{width}}  {metadata['description']}".rstrip())
    if not presets:
        typer.echo("no presets are installed", err=True)


def average(
    presets: Annotated[list[str], typer.Argument(metavar="NAME", help="Two or more presets.")],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the new preset; must be new or empty.")
    ],
    description: Description = "Average of presets.",
):
    """Average the weights of several presets.

    The presets must be the same model, trained from the same initial weights with different seeds.
    For `seqzoo train tag` and `seqzoo train classify`, --start must be a model with the same tags
    or labels, so that the output layers begin with the same weights too.
    """
    typer.echo(average_presets(presets, out, metadata={"description": description}))
