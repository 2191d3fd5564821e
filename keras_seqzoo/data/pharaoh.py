"""Word alignments in the format of Pharaoh: a line such as `0-0 2-1` for each sentence pair."""

import os
import re

from keras_seqzoo.data.output_files import write_text
from keras_seqzoo.data.text_files import iterate_lines

LINK = re.compile(r"([0-9]+)-([0-9]+)", re.ASCII)


def read_alignments(path):
    r"""Read word alignments in the format of Pharaoh, which most word aligners write.

    Each line has the links of a sentence pair, separated by white space, such as `0-0 2-1`. A link
    is the positions, from 0, of a source word and a target word. A blank line has no links.

    Args:
        path: string or path of a UTF-8 text file, plain or compressed (`.gz`).

    Returns:
        A list with one list for each line: pairs `(source, target)` of ints, in the order of the
        line.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if a link is not two numbers with a hyphen between them, or is repeated in its
            line. The message names the path and the line.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "some.align")
        >>> _ = path.write_text("0-0 2-1\n\n")
        >>> read_alignments(path)
        [[(0, 0), (2, 1)], []]
    """
    return list(iterate_alignments(path))


def iterate_alignments(path):
    """Yield the links of each line of a file, one line at a time; see `read_alignments`."""
    for number, line in enumerate(iterate_lines(path), 1):
        try:
            yield parse_links(line)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}, line {number}: {error}") from None


def write_alignments(path, alignments):
    """Write word alignments in the format that `read_alignments` reads.

    Args:
        path: string or path; the file is compressed if it ends in `.gz`. An existing file is
            replaced once the new one is complete.
        alignments: iterable of lists of pairs `(source, target)` of ints from 0.

    Raises:
        OSError: if the file cannot be written.
        ValueError: if a position is below 0.
    """
    write_text(path, "".join(f"{format_links(links)}\n" for links in alignments))


def parse_links(line):
    """Return the list of pairs `(source, target)` of a line such as `0-0 2-1`."""
    links = []
    for text in line.split():
        link = LINK.fullmatch(text)
        if link is None:
            raise ValueError(
                f"a link must be the positions of two words, such as 0-2, got {text[:40]!r}"
            )
        links.append((int(link[1]), int(link[2])))
    if len(set(links)) < len(links):
        source, target = next(link for link in links if links.count(link) > 1)
        raise ValueError(f"a link must occur once in its line, got {source}-{target} again")
    return links


def format_links(links):
    """Return a line such as `0-0 2-1` of pairs `(source, target)`."""
    for source, target in links:
        if source < 0 or target < 0:
            raise ValueError(f"`links` must have positions of at least 0, got {(source, target)}.")
    return " ".join(f"{source}-{target}" for source, target in links)
