"""`seqzoo export`."""

import re
from typing import Annotated, Literal

import typer

from keras_seqzoo.cli import search
from keras_seqzoo.cli.options import Progress, Quiet, count_option, flag, refuse_given
from keras_seqzoo.cli.presets import (
    ARPA_ENDINGS,
    Presets,
    check_attention,
    is_language_model,
    is_task,
    is_word_vectors,
    load_language_model,
    load_tagger,
    load_text_classifier,
    load_translation_models,
)
from keras_seqzoo.cli.progress import phase
from keras_seqzoo.decoding import ForbiddenTokens
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.models.word_vectors import WordVectors
from keras_seqzoo.preset_folders import preset_path
from keras_seqzoo.serving import export as export_model
from keras_seqzoo.serving.saved_model import check_directory

EXAMPLES = """\b
Examples:
  seqzoo export --preset gru_attention_multi30k_en_fr --out served/en_fr
  seqzoo export --preset seed-1 --preset seed-2 --beam 8 --n-best 3 --out served/en_fr
  seqzoo export --preset lstm_bpe_imdb --samples 3 --top-p 0.9 --out served/lm
  seqzoo export --preset bilstm_imdb_sentiment --warmup 1 --warmup 32 --keep 3 --out served/films
  seqzoo export --preset bilstm_imdb_sentiment --xla 1x32 --xla 32x256 --out served/films
"""

# Options of a search with a source.
SOURCE_OPTIONS = ("min_source_ratio", "max_source_ratio", "coverage_penalty", "required_phrases")
SEARCH_OPTIONS = (
    *("beam", "length_form", "length_penalty", "samples", "stop", "groups", "diversity"),
    *search.SAMPLING_OPTIONS,
    *("min_length", "end_threshold", "no_repeat_ngram", "repetition_penalty"),
    *SOURCE_OPTIONS,
)
CARD = "README.md"


def _check_shapes(values):
    for value in values or ():
        if re.fullmatch("[0-9]+x[0-9]+", value) is None:
            raise typer.BadParameter(f"must be ROWSxTOKENS, such as 32x256, got {value!r}.")
    return values


def _read_shapes(values):
    """Convert values such as 32x256 to pairs of ints."""
    return [tuple(map(int, value.split("x"))) for value in values or ()]


def export(
    context: typer.Context,
    preset: Presets,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of the model; a version is added to it.")
    ],
    beam: search.Beam = 5,
    length_form: search.LengthForm = "power",
    length_penalty: search.FormPenalty = None,
    samples: Annotated[
        int | None,
        count_option(
            "Sample N texts instead of a beam search. A language model samples 1 by default, "
            "unless an option of beam search is given."
        ),
    ] = None,
    n_best: Annotated[
        int | None,
        count_option(
            "Number of translations in the signature n_best or of sentences of a language model "
            "(by default --beam), or of similar words (by default 10)."
        ),
    ] = None,
    max_length: search.MaxLength = None,
    max_input_length: Annotated[
        int | None,
        count_option(
            "Number of tokens to which inputs are cut; by default the limit of the preset, or 256.",
            max=1_000_000,
        ),
    ] = None,
    signature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Signature to export; may be given several times. By default all.",
        ),
    ] = None,
    warmup: Annotated[
        list[int] | None,
        count_option(
            "Batch size of warm-up requests; may be given several times. By default 1.",
        ),
    ] = None,
    dtype: Annotated[
        Literal["float32", "bfloat16"] | None,
        typer.Option(
            help="Dtype of weights and computations, by default float32. With bfloat16, weights "
            "take half the memory; batches are faster on processors that compute in it.",
        ),
    ] = None,
    xla: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROWSxTOKENS",
            callback=_check_shapes,
            help="Shape for which XLA compiles a translation model, classifier or tagger, such as "
            "32x256; may be given several times. The server needs --xla_cpu_compilation_enabled.",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        count_option("Keep the N newest versions and remove the others. By default all are kept."),
    ] = None,
    card: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Model card, a Markdown file; by default that of the preset, if it has one.",
        ),
    ] = None,
    progress: Progress = None,
    quiet: Quiet = False,
    coverage_penalty: search.CoveragePenalty = 0.0,
    stop: search.Stop = "exact",
    groups: search.Groups = None,
    diversity: search.Diversity = None,
    required_phrases: Annotated[
        bool,
        typer.Option(
            "--required-phrases",
            help="Let each request name words that its translations must contain. The beam should "
            "be wider than the number of their tokens.",
            **search.BEAM,
        ),
    ] = False,
    temperature: search.Temperature = None,
    top_k: search.TopK = None,
    top_p: search.TopP = None,
    min_p: search.MinP = None,
    seed: search.Seed = None,
    min_length: search.MinLength = None,
    min_source_ratio: search.MinSourceRatio = None,
    max_source_ratio: search.MaxSourceRatio = MAX_SOURCE_RATIO,
    end_threshold: search.EndThresholdFactor = None,
    no_repeat_ngram: search.NoRepeatNGram = None,
    repetition_penalty: search.RepetitionFactor = None,
):
    """Export a SavedModel for TensorFlow Serving.

    Its inputs and outputs are text, and it needs no Python. The path is printed: DIR/1, or the next
    free number.

    The outputs are translations for a translation model, continuations and probabilities of texts
    for a language model, labels and probabilities for a classifier, words and tags for a tagger,
    and vectors and similar words for word vectors.
    """
    check_directory(out)  # before the model is loaded
    with phase(context, "loading"):
        model, strategy = _load(context, preset)
    with phase(context, "exporting") as on_step:
        path = export_model(
            model,
            out,
            strategy=strategy,
            n_best=n_best,
            max_length=max_length,
            max_input_length=max_input_length,
            signatures=signature or None,
            warmup=warmup or (1,),
            compiled_shapes=_read_shapes(xla) or None,
            keep=keep,
            card=_find_card(preset) if card is None else card,
            on_step=on_step,
        )
    typer.echo(path)


