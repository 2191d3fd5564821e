"""Numbered versions of a model in a folder, as TensorFlow Serving reads them."""

import errno
import os
import tempfile

from keras_seqzoo.data.output_files import FULL, writing_into


def write_version(directory, write):
    """Write the next version of a model, which appears in the folder whole or not at all.

    TensorFlow Serving watches the folder and serves its highest number; so a version is written
    under another name and renamed. Versions that are there already are never touched.

    Args:
        directory: string or path. The model's folder; it is made if it does not exist.
        write: a function `write(path)` that makes the folder `path`.

    Returns:
        string. The path of the new version, `directory/1` in an empty folder.

    Raises:
        OSError: if the folder cannot be made or written to, or the disk is full.
    """
    directory = os.fspath(directory)
    try:
        with (
            writing_into(directory),
            # Its permissions are private; the version inside gets the usual ones.
            tempfile.TemporaryDirectory(prefix=".export-", dir=directory) as temporary,
        ):
            written = os.path.join(temporary, "version")
            write(written)
            return _publish(written, directory)
    except OSError as error:
        if error.errno in FULL:
            raise  # it names the folder already
        raise OSError(
            error.errno,
            f"`directory` must be a folder that can be written to, got {directory!r}: "
            f"{error.strerror}",
        ) from error


def _publish(written, directory):
    while True:
        version = os.path.join(directory, str(_latest(directory) + 1))
        try:
            os.rename(written, version)
        except OSError as error:
            # Another export was faster; the number is taken now.
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        else:
            return version


def _latest(directory):
    numbers = [int(name) for name in os.listdir(directory) if name.isascii() and name.isdigit()]
    return max(numbers, default=0)
