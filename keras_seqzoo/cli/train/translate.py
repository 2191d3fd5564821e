"""`seqzoo train translate`."""

import dataclasses
from typing import Annotated

import typer

from keras_seqzoo.cli.lines import held_in_memory, renamed
from keras_seqzoo.cli.options import count_option, given, refuse_given
from keras_seqzoo.cli.presets import check_task, load_translation_model
from keras_seqzoo.cli.train.options import (
    SEVERAL_FILES,
    TextFile,
    option_names,
    record_as_of_start,
    train_command,
)
from keras_seqzoo.cli.train.preset import make_report, train_preset
from keras_seqzoo.data import MultilingualFiles, ParallelFiles
from keras_seqzoo.data.pharaoh import format_links
from keras_seqzoo.data.tagged_sentences import is_conllu
from keras_seqzoo.data.training_files import text_digests
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.training import (
    TranslationModelOptions,
    TranslationTraining,
    TranslationTrainingOptions,
    TranslationVocabularyOptions,
    make_translation_model,
    transfer_translation_model,
)
from keras_seqzoo.training.objectives import FROM_START

EXAMPLES = """\b
Examples:
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --out en_fr
  seqzoo train translate --source a.en --target a.fr --target-language fr \\
    --source b.en --target b.de --target-language de \\
    --valid-source valid.en --valid-target valid.fr \\
    --valid-source valid.en --valid-target valid.de --out en_fr_de
  seqzoo train translate --source news.en --target news.fr \\
    --valid-source val.en --valid-target val.fr --start en_fr --out en_fr_news
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --start en_fr --objective minimum-risk \\
    --no-risk-reference --dropout 0 --learning-rate 0.0001 --epochs 2 --out en_fr_risk
  seqzoo train translate --source train.en --target train.fr \\
    --valid-source val.en --valid-target val.fr --objective supervised-attention \\
    --alignments train.align --out en_fr_aligned
  seqzoo train translate --source train.en --target train.fr --tokenizer word \\
    --valid-source val.en --valid-target val.fr --out en_fr_words
  seqzoo train translate --source train.conllu --target train.fr --encoder tree \\
    --valid-source val.conllu --valid-target val.fr --out en_fr_trees
  seqzoo train translate --source some.en --target some.it --vocabulary-size 4000 \\
    --valid-source val.en --valid-target val.it --start en_fr --out en_it
  seqzoo translate --preset en_fr "Two dogs run through the snow."
"""

TEXT_OPTIONS = ("source", "target", "valid_source", "valid_target")
# With --start, each of them asks for new tokenizers.
VOCABULARY_OPTIONS = {*option_names(TranslationVocabularyOptions)} - {"separate_vocabularies"}


@train_command(TranslationModelOptions, TranslationTrainingOptions, "Translation model.")
def train_translate(
    ctx: typer.Context,
    source: TextFile,
    target: TextFile,
    valid_source: TextFile,
    valid_target: TextFile,
    target_language: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Target language of a multilingual model, a name such as fr. Give it once for "
            "each --source with its --target, in their order; --valid-source has the same order.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Preset of a translation model to train further, with its tokenizers. With an "
            "option of the vocabulary, such as --vocabulary-size, new tokenizers are trained, and "
            "pieces that the preset also has keep their embeddings. Of the other options of a new "
            "model, only --dropout can be used; without it, the preset's rate is kept.",
        ),
    ] = None,
    alignments: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="With supervised-attention: word alignments of the training pairs, one per line, "
            f"as seqzoo align writes them (0-0 2-1). {SEVERAL_FILES}",
            rich_help_panel="Training",
        ),
    ] = None,
    max_length: Annotated[
        int,
        count_option(
            "Largest number of tokens; longer training pairs are left out.",
            min=2,
            rich_help_panel="Training",
        ),
    ] = 64,
    *,
    model,
    training,
):
    """Train a translation model on parallel text.

    DIR becomes the preset. After each epoch, the validation set is translated and its loss is
    computed, and the weights with the best chrF (or --measure) are kept. The weights of the last
    epoch are the preset DIR/training/last. Ctrl-C stops after the current step; the same command
    resumes. The cards of the pretrained models have the options that they were trained with.

    With --encoder tree, the sources are .conllu files with heads: line i of the targets translates
    sentence i.

    With --target-language, the model translates into several languages. Each --source with its
    --target is a corpus with one target language; a pattern makes a corpus of several files. chrF
    and BLEU are then means over the languages.
    """
    new_vocabulary = False
    if start is not None:
        check_task("--start", start, RecurrentSeq2SeqLM, "a translation model")
        allowed = (*VOCABULARY_OPTIONS, "dropout")
        names = option_names(TranslationModelOptions)
        others = [name for name in names if name not in allowed]
        refuse_given(ctx, others, "cannot be used with --start.")
        record_as_of_start(ctx, names)
        new_vocabulary = bool(given(ctx, VOCABULARY_OPTIONS))
        if new_vocabulary and training.objective in FROM_START:
            raise ValueError(
                f"--objective {training.objective} cannot be used with a new vocabulary."
            )
    elif training.objective in FROM_START:
        raise ValueError(
            f"--objective {training.objective} must be given with --start, a trained model."
        )
    _check_alignments(training.objective, alignments, target_language)
    if start is None:
        _check_sources(model.encoder == "tree", source, valid_source)
    if not target_language:
        refuse_given(ctx, ["sampling_temperature"], "can only be used with --target-language.")
    languages = target_language or None

    def make_model(train):
        if start is None:
            options = dataclasses.replace(model, languages=languages)
            return _make_model(train, options, max_length)
        dropout = ctx.params["dropout"]
        started = load_translation_model(start, "--start", dropout, dtype=model.dtype)
        _check_sources(started.preprocessor.reads_trees, source, valid_source)
        if not new_vocabulary:
            _check_languages(started, start, languages)
            return started
        options = model.select(*given(ctx, VOCABULARY_OPTIONS))
        moved, kept = transfer_translation_model(
            started,
            train.source,
            train.target,
            train.language if languages else None,
            languages=languages,
            **options,
        )
        _report_kept(make_report(ctx), start, moved, kept)
        return moved

    train_preset(
        ctx,
        read=lambda: (
            _files(source, target, languages, alignments=alignments or None),
            _validation(_files(valid_source, valid_target, languages, "valid-")),
        ),
        digests=_digests,
        make_model=make_model,
        training_class=TranslationTraining,
        training=dataclasses.replace(training, boundaries=_boundaries(max_length)),
    )


