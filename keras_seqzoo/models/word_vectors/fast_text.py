"""fastText: word2vec with vectors of character n-grams."""

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams
from keras_seqzoo.models.word_vectors.subword_vectors import SubwordVectors
from keras_seqzoo.models.word_vectors.word2vec import Word2Vec
from keras_seqzoo.tensors import gather_rows


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class FastText(Word2Vec):
    """fastText (Bojanowski et al., 2017): word2vec whose word vectors include n-gram vectors.

    In the losses of `Word2Vec` the vector of a word w is

        v_w = e_w + Σ_{g in G_w} z_g

    where e_w is a vector of the word itself and the z_g are the vectors of its character n-grams
    G_w: the runs of `minimum_ngram` to `maximum_ngram` characters of `<w>`, including `<` and `>`.
    N-grams are hashed by FNV-1a into `buckets` vectors. Output vectors are those of whole words.
    The paper uses skip-gram with negative sampling; all kinds of `Word2Vec` are possible.

    The vector of an unknown word is the sum of its n-gram vectors: `vectors()["unheard"]`.

    Args:
        words: see `Word2Vec`.
        counts: see `Word2Vec`.
        dimensions: see `Word2Vec`.
        minimum_ngram: int, the fewest characters of an n-gram.
        maximum_ngram: int, the most.
        buckets: int, the number of vectors for n-grams. The authors' program has 2 million. Each
            takes 4 bytes per dimension.
        **kwargs: other arguments of `Word2Vec`.

    Call arguments:
        words: see `Word2Vec`.

    Returns:
        The vectors v_w, a float32 tensor `(..., dimensions)`.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
    ```python
    model = FastText.for_text(lines, dimensions=100, minimum_count=5)
    model.compile()
    model.fit(model.batches(lines), epochs=5)
    model.vectors().most_similar("filmlike")  # a word that is not in the text
    ```
    """

    learning_rate = 0.05  # the step of a word is the sum of the steps of its n-grams

    def __init__(
        self,
        words,
        counts,
        dimensions=100,
        minimum_ngram=3,
        maximum_ngram=6,
        buckets=200_000,
        **kwargs,
    ):
        super().__init__(words, counts, dimensions, **kwargs)
        self._ngrams = CharacterNgrams.checked(minimum_ngram, maximum_ngram, buckets)
        rows, lengths = self._ngrams.hash(self.words)
        self._ngrams_of_words = tf.RaggedTensor.from_row_lengths(rows.astype(np.int32), lengths)
        self.ngram_vectors = self.add_vectors(buckets, "ngram_vectors")

    def call(self, words):
        """Return the vectors of words, or of the words of a batch of windows."""
        words = words["words"] if isinstance(words, dict) else words
        different, places = tf.unique(tf.reshape(words, [-1]))  # sum up frequent words only once
        ngrams = tf.gather(self._ngrams_of_words, different)
        sums = tf.sparse.segment_sum(
            tf.convert_to_tensor(self.ngram_vectors),
            ngrams.flat_values,
            ngrams.value_rowids(),
            num_segments=tf.size(different),
            sparse_gradient=True,
        )
        vectors = gather_rows(self.embeddings, different) + sums
        shape = tf.concat([tf.shape(words), [self.dimensions]], axis=0)
        return tf.reshape(tf.gather(vectors, places), shape)

    def vectors(self):
        """Return the trained `SubwordVectors`."""
        matrix = self(tf.range(len(self.words))).numpy()
        minimum, maximum, _ = self._ngrams
        return SubwordVectors(self.words, matrix, self.ngram_vectors.numpy(), minimum, maximum)

    def get_config(self):
        """Return the constructor arguments."""
        minimum, maximum, buckets = self._ngrams
        ngrams = {"minimum_ngram": minimum, "maximum_ngram": maximum, "buckets": buckets}
        return {**super().get_config(), **ngrams}
