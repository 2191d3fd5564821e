"""`seqzoo evaluate`."""

import itertools
import warnings
from typing import Annotated

import typer

from keras_seqzoo.cli.classify import load_text_classifier
from keras_seqzoo.cli.lines import check_lengths
from keras_seqzoo.cli.options import (
    BatchSize,
    Beam,
    BleuTokenizer,
    LengthPenalty,
    MaxLength,
    Presets,
    Progress,
    SourceFile,
    TargetFile,
    load_translation_models,
    refuse_given,
)
from keras_seqzoo.cli.presets import is_task
from keras_seqzoo.cli.progress import ProgressLine
from keras_seqzoo.cli.search_options import MaxSourceRatio
from keras_seqzoo.cli.search_strategy import make_strategy
from keras_seqzoo.cli.tag import load_tagger
from keras_seqzoo.cli.train.tag import Column, refuse_column
from keras_seqzoo.data import read_labelled_texts, read_parallel, read_tagged_sentences
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.metrics import (
    class_report,
    confusion_matrix,
    entity_scores,
    score_translations,
)
from keras_seqzoo.metrics.translation_scores import BLEU_TOKENIZER, explain_no_bleu
from keras_seqzoo.models import RecurrentTagger
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.plots import check_figure_path, plot_confusion

EXAMPLES = """\b
Examples:
  seqzoo evaluate --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
  seqzoo evaluate --preset my-classifier --test test.tsv --confusion confusion.png
  seqzoo evaluate --preset my-tagger --test test.conllu
"""


# Options by what they go with.
TRANSLATION = ("source", "target", "beam", "length_penalty", "lowercase", "max_length")
TRANSLATION += ("bleu_tokenizer", "max_source_ratio", "progress")
TAGGING = ("column", "entities")


def evaluate(
    context: typer.Context,
    preset: Presets,
    source: SourceFile | None = None,
    target: TargetFile | None = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Texts with labels or tags, see `seqzoo train`."),
    ] = None,
    confusion: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Picture of which labels were taken for which."),
    ] = None,
    beam: Beam = 5,
    length_penalty: LengthPenalty = 1.0,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", "-lc", help="Ignore case, in both scores.")
    ] = False,
    bleu_tokenizer: BleuTokenizer = BLEU_TOKENIZER,
    max_length: MaxLength = None,
    max_source_ratio: MaxSourceRatio = MAX_SOURCE_RATIO,
    column: Column = "upos",
    entities: Annotated[
        bool, typer.Option("--entities", help="The F1 of entities that B-type and I-type mark.")
    ] = False,
    batch_size: BatchSize = 64,
    progress: Progress = None,
):
    """Translate or label a test set, and print how well.

    BLEU and chrF are sacrebleu's, on detokenised text, each followed by the signature that says how
    it was computed. With a text classifier or a tagger --test is needed, and a table of precision,
    recall and F1 of each label is printed, then the accuracy; where texts have any number of
    labels, the share of right decisions alone.
    """
    tags = is_task(preset[0], RecurrentTagger)
    if not tags:
        refuse_given(context, TAGGING, "goes with a preset that tags")
    if tags or is_task(preset[0], TextClassification):
        refuse_given(context, TRANSLATION, "goes with a preset that translates")
        _check_labelling(preset, test, confusion)
        if tags:
            refuse_column(context, test)
            _evaluate_tagger(preset[0], test, batch_size, confusion, column, entities)
        else:
            _evaluate_classifier(preset[0], test, batch_size, confusion)
        return
    refuse_given(context, ("test", "confusion"), "goes with a preset that classifies or tags")
    for name, given in (("--source", source), ("--target", target)):
        if given is None:
            raise ValueError(f"{name} is needed by a preset that translates")
    strategy = make_strategy(beam, length_penalty, max_source_ratio=max_source_ratio)
    sources, references = read_parallel(source, target)
    if not sources:
        raise ValueError(f"--source and --target need at least one line, {source} has none")
    model = load_translation_models(preset)
    check_lengths(model, sources, place=f"{source}, line")
    line = ProgressLine("translated", total=len(sources), enabled=progress)
    finished = 0

    def count(number):
        nonlocal finished
        finished += number
        line.show(finished)

    translations = model.translate(
        sources, strategy, max_length=max_length, batch_size=batch_size, on_batch=count
    )
    line.clear()
    texts = [best.text for best, *_ in translations]
    result = score_translations(texts, references, lowercase, bleu_tokenizer)
    if result.bleu == 0:
        warnings.warn(explain_no_bleu(bleu_tokenizer), stacklevel=2)
    typer.echo(f"BLEU {result.bleu:.2f} {result.bleu_signature}")
    typer.echo(f"chrF {result.chrf:.2f} {result.chrf_signature}")


def _check_labelling(presets, test, confusion):
    if len(presets) > 1:
        raise ValueError("--preset must be given once if it is no translation model")
    if test is None:
        raise ValueError("--test is needed by a preset that classifies or tags")
    if confusion is not None:
        check_new_file(check_figure_path(confusion))


def _evaluate_classifier(preset, test, batch_size, confusion):
    texts, expected = read_labelled_texts(test)
    model = load_text_classifier(preset)
    model.label_array(expected)  # refuses unknown ones
    if model.multi_label:
        if confusion is not None:
            raise ValueError("--confusion goes with texts of one label each")
        typer.echo(f"accuracy {model.accuracy(texts, expected, batch_size):.4f}")
        return
    found = [label for row in model.classify(texts, batch_size) for label in row.labels]
    _report(expected, found, model.label_names, confusion)


def _evaluate_tagger(preset, test, batch_size, confusion, column, entities):
    words, expected = read_tagged_sentences(test, column)
    model = load_tagger(preset)
    found = model.tag(words, batch_size)
    if entities:
        typer.echo(entity_scores(expected, found))
    expected, found = (list(itertools.chain.from_iterable(rows)) for rows in (expected, found))
    # Tags that the model does not know count as not found.
    labels = [*model.preprocessor.labels, *sorted(set(expected) - set(model.preprocessor.labels))]
    _report(expected, found, labels, confusion)


def _report(expected, found, labels, confusion):
    typer.echo(class_report(expected, found, labels))
    if confusion is not None:
        plot_confusion(confusion_matrix(expected, found, labels), labels, confusion)
