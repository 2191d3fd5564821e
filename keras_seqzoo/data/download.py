"""Download of files, with checksums, to a cache folder."""

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
    """Return the folder of downloads: `keras_seqzoo` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "keras_seqzoo"


def download(url, path, sha256):
    """Download a file to `path`, with a line on standard error, unless it is there already.

    The file appears at `path` only when it is complete and has the right checksum. An existing file
    with another checksum is downloaded again.

    Args:
        url: string, the address of the file.
        path: string or path of the file; its folder is created.
        sha256: string, the SHA-256 checksum of the content in hexadecimal; of the decompressed
            content if the name ends in `.gz`, since the compressed bytes may differ.

    Returns:
        The path, a `pathlib.Path`.

    Raises:
        OSError: if the file cannot be downloaded or written.
        ValueError: if the downloaded file has another checksum.
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
            raise ValueError(f"`url` must be content of SHA-256 {sha256}, got another from {url}.")
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
