"""Apache Beam pipelines that count items in text files of any size."""

import collections
import contextlib
import glob
import io
import logging
import os
import re

from keras_seqzoo.checks import check_integer
from keras_seqzoo.counting.files import BEGIN, END, escape, escape_word
from keras_seqzoo.data.output_files import replacing
from keras_seqzoo.data.text_files import iterate_lines
from keras_seqzoo.data.training_files import RECORDS, TextFiles

BATCH_SIZE = 2000  # lines that are cut at a time
SPACE = "▁"


def count_pieces(paths, out, tokenizer, runner="DirectRunner", runner_options=()):
    """Count the words or characters of text files, for `from_counts` of a tokenizer.

    Args:
        paths: string or path, or a list of them: files of text lines, plain or `.gz`, patterns such
            as `"part-*.gz"`, or addresses that the runner can read, such as `"gs://…"`. A byte
            order mark at the beginning of a line is dropped.
        out: string or path, the file of counts, compressed if its name ends in `.gz`; see
            `read_counts`. Its lines have no order.
        tokenizer: `WordTokenizer` or `CharacterTokenizer`, with or without a vocabulary, which
            normalizes and cuts the texts.
        runner: string, the name of a Beam runner. Beam's own `DirectRunner` is for one machine, and
            holds the counts in memory.
        runner_options: list of strings, `"name=value"` or `"name"`, options of the runner.

    Raises:
        ImportError: if Apache Beam is not installed.
        OSError: if a file is missing or cannot be read or written.
        ValueError: if a text is not UTF-8, there is nothing to count, or an option is wrong.

    Example:
    ```python
    count_pieces("news/*.gz", "words.tsv.gz", WordTokenizer(normalization=["lowercase"]))
    tokenizer = WordTokenizer.from_counts(
        read_counts("words.tsv.gz"), vocabulary_size=50_000, normalization=["lowercase"]
    )
    ```
    """
    _run(_PieceCounter(tokenizer), paths, out, runner, runner_options)


def count_spaced_words(paths, out, tokenizer, runner="DirectRunner", runner_options=()):
    """Count the words between spaces (U+0020), for `BytePairTokenizer.from_counts`.

    Args:
        paths: see `count_pieces`.
        out: see `count_pieces`.
        tokenizer: any `TextTokenizer`, which normalizes the texts.
        runner: see `count_pieces`.
        runner_options: see `count_pieces`.
    """
    _run(_SpacedWordCounter(tokenizer), paths, out, runner, runner_options)


def count_pairs(paths, out, tokenizer, runner="DirectRunner", runner_options=()):
    """Count the pairs of adjacent characters, of which byte-pair encoding merges the best.

    Each word between spaces begins with U+2581. An item is two characters with a space between
    them.

    Args:
        paths: see `count_pieces`.
        out: see `count_pieces`.
        tokenizer: any `TextTokenizer`, which normalizes the texts.
        runner: see `count_pieces`.
        runner_options: see `count_pieces`.
    """
    counter = _SpacedWordCounter(tokenizer)
    _run(counter, paths, out, runner, runner_options, then=_count_pairs_of_word)


def count_ngrams(paths, out, order, tokenizer, runner="DirectRunner", runner_options=()):
    r"""Count n-grams, for `NGramLanguageModel` and `BrownClusters`.

    Each line begins with `<s>` and ends with `</s>`. An n-gram of `order` words is counted at each
    word of a line, or a shorter one at the end of the line; all shorter n-grams are beginnings of
    these. An item is the words with spaces between them; a word spelled `<s>` is written `\<s>`.

    Args:
        paths: see `count_pieces`.
        out: see `count_pieces`.
        order: int, at least 1.
        tokenizer: `WordTokenizer`, with or without a vocabulary, which normalizes and cuts the
            texts. All words are counted, including unknown ones.
        runner: see `count_pieces`.
        runner_options: see `count_pieces`.
    """
    check_integer("order", order, minimum=1)
    _run(_NGramCounter(tokenizer, order), paths, out, runner, runner_options)


class _Counter:
    """Function that counts the items of a list of texts; Beam sends it to its workers.

    A tokenizer with a lookup table cannot be sent, so it is created again, without a vocabulary.
    """

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __call__(self, texts):
        return list(collections.Counter(self.items(self._tokenizer.normalize(texts))).items())

    def __getstate__(self):
        tokenizer = (type(self._tokenizer), self._tokenizer.get_config())
        return {**self.__dict__, "_tokenizer": tokenizer}

    def __setstate__(self, state):
        self.__dict__ |= state
        tokenizer_class, config = self._tokenizer
        self._tokenizer = tokenizer_class.from_config(config)


