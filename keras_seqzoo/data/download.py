"""Files from the network, checked and kept in a cache folder."""

import hashlib
import http.client
import os
import sys
import tempfile
import urllib.request
from pathlib import Path

from keras_seqzoo.data.text_files import read_bytes

TIMEOUT_SECONDS = 30


def cache_directory():
    """The folder of downloaded files: `keras_seqzoo` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "keras_seqzoo"


def download(url, path, sha256):
    """Brings a file to `path`, unless it is there already, and says so on standard error.

    The file appears under its name only when it is whole and right, and one that is there but
    wrong is fetched again.

    Args:
        url: Where the file is.
        path: Where it shall be; its folder is made.
        sha256: The SHA-256 checksum, in hexadecimal, of what is in the file: of the decompressed
            bytes where the name ends in `.gz`, which one text can be compressed to in many ways.

    Returns:
        The path, as a `pathlib.Path`.

    Raises:
        OSError: When the file cannot be fetched or written.
        ValueError: When what was fetched has another checksum.
    """
    path = Path(path)
    if _matches(path, sha256):
        return path
    print(f"Downloading {url} to {path}", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(_fetch(url))
        if not _matches(partial, sha256):
            raise ValueError(
                f"{url} is not the file it was: it must hold content of SHA-256 {sha256}"
            )
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)
    return path


def _fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            return response.read()
    except (OSError, http.client.HTTPException) as error:
        raise OSError(f"cannot download {url}: {getattr(error, 'reason', error)}") from None


def _matches(path, sha256):
    try:
        content = read_bytes(path)
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == sha256
