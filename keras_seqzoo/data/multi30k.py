"""The Multi30k data set: image captions in four languages."""

from keras_seqzoo.checks import check_choice
from keras_seqzoo.data.download import PublicFile, find_or_download
from keras_seqzoo.data.text_files import read_parallel

HOME = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/"
)

# SHA-256 of the decompressed text of each file.
CHECKSUMS = {
    "train.cs": "2be68b38c8d586ff4f54eb13cc6e1baaaa053695b3f070d3038303a47f2268da",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "val.cs": "d53827e469b0a1ca8d57e9e26b2b64c4bc4b33f5479c7b03ae87ae5c882c3e33",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "test_2016_flickr.cs": "45adb85f688de8407fddcbe1b36dca15d12aab868149b337e2576f2d6d2ff8d8",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
}
SPLITS = ("train", "val", "test_2016_flickr")
LANGUAGES = ("cs", "de", "en", "fr")


def load_multi30k(split="train", source="en", target="fr", directory=None):
    """Load the raw text of two languages of a split of Multi30k (Elliott et al., 2016).

    Each file, such as `train.en.gz`, is read from the first of these places:

    1. `directory`, if given; the file must then be there;
    2. the folder named by the environment variable `SEQZOO_DATA`, if the file is there;
    3. a cache folder (`$XDG_CACHE_HOME/keras_seqzoo/multi30k`, or `~/.cache/...`), to which the
       file is downloaded once, with a line on standard error. Its checksum is checked each time.

    The first two folders may contain a folder `multi30k`, or be that folder. Files may be
    compressed (`train.en.gz`) or plain (`train.en`).

    The captions are provided "for researchers and educators who wish to use the dataset for
    non-commercial research and/or educational purposes".

    Args:
        split: `"train"` (29,000 pairs), `"val"` (1,014) or `"test_2016_flickr"` (1,000).
        source: the source language: `"cs"`, `"de"`, `"en"` or `"fr"`.
        target: the target language, one of the same.
        directory: string or path of a folder with the data set, or `None`.

    Returns:
        A pair of lists of strings, the sentences in the source and in the target language.

    Raises:
        ValueError: if `split` or a language is unknown, or a file has another checksum.
        OSError: if a file is in none of the places and cannot be downloaded.

    Example:
        ```python
        english, french = load_multi30k("val", source="en", target="fr")
        print(english[0], "=", french[0])
        ```
    """
    check_choice("split", split, SPLITS)
    check_choice("source", source, LANGUAGES)
    check_choice("target", target, LANGUAGES)
    return read_parallel(
        _find(f"{split}.{source}", directory), _find(f"{split}.{target}", directory)
    )


def _find(name, directory):
    """Return the path of the file `name`, found or downloaded."""
    checksum = f"sha256:{CHECKSUMS[name]}"
    return find_or_download(
        PublicFile("multi30k", f"{name}.gz", f"{HOME}{name}.gz", checksum), directory
    )