def _load(context, presets):
    """Return the model of the presets, and its strategy, or `None` if it has none."""
    first = presets[0]
    dtype = {} if context.params["dtype"] is None else {"dtype": context.params["dtype"]}
    if first.endswith(ARPA_ENDINGS) or is_word_vectors(first):
        refuse_given(context, ["dtype"], "can only be used with a neural model.")
    for fits, load in (
        (lambda name: is_task(name, TextClassification), load_text_classifier),
        (lambda name: is_task(name, RecurrentTagger), load_tagger),
        (is_word_vectors, WordVectors.from_preset),
    ):
        if fits(first):
            _check_single(presets)
            refuse_given(context, SOURCE_OPTIONS, "can only be used with a translation model.")
            refuse_given(
                context, SEARCH_OPTIONS, "can only be used with a translation or language model."
            )
            return load(first, **dtype), None
    options = {**context.params, "n_best": context.params["n_best"] or 1}
    if is_language_model(first):
        _check_single(presets)
        refuse_given(context, SOURCE_OPTIONS, "can only be used with a translation model.")
        options["max_source_ratio"] = None
        if options["samples"] is None and not _asks_for_beam(context):
            options["samples"] = 1
        search.check_search_options(context, options)
        model = load_language_model(first, **dtype)
        unknown = ForbiddenTokens([model.tokenizer.unk_token_id])
        return model, search.make_search(options, [unknown])
    search.check_search_options(context, options)
    strategy = search.make_search(options)
    model = load_translation_models(presets, **dtype)
    if strategy.needs_alignment:
        check_attention(model, presets, flag("coverage_penalty"))
    return model, strategy


def _check_single(presets):
    if len(presets) > 1:
        raise ValueError("--preset can only be given several times for translation models.")


def _asks_for_beam(context):
    """Return whether an option of beam search was given."""
    names = [name for name in search.BEAM_OPTIONS if name in context.params]
    return any(context.get_parameter_source(name).name != "DEFAULT" for name in names)


def _find_card(presets):
    """Return the model card of a preset; `None` if it has none or there are several presets."""
    if len(presets) > 1 or "://" in presets[0] or presets[0].endswith(ARPA_ENDINGS):
        return None
    path = preset_path(presets[0]) / CARD
    return path if path.is_file() else None
