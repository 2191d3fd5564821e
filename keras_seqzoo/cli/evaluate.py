"""`seqzoo evaluate`."""

import itertools
import warnings
from typing import Annotated

import typer

from keras_seqzoo.cli.lines import check_sources, held_in_memory, read_pairs, run_in_pieces
from keras_seqzoo.cli.options import (
    BatchSize,
    BleuTokenizer,
    Column,
    Progress,
    Quiet,
    SourceFile,
    TargetFile,
    TargetLanguage,
    refuse_column,
    refuse_given,
)
from keras_seqzoo.cli.presets import (
    Presets,
    is_task,
    language_options,
    load_tagger,
    load_text_classifier,
    load_translation_models,
)
from keras_seqzoo.cli.progress import phase, progress_line
from keras_seqzoo.cli.search import (
    Beam,
    LengthPenalty,
    MaxLength,
    MaxSourceRatio,
    make_beam_search,
)
from keras_seqzoo.data import LabelledFiles, read_tagged_sentences
from keras_seqzoo.data.output_files import check_new_file
from keras_seqzoo.metrics import (
    class_report,
    confusion_matrix,
    entity_scores,
    paired_bootstrap,
    score_translations,
)
from keras_seqzoo.metrics.entity_scores import entities
from keras_seqzoo.metrics.translation_scores import BLEU_TOKENIZER, explain_no_bleu
from keras_seqzoo.models import RecurrentTagger, TreeTextClassifier
from keras_seqzoo.models.classifier.base import TextClassification
from keras_seqzoo.models.common.labels import label_indices
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.plots import check_figure_path, plot_confusion

EXAMPLES = """\b
Examples:
  seqzoo evaluate --preset gru_attention_multi30k_en_fr --source some.en --target some.fr
  seqzoo evaluate --preset my-classifier --test test.tsv --confusion confusion.png
  seqzoo evaluate --preset my-tagger --test test.conllu
"""

TRANSLATION_OPTIONS = (
    *("source", "target", "beam", "length_penalty", "lowercase", "max_length"),
    *("bleu_tokenizer", "max_source_ratio", "baseline", "to"),
)


def evaluate(
    context: typer.Context,
    preset: Presets,
    source: SourceFile = None,
    target: TargetFile = None,
    to: TargetLanguage = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Labelled texts or tagged sentences, in a format of `seqzoo train classify` or "
            "`seqzoo train tag`.",
        ),
    ] = None,
    column: Column = "upos",
    entities: Annotated[
        bool,
        typer.Option(
            "--entities",
            help="Also print the F1 of the entities that the tags B-type and I-type mark.",
        ),
    ] = False,
    confusion: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Plot the confusion matrix of the labels or tags (.png, .pdf or .svg).",
        ),
    ] = None,
    beam: Beam = 5,
    length_penalty: LengthPenalty = 1.0,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", "-lc", help="Ignore case in BLEU and chrF.")
    ] = False,
    bleu_tokenizer: BleuTokenizer = BLEU_TOKENIZER,
    max_length: MaxLength = None,
    max_source_ratio: MaxSourceRatio = MAX_SOURCE_RATIO,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Translations of --source by another system, one per line, to compare with.",
        ),
    ] = None,
    batch_size: BatchSize = 64,
    progress: Progress = None,
    quiet: Quiet = False,
):
    """Evaluate a model on a test set.

    For a translation model, translate --source and print BLEU and chrF against --target, from
    sacrebleu on detokenized text, each with sacrebleu's signature. With --baseline, also print the
    scores of its translations and p, the probability of such a difference between equal systems,
    from a paired bootstrap with 1,000 samples.

    For a text classifier or a tagger, print precision, recall and F1 of each label of --test, and
    the accuracy. For a multi-label classifier, print only the accuracy of all decisions.
    """
    tagger = is_task(preset[0], RecurrentTagger)
    if not tagger:
        refuse_given(context, ("column", "entities"), "can only be used with a tagger.")
    if tagger or is_task(preset[0], TextClassification):
        refuse_given(context, TRANSLATION_OPTIONS, "can only be used with a translation model.")
        if len(preset) > 1:
            raise ValueError("--preset can only be given several times for translation models.")
        if test is None:
            raise ValueError("--test must be given with a text classifier or a tagger.")
        if confusion is not None:
            check_new_file(check_figure_path(confusion, "confusion"), "confusion")
        if tagger:
            refuse_column(context, test)
            _evaluate_tagger(context, preset[0])
        else:
            _evaluate_classifier(context, preset[0])
        return
    refuse_given(
        context, ("test", "confusion"), "can only be used with a text classifier or a tagger."
    )
    strategy = make_beam_search(beam, length_penalty, max_source_ratio=max_source_ratio)
    sources, references = read_pairs(source, target)
    others = None if baseline is None else read_pairs(source, baseline, "--baseline")[1]
    model = load_translation_models(preset)
    language = language_options(model, preset, to)
    check_sources(model, source, sources)
    line = progress_line(context, "translated", len(sources))
    translations = model.translate(
        sources,
        strategy,
        max_length=max_length,
        batch_size=batch_size,
        on_batch=line.advance,
        **language,
    )
    line.clear()
    texts = [best.text for best, *_ in translations]
    result = score_translations(texts, references, lowercase, bleu_tokenizer)
    if result.bleu == 0:
        warnings.warn(explain_no_bleu(bleu_tokenizer), stacklevel=2)
    typer.echo(f"BLEU {result.bleu:.2f} {result.bleu_signature}")
    typer.echo(f"chrF {result.chrf:.2f} {result.chrf_signature}")
    if others is not None:
        compared = paired_bootstrap(
            texts, others, references, lowercase=lowercase, bleu_tokenizer=bleu_tokenizer
        )
        for name, before, after, p_value, interval in compared:
            typer.echo(
                f"{name} {after:.2f} ± {interval:.2f}, baseline {before:.2f}, p {p_value:.4f}"
            )