class _PieceCounter(_Counter):
    def items(self, texts):
        pieces = self._tokenizer.cut(texts).flat_values.numpy()
        return [escape(piece.decode()) for piece in pieces.tolist()]


class _SpacedWordCounter(_Counter):
    def items(self, texts):
        lines = [text.decode().rstrip("\r\n") for text in texts.numpy().tolist()]
        return [escape(word) for line in lines if line for word in line.split(" ")]


class _NGramCounter(_Counter):
    def __init__(self, tokenizer, order):
        super().__init__(tokenizer)
        self._order = order

    def items(self, texts):
        for row in self._tokenizer.cut(texts).to_list():
            words = [BEGIN, *(escape_word(word.decode()) for word in row), END]
            for first in range(len(words)):
                yield " ".join(words[first : first + self._order])


def _count_pairs_of_word(item):
    word, count = item
    symbols = [SPACE, *re.findall(r"\\?.", word)]  # an escape is one symbol
    pairs = zip(symbols[:-1], symbols[1:], strict=True)
    return [(f"{left} {right}", count) for left, right in pairs]


# === Running ===


def _run(counter, paths, out, runner, runner_options, then=None):
    """Run the pipeline that sums the items that `counter` finds in texts; `then` splits sums."""
    beam = _import_beam()
    patterns = _find_files(paths)
    options = _make_options(beam, runner, runner_options)
    is_address = "://" in str(out)
    with contextlib.nullcontext(out) if is_address else replacing(out) as draft:
        with _readable_errors(), beam.Pipeline(options=options) as pipeline:
            counts = (
                pipeline
                | "Files" >> beam.Create(patterns)
                | "Read" >> beam.io.ReadAllFromText(coder=beam.coders.BytesCoder())
                | "Decode" >> beam.Map(_decode)
                | "Batch" >> beam.BatchElements(min_batch_size=32, max_batch_size=BATCH_SIZE)
                | "Count" >> beam.FlatMap(counter)
                | "Sum" >> beam.CombinePerKey(sum)
            )
            if then is not None:
                counts = counts | "Split" >> beam.FlatMap(then)
                counts = counts | "SumParts" >> beam.CombinePerKey(sum)
            lines = counts | "Format" >> beam.MapTuple("{}\t{}".format)
            lines | "Write" >> beam.io.WriteToText(str(draft), num_shards=1, shard_name_template="")
        if not is_address and next(iterate_lines(draft), None) is None:
            raise ValueError("`texts` must have something to count, got no words.")


def _import_beam():
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)  # it logs which other extras are missing
    try:
        import apache_beam
    except ImportError as error:
        raise ImportError(
            "counting pipelines require Apache Beam: pip install 'keras-seqzoo[beam]'"
        ) from error
    finally:
        logging.disable(disabled)
    return apache_beam


def _find_files(paths):
    """Return patterns for Beam: the files that match local patterns, and addresses unchanged."""
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(map(os.fspath, paths))
    addresses = [path for path in paths if "://" in str(path)]
    local = [path for path in paths if path not in addresses]
    files = TextFiles(local).paths if local or not addresses else []
    for path in files:
        if os.path.isdir(path) or path.endswith(RECORDS):
            raise ValueError(f"`paths` must be files of text lines, got {path}.")
    return [*map(glob.escape, files), *addresses]


def _make_options(beam, runner, runner_options):
    flags = [f"--runner={runner}", *(f"--{option.lstrip('-')}" for option in runner_options)]
    problem = io.StringIO()
    try:
        with contextlib.redirect_stderr(problem):
            options = beam.options.pipeline_options.PipelineOptions(flags)
            options.get_all_options()
            beam.Pipeline(options=options)  # creates the runner
    except SystemExit:  # of argparse
        lines = problem.getvalue().strip().splitlines()
        raise ValueError(
            f"`runner_options` must be options of {runner}, got {list(runner_options)}: {lines[-1]}"
        ) from None
    except (ValueError, AttributeError) as error:
        raise ValueError(f"`runner` must be a runner of Beam, got {runner!r}: {error}") from error
    return options


def _decode(line):
    try:
        return line.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise ValueError(f"texts must be UTF-8, got {line[:80]!r}.") from None


@contextlib.contextmanager
def _readable_errors():
    """Keep the log of Beam's workers quiet, and raise their errors without tracebacks in them."""
    logger = logging.getLogger("apache_beam")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "[while running" in line]
        if not lines or isinstance(error, OSError):
            raise
        problem = re.sub(r"^(\w+\.)*\w+(Error|Exception): | \[while running .*", "", lines[-1])
        raise ValueError(f"the pipeline failed: {problem}") from error
    finally:
        logger.setLevel(level)
