"""Sentence pairs of the Tatoeba project."""

from keras_seqzoo.checks import check_choice
from keras_seqzoo.data.download import PublicFile, find_or_download
from keras_seqzoo.data.text_files import iterate_lines

# By language: the file, the archive that contains it, and its name in the archive.
FILES = {
    "es": PublicFile(
        "tatoeba",
        "spa-eng.tsv.gz",
        "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
        "sha256:6ec60e212f812ee3430f7568ea6f33b6fb080e32193c5952e8da0ee8ba45574c",
        "spa-eng/spa.txt",
    ),
    "fr": PublicFile(
        "tatoeba",
        "fra-eng.tsv.gz",
        "https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
        "sha256:0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
        "fra-eng/fra.txt",
    ),
}
ENGLISH = "en"


def load_tatoeba(source="en", target="fr", directory=None):
    """Load sentence pairs in English and French or Spanish (manythings.org/anki, tatoeba.org).

    These are the files of Dive into Deep Learning (167,130 pairs of French, 2019) and of
    TensorFlow's tutorial on translation (118,964 pairs of Spanish, 2018). The file, such as
    `fra-eng.tsv.gz`, is read from the first of these places:

    1. `directory`, if given; the file must then be there;
    2. the folder named by the environment variable `SEQZOO_DATA`, if the file is there;
    3. a cache folder (`$XDG_CACHE_HOME/keras_seqzoo/tatoeba`, or `~/.cache/...`), to which it is
       downloaded once, with a line on standard error. Its checksum is checked each time.

    The first two folders may contain a folder `tatoeba`, or be that folder. Short sentences come
    first, and an English sentence may have several translations: shuffle, and split the data by
    English sentences.
    The licence is CC BY 2.0, with attribution to www.manythings.org/anki and tatoeba.org.

    Args:
        source: the source language: `"en"`, `"es"` or `"fr"`.
        target: the target language, one of the same. One of the two is `"en"`.
        directory: string or path of a folder with the data set, or `None`.

    Returns:
        A pair of lists of strings, the sentences in the source and in the target language.

    Raises:
        ValueError: if a language is unknown, neither or both are English, or the file has another
            checksum.
        OSError: if the file is in none of the places and cannot be downloaded.

    Example:
        ```python
        english, french = load_tatoeba("en", "fr")
        print(english[0], "=", french[0])
        ```
    """
    check_choice("source", source, (ENGLISH, *FILES))
    check_choice("target", target, (ENGLISH, *FILES))
    if (source == ENGLISH) == (target == ENGLISH):
        raise ValueError(
            f"one of `source` and `target` must be {ENGLISH!r}, got {source!r} and {target!r}."
        )
    path = find_or_download(FILES[target if source == ENGLISH else source], directory)
    rows = (line.split("\t")[:2] for line in iterate_lines(path))
    english, other = map(list, zip(*rows, strict=True))
    return (english, other) if source == ENGLISH else (other, english)
