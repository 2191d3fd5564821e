"""Base class of models that learn word vectors from text."""

import keras
import numpy as np

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.models.word_vectors.encoded_text import EncodedText
from keras_seqzoo.models.word_vectors.row_adagrad import RowAdagrad
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.training_texts import count_pieces, frequent_pieces, several_times
from keras_seqzoo.tokenizers.words import split_words


class WordVectorModel(ReloadableModel, keras.Model):
    """Base class of models that learn word vectors from text.

    Args:
        words: list of strings.
        counts: integers `(V,)`, the count of each word.
        dimensions: int, the size of the vectors.
        window: int, the maximum number of words on each side.
        **kwargs: `name` and `dtype`.

    Attributes:
        learning_rate: float, a class attribute: the default initial learning rate.
    """

    learning_rate = 0.25

    def __init__(self, words, counts, dimensions, window, **kwargs):
        super().__init__(**kwargs)
        self.words = list(words)
        self.counts = np.asarray(counts, np.int64)
        if self.counts.shape != (len(self.words),) or (self.counts < 0).any():
            raise ValueError(
                f"`counts` must be {len(self.words)} integers of at least 0, got an array of "
                f"shape {self.counts.shape}."
            )
        if len(self.words) < 2:
            raise ValueError(f"`words` must be at least two words, got {self.words}.")
        self.dimensions = check_integer("dimensions", dimensions, minimum=1)
        self.window = check_integer("window", window, minimum=1)
        self.supports_jit = False  # the size of batches differs, and `RowAdagrad` looks for rows
        self._tokenizer = WordTokenizer(self.words)

    @classmethod
    def for_text(cls, texts, minimum_count=None, vocabulary_size=None, **kwargs):
        """Create a model for the words of a text, the most frequent first.

        Args:
            texts: see `WordTokenizer.train`; words are separated by white space.
            minimum_count: int, the minimum count of a word, or `None` for 5. If no word is that
                frequent, `None` means 1, with a warning.
            vocabulary_size: int, the maximum number of words, or `None` for no limit.
            **kwargs: other arguments of the constructor.

        Returns:
            An untrained model.
        """
        counts = count_pieces(texts, split_words)
        words = frequent_pieces(counts, vocabulary_size, minimum_count, "word", 5)
        return cls(words, [counts[word] for word in words], **kwargs)

    def encode(self, texts):
        """Return texts as ids for `batches`, so that datasets of several epochs read them once.

        Args:
            texts: see `batches`.

        Returns:
            An `EncodedText`.
        """
        return EncodedText(self._tokenizer, several_times(texts))

    def read_blocks(self, texts, block_words, multiple=1):
        """Return the `Blocks` of a text or of an `EncodedText`.

        Args:
            texts: see `batches`.
            block_words: int, the words of a block, rounded up to a multiple of `multiple`.
            multiple: int.

        Raises:
            ValueError: if no word of the text has a vector, or `block_words` is less than 1.
        """
        check_integer("block_words", block_words, minimum=1)
        encoded = texts if isinstance(texts, EncodedText) else self.encode(texts)
        blocks = encoded.blocks(-(-block_words // multiple) * multiple)
        if not blocks.words:
            raise ValueError("`texts` must have at least one word with a vector, got none.")
        return blocks

    def compile(self, optimizer=None, **kwargs):
        """Configure training, by default with `RowAdagrad(learning_rate)`; see `keras.Model`."""
        kwargs.setdefault("jit_compile", False)
        super().compile(
            RowAdagrad(self.learning_rate) if optimizer is None else optimizer, **kwargs
        )

    def add_vectors(self, rows, name):
        """Add a matrix of vectors, uniformly distributed between ± 0.5 / dimensions."""
        half = 0.5 / self.dimensions
        return self.add_weight(
            shape=(rows, self.dimensions),
            initializer=keras.initializers.RandomUniform(-half, half),
            autocast=False,
            name=name,
        )

    def get_config(self):
        """Return the constructor arguments."""
        return {
            **super().get_config(),
            "words": self.words,
            "counts": self.counts.tolist(),
            "dimensions": self.dimensions,
            "window": self.window,
        }


def seed_of(seed):
    """Return an int for a seed that is an int or a sequence of ints."""
    return seed if isinstance(seed, int) else int(np.random.SeedSequence(seed).generate_state(1)[0])
