"""`seqzoo generate`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import as_column, input_chunks, write_lines
from keras_seqzoo.cli.options import refuse_given
from keras_seqzoo.cli.presets import (
    LanguageModelPreset,
    load_language_model,
    no_unknown_words,
)
from keras_seqzoo.cli.search_strategy import SAMPLING_OPTIONS
from keras_seqzoo.decoding import BeamSearch, Sampling

EXAMPLES = """\b
Examples:
  seqzoo generate --preset model.arpa --samples 3 --top-p 0.9 "The film"
  seqzoo generate --preset model.arpa --beam 5 "The film"
"""


def generate(
    context: typer.Context,
    preset: LanguageModelPreset,
    prompts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Beginnings; by default lines of the input."),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Sentences for each beginning.")] = 1,
    temperature: Annotated[float, typer.Option(min=0.0, help="Below 1 for likelier words.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="Only the likeliest words.")] = None,
    top_p: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Only the likeliest words of so much in all.")
    ] = 1.0,
    min_p: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Only words so likely beside the likeliest.")
    ] = 0.0,
    seed: Annotated[int | None, typer.Option(min=0, help="For the same sentences again.")] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Not samples but the likeliest, by a beam this wide.")
    ] = None,
    max_length: Annotated[
        int, typer.Option(min=1, max=4096, help="The most tokens, those of the beginning counted.")
    ] = 64,
    paragraphs: Annotated[
        bool,
        typer.Option(
            "--paragraphs", help="Keep the ends of lines in a text, and a blank line after it."
        ),
    ] = False,
):
    """Write text by a language model.

    It goes on with the beginnings of sentences, an empty line being none, and writes no unknown
    words. One line for each sentence; several of a beginning follow each other.
    """
    if beam is not None:
        refuse_given(context, SAMPLING_OPTIONS, "does not go with --beam")
        if samples > beam:
            raise ValueError(f"--samples {samples} is above the --beam of {beam}")
    model = load_language_model(preset)
    constraints = no_unknown_words(model)
    if beam is not None:
        strategy = BeamSearch(beam, n_best=samples, constraints=constraints)
    else:
        options = (samples, temperature, top_k, top_p, min_p, seed)
        strategy = Sampling(*options, constraints=constraints)
    for _, lines in input_chunks(prompts):
        for found in model.generate(lines, strategy=strategy, max_length=max_length):
            write_lines(f"{text}\n" if paragraphs else as_column(text) for text in found)
