"""Unigram language model segmentation."""

import keras

from keras_seqzoo.checks import check_integer, check_positive
from keras_seqzoo.tokenizers.sentence_piece import SentencePieceTokenizer
from keras_seqzoo.tokenizers.sentence_piece_model import proto_of_pieces
from keras_seqzoo.tokenizers.subword_sampling import UnigramSampler

MOST_SEGMENTATIONS = 512  # SentencePiece's limit


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class UnigramTokenizer(SentencePieceTokenizer):
    """Subword tokenizer by a unigram language model (Kudo, 2018).

    The Viterbi algorithm segments a text `x` into the pieces `x_1 … x_M` of the vocabulary that
    maximize `P(x_1 … x_M) = p(x_1) · … · p(x_M)` (equations 6 and 7 of the paper). Training starts
    from a large set of frequent substrings, estimates `p` by expectation maximization, and prunes
    the pieces whose loss lowers the likelihood of the text least, until `vocabulary_size` are left.
    Characters outside the vocabulary become their UTF-8 bytes, so nothing is unknown.

    Subword regularization (section 3.1 of the paper): with `training=True` and `alpha` or
    `nbest_size`, a segmentation is drawn from the `nbest_size` best or from all, with probability
    proportional to `P(x_1 … x_M)^alpha`. SentencePiece draws it, and its generator ignores all
    seeds. `redraw` draws from all by a seed, with alpha as its `rate`.

    Training, special tokens and round trips: see `SentencePieceTokenizer`.

    Args:
        proto: bytes, a serialized SentencePiece model as created by `train`, or `None` to load it
            later by `load_assets`.
        nbest_size: int, the number of segmentations to draw from, at most 512; 1 always takes the
            best, whatever `alpha` is; -1 draws from all. `None` means -1 with `alpha`, and 1
            without.
        alpha: float above 0; near 0 segmentations are equally likely, high values prefer the best.
            `None` means 0.1.
        **kwargs: Arguments of `TextTokenizer`.

    Raises:
        ValueError: if `nbest_size` or `alpha` is outside its range; see also
            `SentencePieceTokenizer`.

    Example:
    ```python
    lines = ["the cat sat on the mat", "the dog sat on the log"]
    tokenizer = UnigramTokenizer.train(lines, vocabulary_size=275)
    ids = tokenizer(["the dog sat"])  # a RaggedTensor of shape (1, None)
    tokenizer.detokenize(ids)  # ["the dog sat"]
    ```

    References:
        - Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple
          Subword Candidates", 2018, https://arxiv.org/abs/1804.10959
    """

    model_type = "unigram"
    sampler_class = UnigramSampler

    def __init__(self, proto=None, nbest_size=None, alpha=None, **kwargs):
        if nbest_size is None:
            nbest_size = 1 if alpha is None else -1
        alpha = 0.1 if alpha is None else alpha
        check_integer("nbest_size", nbest_size, minimum=-1)
        if not nbest_size or nbest_size > MOST_SEGMENTATIONS:
            raise ValueError(
                f"`nbest_size` must be -1 or from 1 to {MOST_SEGMENTATIONS}, got {nbest_size}."
            )
        check_positive("alpha", alpha)
        super().__init__(proto, **kwargs)
        self.nbest_size = nbest_size
        self.alpha = alpha

    @classmethod
    def train(
        cls,
        texts,
        vocabulary_size,
        *,
        at_most=False,
        character_coverage=0.9995,
        most_lines=None,
        **kwargs,
    ):
        """Train a tokenizer on text; see `SentencePieceTokenizer.train`.

        SentencePiece holds the lines in memory, and takes several times their size.

        Args:
            texts: See the base class.
            vocabulary_size: See the base class.
            at_most: See the base class.
            character_coverage: See the base class.
            most_lines: int, the number of lines to draw from a text that does not fit in memory, or
                `None` for all.
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.
        """
        return cls._train(
            texts,
            vocabulary_size,
            kwargs,
            at_most=at_most,
            character_coverage=character_coverage,
            most_lines=most_lines,
        )

    @classmethod
    def from_pieces(cls, pieces, **kwargs):
        """Create a tokenizer from known pieces.

        Spaces are ordinary characters and none is added. Text that the pieces cannot spell becomes
        bytes.

        Args:
            pieces: dict from strings to the natural logarithms of their probabilities; U+2581
                stands for a space.
            **kwargs: Other arguments of the constructor.

        Returns:
            A tokenizer of this class.

        Example:
        >>> import math
        >>> frequencies = {"a": 19, "b": 16, "d": 5, "ab": 12, "da": 5}
        >>> pieces = {piece: math.log(count / 72) for piece, count in frequencies.items()}
        >>> tokenizer = UnigramTokenizer.from_pieces(pieces)
        >>> [tokenizer.id_to_token(id) for id in tokenizer("dab").numpy()]
        ['da', 'b']
        """
        return cls(proto_of_pieces(pieces, cls.model_type, mark=None), **kwargs)

    def sample(self, texts):
        """Draw a segmentation of each text; see the base class."""
        if self.nbest_size == 1:
            return self.encode(texts)
        return self._segmenter.tokenize(texts, self.nbest_size, self.alpha)

    def get_config(self):
        """Return the constructor arguments, with `proto` as `None`: it is saved as an asset."""
        return {**super().get_config(), "nbest_size": self.nbest_size, "alpha": self.alpha}
