"""`seqzoo list`."""

import typer

from keras_seqzoo.preset_folders import list_presets


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
