"""`seqzoo generate`."""

from typing import Annotated

import typer

from keras_seqzoo.cli.lines import as_column, input_chunks, write_lines
from keras_seqzoo.cli.options import Texts, count_option, refuse_given
from keras_seqzoo.cli.presets import (
    DEFAULT_LANGUAGE_MODEL,
    LanguageModelPreset,
    load_language_model,
)
from keras_seqzoo.cli.search import (
    SAMPLING_OPTIONS,
    MinP,
    Seed,
    Temperature,
    TopK,
    TopP,
    make_sampling,
)
from keras_seqzoo.cli.server.options import server_command
from keras_seqzoo.decoding import BeamSearch, ForbiddenTokens

EXAMPLES = """\b
Examples:
  seqzoo generate --samples 3 --top-p 0.9 "The film"
  seqzoo generate --preset model.arpa --beam 5 "The film"
  seqzoo generate --server localhost:8500 --model lm "The film"
"""


@server_command("texts", "paragraphs")
def generate(
    context: typer.Context,
    preset: LanguageModelPreset = DEFAULT_LANGUAGE_MODEL,
    texts: Texts = None,
    samples: Annotated[int, count_option("Number of continuations of each text.")] = 1,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    min_p: MinP = None,
    seed: Seed = None,
    beam: Annotated[
        int | None,
        count_option("Find the most probable texts with a beam of N, instead of sampling."),
    ] = None,
    max_length: Annotated[
        int, count_option("Maximum number of tokens, including the given text.", max=4096)
    ] = 64,
    paragraphs: Annotated[
        bool,
        typer.Option(
            "--paragraphs", help="Keep line breaks, and print a blank line after each text."
        ),
    ] = False,
    served=None,
):
    """Generate text with a language model.

    Each text is printed on one line with its continuation; an empty text begins a new one. Unknown
    words are never generated.
    """
    if served is not None:
        with served:
            for _, lines in served.chunks(texts):
                _write(served.client.generate(lines), paragraphs)
        return
    if beam is not None:
        refuse_given(context, SAMPLING_OPTIONS, "cannot be used with --beam.")
        if samples > beam:
            raise ValueError(f"--samples must be at most --beam ({beam}), got {samples}.")
    model = load_language_model(preset)
    constraints = [ForbiddenTokens([model.tokenizer.unk_token_id])]
    if beam is None:
        strategy = make_sampling(context.params, constraints=constraints)
    else:
        strategy = BeamSearch(beam, n_best=samples, constraints=constraints)
    for _, lines in input_chunks(texts):
        _write(model.generate(lines, strategy=strategy, max_length=max_length), paragraphs)


def _write(generated, paragraphs):
    for found in generated:
        write_lines(f"{text}\n" if paragraphs else as_column(text) for text in found)
