"""`seqzoo show` and `seqzoo average`."""

from typing import Annotated

import typer
import yaml

from keras_seqzoo.cli.lines import write_lines
from keras_seqzoo.cli.presets import NAME_HELP
from keras_seqzoo.cli.train.options import Description
from keras_seqzoo.cli.train.provenance import command_line, package_versions
from keras_seqzoo.preset_folders import preset_path, read_metadata
from keras_seqzoo.zoo import average_presets

SHOW_EXAMPLES = """\b
Example:
  seqzoo show bilstm_imdb_sentiment
"""

AVERAGE_EXAMPLES = """\b
Example:
  seqzoo train tag --train a.conll --valid b.conll --start my-tagger --seed 0 --out run-0
  seqzoo train tag --train a.conll --valid b.conll --start my-tagger --seed 1 --out run-1
  seqzoo average run-0 run-1 --out my-other-tagger
"""


def show(preset: Annotated[str, typer.Argument(metavar="NAME", help=f"{NAME_HELP}.")]):
    """Show what a preset is and how it was made.

    Its metadata is printed as YAML. For a model of `seqzoo train`, it includes the command, the
    options, the checksums of the texts and the versions of packages.
    """
    metadata = read_metadata(preset_path(preset))
    text = yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True, width=10**6)
    write_lines(text.splitlines())


def average(
    context: typer.Context,
    presets: Annotated[list[str], typer.Argument(metavar="NAME", help="Two or more presets.")],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the new preset; must be new or empty.")
    ],
    description: Description = "Average of presets.",
):
    """Average the weights of several presets.

    The presets must be the same model, trained from the same initial weights with different seeds.
    Their dropout rates may differ: the average has those of the first.

    For `seqzoo train tag`, --start must be a tagger with the same tags, so that the output layers
    begin with the same weights too. `seqzoo train classify` cannot start from a classifier.

    `seqzoo show` prints the command, and how each of the presets was trained.
    """
    trained = {name: read_metadata(preset_path(name)).get("training") for name in presets}
    training = {
        "command": command_line(context),
        "packages": package_versions(),
        "task": "average",
        "presets": trained,
    }
    metadata = {"description": description, "training": training}
    typer.echo(average_presets(presets, out, metadata=metadata))
