"""Lines of input for a model on a server."""

import warnings

from keras_seqzoo.cli.lines import input_chunks

MOST_NUMBERS = 10  # of lines in a warning


class ServedLines:
    """A model on a server that is asked about lines of input.

    It is a context manager that opens and closes the client.

    Args:
        make_client: function of `on_truncated` that makes the `Client`.
        truncate: bool, whether lines that the server cuts cause a warning; otherwise they are an
            error.

    Attributes:
        client: the `Client`, within the context.
        has_cut: bool, whether the server has cut a line.
    """

    def __init__(self, make_client, truncate=True):
        self._make_client = make_client
        self._truncate = truncate
        self._first = 1
        self.client = None
        self.has_cut = False

    def __enter__(self):
        """Open the client."""
        self.client = self._make_client(on_truncated=self._report)
        return self

    def __exit__(self, *_):
        """Close the client."""
        self.client.close()

    def chunks(self, texts):
        """Yield what `input_chunks` yields, and remember the numbers of the lines."""
        for first, lines in input_chunks(texts):
            self._first = first
            yield first, lines

    def _report(self, rows):
        self.has_cut = True
        numbers = [str(self._first + row) for row in rows]
        if not self._truncate:
            raise ValueError(f"line {numbers[0]} must not be longer than the limit of the export.")
        more = ", …" if len(numbers) > MOST_NUMBERS else ""
        count = f"{len(rows)} lines were" if len(rows) > 1 else "1 line was"
        warnings.warn(
            f"{count} longer than the limit of the export and cut: line "
            f"{', '.join(numbers[:MOST_NUMBERS])}{more}",
            stacklevel=2,
        )
