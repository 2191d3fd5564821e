"""Writing of files and folders, completely or not at all."""

import contextlib
import errno
import gzip
import os
import shutil
import tempfile
from pathlib import Path

DRAFT = ".writing-"  # the beginning of the names of folders with drafts
# Files that file managers create in folders.
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")

# The error codes of a full disk, and their messages.
FULL = {
    errno.ENOSPC: "no space left in {}",
    errno.EDQUOT: "no space left in {}: the quota is used up",
    errno.EFBIG: "a file gets too large for the limit of this process (ulimit -f), in {}",
}


def check_writable(path, argument="path"):
    """Check that a file or folder can be created at a path, with any missing parents.

    Args:
        path: string or path. If it is an existing folder, the folder itself is checked.
        argument: string, the name of the argument in the error.

    Raises:
        OSError: if the nearest folder that exists cannot be written to; the message says why.
    """
    path = Path(path)
    real = path.resolve()
    existing = next(folder for folder in (real, *real.parents) if folder.is_dir())
    if os.access(existing, os.W_OK):
        return
    read_only = hasattr(os, "statvfs") and os.statvfs(existing).f_flag & os.ST_RDONLY
    code = errno.EROFS if read_only else errno.EACCES
    raise OSError(code, f"`{argument}` must be writable, got {path}: {os.strerror(code)}")


def check_folder(path, argument="path"):
    """Check that a path is a folder that can be written to, or can become one.

    Args:
        path: string or path.
        argument: string, the name of the argument in the error.

    Raises:
        NotADirectoryError: if the path is a file, or is inside one.
        OSError: if the nearest folder that exists cannot be written to.
    """
    path = Path(path)
    existing = next(part for part in (path, *path.absolute().parents) if part.exists())
    if not existing.is_dir():
        raise NotADirectoryError(
            errno.ENOTDIR, f"`{argument}` must be a folder, got a file: {existing}."
        )
    check_writable(path, argument)


def check_output_path(path, argument="path"):
    """Check that a file can be written to a path, and return it as a `pathlib.Path`.

    Args:
        path: string or path.
        argument: string, the name of the argument in the error.

    Raises:
        OSError: if the path is a folder or a device, or is not in a writable folder.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"`{argument}` must be a file, got the folder {path}")
    if path.exists() and not path.is_file():
        raise OSError(f"`{argument}` must be a file, got the device {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no such folder: {path.parent}")
    check_writable(path, argument)
    return path


def check_new_file(path, argument="path"):
    """Check that a new file can be written to a path; see `check_output_path`.

    Raises:
        OSError: if the path exists or is not in a writable folder.
    """
    path = check_output_path(path, argument)
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"`{argument}` must be a new file, got the existing file {path}")
    return path


def is_vacant(folder, drafts=False):
    """Return whether a folder is empty, except for files of file managers.

    Args:
        folder: string or path.
        drafts: bool, whether drafts do not count either. A process that is killed while it writes
            leaves one.
    """
    names = [path.name for path in Path(folder).iterdir()]
    return all(name in LITTER or (drafts and name.startswith(DRAFT)) for name in names)


@contextlib.contextmanager
def writing_into(folder):
    """Create a folder, unless it exists, and report a full disk.

    If the block fails, the folders that were created and are still empty are removed.

    Args:
        folder: string or path.

    Yields:
        The folder, a `pathlib.Path`.

    Raises:
        OSError: if the disk is full while the block writes, with any library; the message names the
            folder. Other errors are raised unchanged.

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
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException as error:
        for path in created:  # the innermost first
            with contextlib.suppress(OSError):
                path.rmdir()
        code = _full_disk_code(error) if isinstance(error, Exception) else None
        if code is None:
            raise
        raise OSError(code, FULL[code].format(folder)) from error


def reserve(folder, size):
    """Raise an `OSError` unless the disk of a folder has space for a file of `size` bytes.

    HDF5 ends the process if the disk is full while it writes.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        elif shutil.disk_usage(folder).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def replacing(path):
    """Replace a file by the one that the block writes, once it is complete.

    If the block fails, an existing file stays unchanged, and temporary files are removed.

    Args:
        path: string or path. If it is a link, its target is replaced.

    Yields:
        The path to write to, a `pathlib.Path` in a temporary folder next to the file.

    Raises:
        OSError: if the file cannot be written.

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
        _temporary_folder(real.parent) as folder,
    ):
        draft = Path(folder, path.name)  # the ending may determine the format
        yield draft
        os.replace(draft, real)


@contextlib.contextmanager
def _temporary_folder(parent):
    """Yield a new folder, and remove it if the parent folder can still be written to."""
    # `tempfile.TemporaryDirectory` recurses without end if it cannot.
    folder = tempfile.mkdtemp(prefix=DRAFT, dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def new_folder(path, argument="path"):
    """Create a folder from the one that the block writes, once it is complete.

    If the block fails, or the path is created in the meantime, temporary files are removed, and the
    path stays unchanged.

    Args:
        path: string or path of a folder that does not exist or is empty. Files of file managers do
            not count, and are kept.
        argument: string, the name of the argument in the error.

    Yields:
        The folder to write to, a `pathlib.Path` next to the new one.

    Raises:
        OSError: if the path is not vacant, or the folder cannot be created.
    """
    path = Path(path)
    _check_new_folder(path, argument)
    real = path.resolve()
    with (
        writing_into(path.parent),
        _temporary_folder(real.parent) as folder,
    ):
        draft = Path(folder, path.name)
        draft.mkdir()
        yield draft
        litter = [name for name in LITTER if os.path.lexists(real / name)]
        for name in litter:
            os.replace(real / name, draft / name)
        try:
            os.replace(draft, real)  # fails if the folder has files
        except OSError:
            for name in litter:
                os.replace(draft / name, real / name)
            _check_new_folder(path, argument)
            raise


def write_text(path, text):
    """Write a UTF-8 file, compressed if its name ends in `.gz`; see `replacing`."""
    content = text.encode("utf-8")
    if Path(path).suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # reproducible bytes
    with replacing(path) as draft:
        draft.write_bytes(content)


def _check_new_folder(path, argument):
    need = f"`{argument}` must be a new or empty folder"
    if path.resolve() == Path.cwd():  # it would be replaced, and its users be left in the old one
        raise FileExistsError(f"{need}, not the current one, got {path}")
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{need}, got the file {path}")
    if path.is_dir() and not is_vacant(path):
        raise FileExistsError(f"{need}, got one with files: {path}")
    check_writable(path, argument)
    if path.exists():
        check_writable(path.resolve().parent, argument)  # an empty folder is replaced


def _full_disk_code(error):
    """Return the code of a full disk from an error or its causes (not contexts), or `None`."""
    while error is not None:
        for code in FULL:
            # Some errors of HDF5, and all of TensorFlow, have the code only in the message.
            in_message = f"errno = {code}," in str(error) or os.strerror(code) in str(error)
            if in_message or getattr(error, "errno", None) == code:
                return code
        error = error.__cause__
    return None
