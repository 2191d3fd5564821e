"""Files of public data sets: local copies, and downloads with checksums in a cache folder."""

import gzip
import hashlib
import http.client
import io
import os
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path
from typing import NamedTuple

from keras_seqzoo.data.text_files import read_bytes

TIMEOUT_SECONDS = 30


class PublicFile(NamedTuple):
    """A file of a public data set.

    Attributes:
        folder: string, the name of the data set.
        name: string, the name of the file. If it ends in `.gz`, a local copy may be plain.
        url: string, the address that it is downloaded from.
        checksum: string, such as `"sha256:…"`, in hexadecimal: the checksum of the content, which
            is decompressed if the name ends in `.gz`, since the compressed bytes may differ.
        member: string, the file in the zip archive at `url`, or `None` if `url` is the file.
    """

    folder: str
    name: str
    url: str
    checksum: str
    member: str | None = None


def find_or_download(file, directory=None):
    """Return the path of a `PublicFile`, from the first of these places.

    1. `directory`, if given; the file must then be there;
    2. the folder named by the environment variable `SEQZOO_DATA`, if the file is there;
    3. a cache folder (`$XDG_CACHE_HOME/keras_seqzoo`, or `~/.cache/keras_seqzoo`), to which it is
       downloaded once, with a line on standard error. Its checksum is checked each time.

    The first two folders may contain a folder with the name of the data set, or be that folder.

    Args:
        file: a `PublicFile`.
        directory: string or path of a folder, or `None`.

    Raises:
        ValueError: if a downloaded file has another checksum.
        OSError: if the file is in none of the places and cannot be downloaded.
    """
    path = find_local_copy(file, directory)
    if path is not None:
        return path
    if directory is not None:
        raise FileNotFoundError(
            f"`directory` must contain {file.folder}/{file.name} or {file.name}, got "
            f"{os.fspath(directory)}."
        )
    try:
        return download(file, cache_directory() / file.folder / file.name)
    except (OSError, ValueError) as error:
        raise type(error)(
            f"{str(error).removesuffix('.')}. To read a local copy, put {file.name} into a folder "
            "and pass it as `directory`, or in the environment variable SEQZOO_DATA."
        ) from None


def find_local_copy(file, directory=None):
    """Return the path of a `PublicFile` in `directory`, or else in `SEQZOO_DATA`, or `None`."""
    folder = os.environ.get("SEQZOO_DATA") if directory is None else directory
    if not folder:
        return None
    for parent in (Path(folder) / file.folder, Path(folder)):
        for name in (file.name, file.name.removesuffix(".gz")):
            if (parent / name).is_file():
                return parent / name
    return None


def cache_directory():
    """Return the folder of downloads: `keras_seqzoo` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "keras_seqzoo"


def download(file, path):
    """Download a file to `path`, with a line on standard error, unless it is there already.

    The file appears at `path` only when it is complete and has the right checksum. An existing file
    with another checksum is downloaded again.

    Args:
        file: a `PublicFile`.
        path: string or path; its folder is created.

    Returns:
        The path, a `pathlib.Path`.

    Raises:
        OSError: if the file cannot be downloaded or written.
        ValueError: if the downloaded file has another checksum.
    """
    path = Path(path)
    if _matches(path, file.checksum):
        return path
    print(f"Downloading {file.url} to {path}", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(_fetch(file))
        if not _matches(partial, file.checksum):
            raise ValueError(
                f"`url` must be content of {file.checksum}, got another from {file.url}."
            )
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)
    return path


def _fetch(file):
    """Download the bytes of a file; the member of an archive is compressed if its name says so."""
    try:
        with urllib.request.urlopen(file.url, timeout=TIMEOUT_SECONDS) as response:
            content = response.read()
        if file.member is None:
            return content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(file.member)
    except (zipfile.BadZipFile, KeyError) as error:
        raise OSError(f"no zip archive with {file.member} at {file.url}: {error}") from None
    except (OSError, http.client.HTTPException) as error:
        raise OSError(f"cannot download {file.url}: {getattr(error, 'reason', error)}") from None
    return gzip.compress(content) if file.name.endswith(".gz") else content


def _matches(path, checksum):
    algorithm, _, expected = checksum.partition(":")
    try:
        content = read_bytes(path)
    except OSError:
        return False
    return hashlib.new(algorithm, content).hexdigest() == expected
