"""Files that are written whole or not at all."""

import contextlib
import gzip
import os
import tempfile
from pathlib import Path


def check_output_path(path):
    """Makes sure that a file can be put at a path, before the work of making it.

    Args:
        path: string or path.

    Returns:
        The path, a `pathlib.Path`.

    Raises:
        OSError: if the path is a folder or a device, or lies in no folder that can be written to.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"a file is needed, but this is a folder: {path}")
    if path.exists() and not path.is_file():
        raise OSError(f"a file is needed, but this is a device: {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}")
    if not os.access(path.resolve().parent, os.W_OK):
        raise PermissionError(f"the folder cannot be written to: {path.resolve().parent}")
    return path


@contextlib.contextmanager
def replacing(path):
    """Gives a path to write to; what was written there then takes the place of a file.

    Where the writing fails, the old file stays, and nothing is left behind.

    Args:
        path: string or path. Where it is a link, the file that it leads to is replaced.

    Yields:
        A `pathlib.Path` in a temporary folder beside the file.

    Raises:
        OSError: if no file can be put there.

    Example:
        >>> path = Path(tempfile.mkdtemp(), "greeting.txt")
        >>> with replacing(path) as draft:
        ...     _ = draft.write_text("hello")
        >>> path.read_text()
        'hello'
    """
    path = check_output_path(path)
    real = path.resolve()
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=real.parent) as folder:
        draft = Path(folder, path.name)  # its ending may say the format
        yield draft
        os.replace(draft, real)


@contextlib.contextmanager
def new_folder(path):
    """Gives a folder to write to; it then becomes the folder at a path.

    Where the writing fails, nothing is left behind.

    Args:
        path: string or path, of a folder that does not exist or is empty.

    Yields:
        A `pathlib.Path` of a folder beside it.

    Raises:
        OSError: if there is something at the path, or no folder can be made there.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"a new or empty folder is needed, but this is a file: {path}")
    if path.is_dir() and any(path.iterdir()):
        raise FileExistsError(f"a new or empty folder is needed, but this one has files: {path}")
    parent = path.resolve().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=parent) as folder:
        draft = Path(folder, path.name)
        draft.mkdir()
        yield draft
        os.replace(draft, path.resolve())


def write_text(path, text):
    """Writes a UTF-8 file, compressed where its name ends in `.gz`; an old file stays on failure.

    Args:
        path: string or path.
        text: string.

    Raises:
        OSError: if the file cannot be written.
    """
    content = text.encode("utf-8")
    if Path(path).suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # the same text, the same bytes
    with replacing(path) as draft:
        draft.write_bytes(content)
