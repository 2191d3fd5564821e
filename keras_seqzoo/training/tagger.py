"""An untrained tagger for given sentences and tags."""

import collections
import itertools

from keras_seqzoo.checks import check_choice
from keras_seqzoo.models import (
    RecurrentTagger,
    RecurrentTaggerBackbone,
    RecurrentTaggerPreprocessor,
)
from keras_seqzoo.models.recurrent_tagger_preprocessor import PIECE_TOKENIZER_FILE
from keras_seqzoo.tokenizers import CharacterTokenizer, WordTokenizer
from keras_seqzoo.tokenizers.texts import frequent_pieces
from keras_seqzoo.training.subword_tokenizers import SUBWORDS, train_subwords
from keras_seqzoo.training.word_embeddings import (
    NORMAL_FORM,
    check_beginning,
    embedding_options,
    word_tokenizer,
)

PIECES = ("none", "character", *SUBWORDS)


def make_tagger(
    words,
    tags,
    minimum_count=None,
    vocabulary_size=None,
    pieces="character",
    piece_vocabulary_size=None,
    word_length=20,
    vectors=None,
    start=None,
    freeze_embeddings=False,
    crf=True,
    dtype=None,
    **backbone_options,
):
    """Make a tagger for sentences and their tags.

    Words are looked up in lower case; characters and subwords are those of the word as it stands.
    Strings that the tagger is given later are split at white space and around punctuation.

    Args:
        words: list of lists of strings.
        tags: list of lists of strings, as many. The tags are those that come, in alphabetical
            order.
        minimum_count: int, how often a word must come not to be `[UNK]`, or `None` for 2, and for 1
            where no word comes twice.
        vocabulary_size: int, the most words, or `None` for all.
        pieces: `"character"`, `"bpe"`, `"unigram"` or `"none"`.
        piece_vocabulary_size: int, how many subwords, or `None` for 1,000, or as many as the words
            give.
        word_length: int, the most pieces of a word.
        vectors: a `WordVectors`, or `None`: the embeddings begin with them, and its words are
            known too.
        start: the preset of a tagger, of other tags perhaps, whose backbone and tokenizers this one
            begins with, or `None`; where the tags are the same, and both have a CRF or neither,
            with its output layers too. `minimum_count` and what follows on it then come from it,
            and so do the `backbone_options` that are not given, `dropout` and `unknown_rate` for
            two.
        freeze_embeddings: bool, whether the embeddings stay as `vectors` or `start` have them; with
            `vectors`, words that these do not have keep the random embeddings they begin with.
        crf: bool, see `RecurrentTagger`.
        dtype: dtype policy.
        **backbone_options: see `RecurrentTaggerBackbone`.

    Returns:
        A `RecurrentTagger`. Its first weights follow `keras.utils.set_random_seed`.

    Raises:
        ValueError: if an option is unknown or does not fit the sentences.

    Example:
    ```python
    model = make_tagger(words, tags, units=128, dropout=0.5)
    ```
    """
    labels = sorted(set(itertools.chain.from_iterable(tags)))
    if len(labels) < 2:
        raise ValueError(f"`tags` must be of two kinds or more, got {', '.join(labels) or 'none'}.")
    check_beginning(start, vectors, freeze_embeddings)
    if start is not None:
        policy = {} if dtype is None else {"dtype": dtype}
        model = _begun_with(start, labels, crf, policy, backbone_options)
    else:
        check_choice("pieces", pieces, PIECES)
        backbone_options = embedding_options(backbone_options, vectors)
        texts = [" ".join(sentence) for sentence in words]
        tokenizer = word_tokenizer(_known_words(words, vocabulary_size, minimum_count), vectors)
        own = {"config_file": PIECE_TOKENIZER_FILE}
        piece_tokenizer = None
        if pieces == "character":
            piece_tokenizer = CharacterTokenizer.train(texts, **own)
        elif pieces != "none":
            piece_tokenizer = train_subwords(pieces, texts, piece_vocabulary_size, 1000, **own)
        backbone = RecurrentTaggerBackbone(
            tokenizer.vocabulary_size(),
            None if piece_tokenizer is None else piece_tokenizer.vocabulary_size(),
            dtype=dtype,
            **backbone_options,
        )
        preprocessor = RecurrentTaggerPreprocessor(tokenizer, piece_tokenizer, labels, word_length)
        model = RecurrentTagger(backbone, preprocessor, crf=crf)
        if vectors is not None:
            vectors.fill(backbone.token_embedding, tokenizer)
    model.backbone.token_embedding.trainable = not freeze_embeddings
    return model


def _begun_with(start, labels, crf, policy, backbone_options):
    """Makes a tagger of `labels` whose backbone and tokenizers are those of a preset."""
    backbone = RecurrentTaggerBackbone.from_preset(start, **policy, **backbone_options)
    source = RecurrentTaggerPreprocessor.from_preset(start)
    preprocessor = RecurrentTaggerPreprocessor(
        source.tokenizer, source.piece_tokenizer, labels, source.word_length
    )
    model = RecurrentTagger(backbone, preprocessor, crf=crf)
    if labels == source.labels:
        whole = RecurrentTagger.from_preset(start, **policy)
        if whole.crf == crf:
            model.set_weights(whole.get_weights())
    return model


def _known_words(words, most, minimum_count):
    """Lists the most frequent words in lower case, each as it stands and without white space."""
    found = collections.Counter(itertools.chain.from_iterable(words))
    normal = (
        WordTokenizer(normalization=NORMAL_FORM["normalization"]).normalize(list(found)).numpy()
    )
    counts = collections.Counter()
    for word, count in zip(normal.tolist(), found.values(), strict=True):
        word = word.decode()
        if word.split() == [word]:
            counts[word] += count
    return frequent_pieces(counts, most, minimum_count, "word", 2)
