"""Word vectors in TensorBoard's embedding projector."""

import pathlib

import numpy as np

from keras_seqzoo.data.output_files import replacing

CONFIG = """\
embeddings {
  tensor_name: "word_vectors"
  tensor_path: "vectors.tsv"
  metadata_path: "words.tsv"
}
"""


def save_projector(vectors, folder, most=10_000):
    """Writes the files with which TensorBoard's projector shows word vectors.

    `tensorboard --logdir FOLDER` then has them under "Projector".

    Args:
        vectors: `WordVectors`.
        folder: string or path; it is made if there is none.
        most: int, how many words, the first of `vectors`.

    Raises:
        ValueError: if a word has a tab or line feed in it, which the files cannot hold.
        OSError: if a file cannot be written.
    """
    words = vectors.words[:most]
    for word in words:
        if not {"\t", "\n", "\r"}.isdisjoint(word):
            raise ValueError(f"the projector's files cannot hold the word {word!r}")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "vectors.tsv") as draft:
        np.savetxt(draft, vectors.matrix[:most], fmt="%.7g", delimiter="\t")
    with replacing(folder / "words.tsv") as draft:
        draft.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    with replacing(folder / "projector_config.pbtxt") as draft:
        draft.write_text(CONFIG, encoding="utf-8")
