"""Presets of word vectors: a folder with the vectors, and the tokenizer that finds the words."""

import io
import json

import h5py
import numpy as np

from keras_seqzoo.data.output_files import replacing, write_text, writing_into
from keras_seqzoo.tokenizers import TextTokenizer, WordTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import SPECIAL_TOKENS
from keras_seqzoo.zoo import preset_path
from keras_seqzoo.zoo.names import CONFIG_FILE, METADATA_FILE

VECTORS_FILE = "vectors.h5"
CLASS_NAME = "WordVectors"


def write_preset(directory, words, matrix, tokenizer=None, metadata=None):
    """Writes a preset: `config.json`, `metadata.json`, `vectors.h5` (float16), and a tokenizer.

    Args:
        directory: path of the folder; it is made if there is none.
        words: list of strings.
        matrix: floats `(words, dimensions)`.
        tokenizer: a `WordTokenizer` with these words, which knows how the text was cut into them;
            by default one that splits at white space.
        metadata: dict that JSON can hold, of what `list_presets` gives.

    Raises:
        ValueError: if the tokenizer has other words, or a number is too large for float16.
    """
    tokenizer = WordTokenizer(words) if tokenizer is None else tokenizer
    if not isinstance(tokenizer, WordTokenizer) or tokenizer.words != list(words):
        raise ValueError("`tokenizer` must be a `WordTokenizer` of the words that have vectors.")
    with np.errstate(over="ignore"):
        narrow = np.asarray(matrix, np.float16)
    if not np.isfinite(narrow).all():
        raise ValueError(f"`matrix` must hold numbers of float16, got {np.abs(matrix).max()}.")
    config = {"class_name": CLASS_NAME, "config": {"dimensions": narrow.shape[1]}}
    metadata = {"description": "", "parameter_count": narrow.size, **(metadata or {})}
    vectors = io.BytesIO()  # see `reserve` of `output_files`
    with h5py.File(vectors, "w") as file:
        file.create_dataset(
            "vectors", data=narrow, chunks=narrow.shape, compression="gzip", shuffle=True
        )
    with writing_into(directory) as directory:
        tokenizer.save_to_preset(str(directory))
        with replacing(directory / VECTORS_FILE) as path:
            path.write_bytes(vectors.getvalue())
        for name, content in ((METADATA_FILE, metadata), (CONFIG_FILE, config)):
            write_text(directory / name, json.dumps(content, indent=4) + "\n")


def read_preset(preset):
    """Reads a preset.

    Args:
        preset: a name (see `keras_seqzoo.list_presets`) or the path of a folder.

    Returns:
        A list of words, and their vectors, float32 `(words, dimensions)`.

    Raises:
        ValueError: if there is no such preset, it holds something else or is damaged.
    """
    folder = preset_path(preset)
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        if config.get("class_name") != CLASS_NAME:
            raise ValueError(f"it holds a {config.get('class_name')}, not word vectors")
        with h5py.File(folder / VECTORS_FILE) as file:
            matrix = file["vectors"][()].astype(np.float32)
        words = TextTokenizer.from_preset(folder).get_vocabulary()[len(SPECIAL_TOKENS) :]
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"the preset {str(preset)!r} cannot be loaded: {error}") from error
    return words, matrix