def _evaluate_classifier(context, preset):
    confusion, batch_size = (context.params[name] for name in ("confusion", "batch_size"))
    parses = is_task(preset, TreeTextClassifier)
    texts, expected = held_in_memory(LabelledFiles([context.params["test"]], parses))
    model = load_text_classifier(preset)
    if model.multi_label:
        if confusion is not None:
            raise ValueError("--confusion can only be used if each text has one label.")
        with phase(context, "classifying"):
            accuracy = model.accuracy(texts, expected, batch_size)
        typer.echo(f"accuracy {accuracy:.4f}")
        return
    label_indices(model.label_names, expected, allow_unknown=True)  # refuses lists of labels
    line = progress_line(context, "classified", len(texts), "texts")
    rows = run_in_pieces(model.classify, line, batch_size, texts)
    line.clear()
    found = [label for row in rows for label in row.labels]
    _report(expected, found, model.label_names, confusion)


def _evaluate_tagger(context, preset):
    options = context.params
    words, expected = read_tagged_sentences(options["test"], options["column"])
    model = load_tagger(preset)
    if options["entities"]:
        try:
            entities(model.preprocessor.labels)
        except ValueError:
            raise ValueError(
                f"--entities must be used with labels O, B-type and I-type, got those of {preset}."
            ) from None
    line = progress_line(context, "tagged", len(words), "sentences")
    found = run_in_pieces(model.tag, line, options["batch_size"], words)
    line.clear()
    if options["entities"]:
        typer.echo(entity_scores(expected, found))
    expected, found = (list(itertools.chain.from_iterable(rows)) for rows in (expected, found))
    _report(expected, found, model.preprocessor.labels, options["confusion"])


def _report(expected, found, labels, confusion):
    unknown = sorted(set(expected) - set(labels))
    if unknown:
        count = sum(label not in labels for label in expected)
        warnings.warn(
            f"{count} of {len(expected)} labels are unknown to the model and count as errors: "
            f"{', '.join(unknown[:10])}{', …' if len(unknown) > 10 else ''}",
            stacklevel=2,
        )
    labels = [*labels, *unknown]
    typer.echo(class_report(expected, found, labels))
    if confusion is not None:
        plot_confusion(confusion_matrix(expected, found, labels), labels, confusion)
