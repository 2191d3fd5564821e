"""The IMDb data set: film reviews, positive and negative."""

import json
import re
import tarfile

from keras_seqzoo.checks import check_choice
from keras_seqzoo.data.download import PublicFile, find_local_copy, find_or_download
from keras_seqzoo.data.text_files import iterate_lines

URL = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
CHECKSUM = "md5:7c2ac02c03563afcf9b574c7e56c153a"
SPLITS = ("train", "test", "unsup")
LABELS = ("negative", "positive")
# Not .gz: the checksum is that of the compressed archive.
ARCHIVE = "aclImdb_v1.tgz"


def load_imdb(split="train", directory=None):
    """Load a split of the Large Movie Review Dataset (Maas et al., 2011).

    It is read from the first of these places:

    1. `directory`, if given; the file must then be there;
    2. the folder named by the environment variable `SEQZOO_DATA`, if the file is there;
    3. a cache folder (`$XDG_CACHE_HOME/keras_seqzoo/imdb`, or `~/.cache/...`), to which the archive
       (84 MB) is downloaded once, with a line on standard error. Its checksum is checked each time.

    In the first two places it is the archive, named `aclImdb_v1.tgz`, or a file such as
    `train.jsonl.gz`, with an object of `text` and `label` (1 or 0) in each line. These folders may
    contain a folder `imdb`, or be that folder.

    Texts are as in the archive, with `<br />` for line breaks. All reviews with one label are
    together, and reviews of one film are near each other: shuffle for training, and hold out blocks
    for validation. No licence is stated; the authors ask to be cited.

    Args:
        split: `"train"` (25,000 reviews), `"test"` (25,000) or `"unsup"` (50,000 without labels).
        directory: string or path of a folder with the data set, or `None`.

    Returns:
        A pair of lists of strings, the texts and their labels, `"negative"` or `"positive"`; for
        `"unsup"` the texts and `None`.

    Raises:
        ValueError: if `split` is unknown, or the archive has another checksum.
        OSError: if the data set is in none of the places and cannot be downloaded.

    Example:
        ```python
        texts, labels = load_imdb("train")
        print(labels[0], texts[0])
        ```
    """
    check_choice("split", split, SPLITS)
    archive = PublicFile("imdb", ARCHIVE, URL, CHECKSUM)
    path = find_local_copy(archive._replace(name=f"{split}.jsonl.gz"), directory)
    if path is not None:
        rows = _read_lines(path)
    else:
        rows = _read_archive(find_or_download(archive, directory), split)
    texts, labels = map(list, zip(*rows, strict=True))
    return texts, None if split == "unsup" else labels


def _read_lines(path):
    for line in iterate_lines(path):
        row = json.loads(line)
        yield row["text"], LABELS[row["label"]] if "label" in row else None


def _read_archive(path, split):
    """Return the reviews of a split, positive ones first, in the order of their numbers."""
    folder = "train/(unsup)" if split == "unsup" else f"{split}/(pos|neg)"
    pattern = re.compile(rf"aclImdb/{folder}/(\d+)_\d+\.txt")
    found = []
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if match := pattern.fullmatch(member.name):
                text = archive.extractfile(member).read().decode("utf-8")
                found.append((match[1] == "neg", int(match[2]), text))
    label = {True: "negative", False: None if split == "unsup" else "positive"}
    return [(text, label[is_negative]) for is_negative, _, text in sorted(found)]
