"""The phrases that the translation of each line must have."""

from keras_seqzoo.data import read_lines


class WantedPhrases:
    """Phrases for all lines and, from a file, for each line.

    Args:
        everywhere: list of strings, wanted in every translation, or `None`.
        path: string, a file with a line for each line of the input, in which tabs separate
            phrases, or `None`.

    Raises:
        ValueError: if the file is no UTF-8 text.
        OSError: if it cannot be read.
    """

    def __init__(self, everywhere=None, path=None):
        self._everywhere = list(everywhere or [])
        self._path = path
        self._lines = None if path is None else read_lines(path)

    def of_lines(self, first, count):
        """Gives the phrases of so many lines, the first of which has this number, from 1.

        Raises:
            ValueError: if the file has no such line.
        """
        if self._lines is None:
            return [self._everywhere] * count
        own = self._lines[first - 1 : first - 1 + count]
        if len(own) < count:
            raise ValueError(
                f"--phrases needs a line for each line of the input, {self._path} has "
                f"{len(self._lines)}"
            )
        return [[*self._everywhere, *line.split("\t")] for line in own]

    def check_end(self, count):
        """Makes sure that the input, of so many lines, was as long as the file.

        Raises:
            ValueError: if the file has more lines.
        """
        if self._lines is not None and len(self._lines) > count:
            raise ValueError(
                f"--phrases needs a line for each line of the input, {self._path} has "
                f"{len(self._lines)} and the input {count}"
            )
