"""Word vectors in TensorBoard's embedding projector."""

import numpy as np

from keras_seqzoo.data.output_files import replacing, write_text, writing_into

CONFIG = """\
embeddings {
  tensor_name: "word_vectors"
  tensor_path: "vectors.tsv"
  metadata_path: "words.tsv"
}
"""


def save_projector(vectors, folder, most=10_000):
    """Write the files with which TensorBoard's projector shows word vectors.

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
    with writing_into(folder) as folder:
        with replacing(folder / "vectors.tsv") as draft:
            np.savetxt(draft, vectors.matrix[:most], fmt="%.7g", delimiter="\t")
        write_text(folder / "words.tsv", "".join(f"{word}\n" for word in words))
        write_text(folder / "projector_config.pbtxt", CONFIG)
