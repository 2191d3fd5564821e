"""The text8 data set: English words from Wikipedia."""

from keras_seqzoo.data.download import PublicFile, find_or_download
from keras_seqzoo.data.text_files import read_bytes

FILE = PublicFile(
    "text8",
    "text8.gz",
    "https://mattmahoney.net/dc/text8.zip",
    "md5:3bea1919949baf155f99411df5fada7e",
    "text8",
)


def load_text8(directory=None):
    """Load text8: the first 100 MB of English Wikipedia of 2006, as letters a to z and spaces.

    Matt Mahoney, "About the test data", mattmahoney.net/dc/textdata; Wikipedia's licence is GFDL
    and CC BY-SA. The text is read from the first of these places:

    1. `directory`, if given; `text8` or `text8.gz` must then be there;
    2. the folder named by the environment variable `SEQZOO_DATA`, if the file is there;
    3. a cache folder (`$XDG_CACHE_HOME/keras_seqzoo/text8`, or `~/.cache/...`), to which it is
       downloaded once, with a line on standard error. Its checksum is checked each time.

    The first two folders may contain a folder `text8`, or be that folder.

    Args:
        directory: string or path of a folder with the data set, or `None`.

    Returns:
        A string of 17 million words with single spaces between them. It has no sentences. For
        `Word2Vec`, cut it into lines, such as 1000 words each.

    Raises:
        ValueError: if the file has another checksum.
        OSError: if the file is in none of the places and cannot be downloaded.

    Example:
        ```python
        words = load_text8().split()
        lines = [" ".join(words[i : i + 1000]) for i in range(0, len(words), 1000)]
        ```
    """
    return read_bytes(find_or_download(FILE, directory)).decode("ascii").strip()