def _check_alignments(objective, alignments, languages):
    """Raise `ValueError` unless alignments are given with the objective that reads them."""
    supervised = objective == "supervised-attention"
    if supervised and not alignments:
        raise ValueError("--objective supervised-attention must be given with --alignments.")
    if alignments and not supervised:
        raise ValueError(
            f"--alignments must be given with --objective supervised-attention, got {objective}."
        )
    if alignments and languages:
        raise ValueError("--alignments cannot be used with --target-language.")


def _check_sources(reads_trees, source, valid_source):
    """Raise `ValueError` unless sources are trees for a model of trees, and texts for others."""
    need = "files of trees (.conllu) with" if reads_trees else "files of text without"
    for option, paths in (("--source", source), ("--valid-source", valid_source)):
        for path in paths:
            if is_conllu(path) != reads_trees:
                raise ValueError(f"{option} must be {need} --encoder tree, got {path}.")


def _files(source, target, languages, prefix="", alignments=None):
    """Return the files of one corpus, or of one for each language."""
    if languages is None:
        return ParallelFiles(source, target, alignments)
    for side, files in (("source", source), ("target", target)):
        if len(files) != len(languages):
            raise ValueError(
                f"--{prefix}{side} must be given once for each --target-language "
                f"({len(languages)}), got {len(files)}."
            )
    corpora = [ParallelFiles(*files) for files in zip(source, target, strict=True)]
    return MultilingualFiles(corpora, languages)


def _validation(files):
    """Return the columns of validation files: sources, targets, and languages if several."""
    with renamed(source="--valid-source", target="--valid-target"):
        if isinstance(files, ParallelFiles):
            return held_in_memory(files)
        return tuple(map(list, (files.source, files.target, files.column(2))))


def _check_languages(model, name, languages):
    """Raise `ValueError` unless a preset translates into the languages of the texts."""
    if languages is None and model.languages:
        raise ValueError(
            f"--target-language must be given for {name}, which translates into "
            f"{', '.join(model.languages)}."
        )
    for language in languages or ():
        if language not in model.languages:
            known = ", ".join(model.languages) or "one language"
            raise ValueError(
                f"--target-language must be one of those of {name} ({known}) without an option of "
                f"a new vocabulary, got {language}."
            )


def _report_kept(report, name, model, kept):
    """Report how many pieces of a new vocabulary have the embeddings of a preset."""
    own = model.preprocessor
    sides = [("", own.tokenizer, kept.target)]
    if own.encoder_tokenizer is not own.tokenizer:
        sides = [
            (" source", own.encoder_tokenizer, kept.source),
            (" target", own.tokenizer, kept.target),
        ]
    for side, tokenizer, number in sides:
        size = tokenizer.vocabulary_size()
        report(
            f"new{side} vocabulary: {number} of {size} pieces keep their weights of {name}, "
            f"{size - number} are new"
        )


def _digests(train, valid):
    names, rows = [*TEXT_OPTIONS[:2]], (row[:2] for row in train)  # without languages
    if isinstance(train, ParallelFiles) and train.alignments is not None:
        names.append("alignments")
        rows = ((*texts, format_links(links)) for *texts, links in train)
    both = (
        *text_digests(rows, columns=len(names)),
        *text_digests(zip(*valid[:2], strict=True), columns=2),
    )
    return dict(zip((*names, *TEXT_OPTIONS[2:]), both, strict=True))


def _make_model(train, options, max_length):
    options = dataclasses.replace(
        options,
        attention_units=options.attention and options.attention_units,
        # Twice as long as in training: translations may be longer, and no training pair is cut.
        sequence_length=max(128, 2 * max_length),
    )
    pair_languages = train.language if options.languages else None
    return make_translation_model(train.source, train.target, pair_languages, **options.to_dict())


def _boundaries(max_length):
    """Return the lengths that batches are padded to, up to the longest."""
    lengths = (8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    return (*(length for length in lengths if length < max_length), max_length)
