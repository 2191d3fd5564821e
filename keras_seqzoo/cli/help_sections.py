"""Help with sections."""

from keras_seqzoo.cli.commands import Command

OUTPUT = "Output"
BEAM = "Beam search"
SAMPLES = "Sampling"
LIMITS = "Limits of a translation"


class SectionedCommand(Command):
    """A command whose help has a section for each `rich_help_panel` of its options.

    Typer has sections in its coloured help alone.
    """

    def format_options(self, ctx, formatter):
        """Write the sections in the order in which the first option of each was declared."""
        sections = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                title = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
