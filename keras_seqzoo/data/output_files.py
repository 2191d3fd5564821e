"""Files that are written whole or not at all."""

import contextlib
import errno
import gzip
import os
import shutil
import tempfile
from pathlib import Path

# What file managers leave in folders that somebody has looked into.
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")

# The codes of errors that say that there is no room, and what is said of a folder.
FULL = {
    errno.ENOSPC: "no space left in {}",
    errno.EDQUOT: "no space left in {}: the quota is used up",
    errno.EFBIG: "a file gets too large for the limit of this process (ulimit -f), in {}",
}


def check_output_path(path):
    """Make sure that a file can be put at a path, before the work of making it.

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


def check_new_file(path):
    """Make sure that a file can be put at a path, and that none is there.

    Args:
        path: string or path.

    Returns:
        The path, a `pathlib.Path`.

    Raises:
        OSError: if there is something at the path, or it lies in no folder that can be written to.
    """
    path = check_output_path(path)
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"a new file is needed, but this one exists: {path}")
    return path


def is_vacant(folder):
    """Return whether a folder has nothing but what file managers leave in it."""
    return all(path.name in LITTER for path in Path(folder).iterdir())


@contextlib.contextmanager
def writing_into(folder):
    """Make a folder, where it does not exist, and tell a full disk from other errors.

    Where the block fails, the folders that were made for it, and are still empty, are removed.

    Args:
        folder: string or path.

    Yields:
        The folder, a `pathlib.Path`.

    Raises:
        OSError: if the disk is full while the block writes, by whatever library; the message
            names the folder. Other errors stay what they are.

    Example:
        >>> folder = Path(tempfile.mkdtemp(), "new")
        >>> with writing_into(folder):
        ...     raise OSError(errno.ENOSPC, "a disk without space")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        OSError: [Errno 28] no space left in ...
        >>> folder.exists()
        False
    """
    folder = Path(folder)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException as error:
        for path in made:  # the innermost first
            with contextlib.suppress(OSError):
                path.rmdir()
        number = _full_disk(error) if isinstance(error, Exception) else None
        if number is None:
            raise
        raise OSError(number, FULL[number].format(folder)) from error


def reserve(folder, size):
    """Make sure that a folder has room, before a library writes that cannot bear a full disk.

    HDF5 ends the process if it can neither write nor close a file.

    Args:
        folder: string or path of a folder that exists.
        size: int, the bytes that are going to be written.

    Raises:
        OSError: if there is less room.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        elif shutil.disk_usage(folder).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def replacing(path):
    """Give a path to write to; what was written there then takes the place of a file.

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
    with (
        writing_into(path.parent),
        tempfile.TemporaryDirectory(prefix=".writing-", dir=real.parent) as folder,
    ):
        draft = Path(folder, path.name)  # its ending may say the format
        yield draft
        os.replace(draft, real)


@contextlib.contextmanager
def new_folder(path):
    """Give a folder to write to; it then becomes the folder at a path.

    Where the writing fails, or something came to the path meanwhile, nothing is left behind, and
    what is at the path stays.

    Args:
        path: string or path, of a folder that does not exist or is empty. What file managers leave
            in folders does not count, and stays.

    Yields:
        A `pathlib.Path` of a folder beside it.

    Raises:
        OSError: if there is something at the path, or no folder can be made there.
    """
    path = Path(path)
    _check_new_folder(path)
    real = path.resolve()
    with (
        writing_into(path.parent),
        tempfile.TemporaryDirectory(prefix=".writing-", dir=real.parent) as folder,
    ):
        draft = Path(folder, path.name)
        draft.mkdir()
        yield draft
        litter = [name for name in LITTER if os.path.lexists(real / name)]
        for name in litter:
            os.replace(real / name, draft / name)
        try:
            os.replace(draft, real)  # no folder takes the place of one that has files
        except OSError:
            for name in litter:
                os.replace(draft / name, real / name)
            _check_new_folder(path)
            raise


def write_text(path, text):
    """Write a UTF-8 file, compressed where its name ends in `.gz`; an old file stays on failure.

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


def _check_new_folder(path):
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"a new or empty folder is needed, but this is a file: {path}")
    if path.is_dir() and not is_vacant(path):
        raise FileExistsError(f"a new or empty folder is needed, but this one has files: {path}")


def _full_disk(error):
    """Return the code of a full disk that an error, or its cause, has; else `None`.

    What was merely handled when the error was raised, its `__context__`, does not count.
    """
    while error is not None:
        for number in FULL:
            # HDF5 gives some errors, and TensorFlow all, no code but in the message.
            signs = f"errno = {number}," in str(error) or os.strerror(number) in str(error)
            if signs or getattr(error, "errno", None) == number:
                return number
        error = error.__cause__
    return None
