"""The model that the options of `seqzoo train vectors` select."""

from keras_seqzoo.cli.options import refuse_given
from keras_seqzoo.models.word_vectors import FastText, GloVe, Word2Vec
from keras_seqzoo.models.word_vectors.character_ngrams import CharacterNgrams
from keras_seqzoo.models.word_vectors.word2vec import ARCHITECTURES

GLOVE = "glove"
ALL_ARCHITECTURES = (*ARCHITECTURES, GLOVE)

WORD2VEC_OPTIONS = ("architecture", "objective", "negatives", "subsample")
SUBWORD_OPTIONS = ("minimum_ngram", "maximum_ngram", "buckets")
GLOVE_OPTIONS = ("x_max",)
COMMON_OPTIONS = ("window",)

# Values of options that are not given.
WORD2VEC_DEFAULTS = {"window": 5, "epochs": 5, "learning_rate": Word2Vec.learning_rate}
SUBWORD_DEFAULTS = {**WORD2VEC_DEFAULTS, "learning_rate": FastText.learning_rate}
GLOVE_DEFAULTS = {"window": 10, "epochs": 25, "learning_rate": GloVe.learning_rate}


def complete_options(context):
    """Refuse options that the kind of model does not have, and set its defaults."""
    params = context.params
    if params["architecture"] == GLOVE:
        others = ("subwords", *WORD2VEC_OPTIONS[1:], *SUBWORD_OPTIONS)
        refuse_given(context, others, f"cannot be used with --architecture {GLOVE}.")
        defaults = GLOVE_DEFAULTS
    else:
        refuse_given(context, GLOVE_OPTIONS, f"can only be used with --architecture {GLOVE}.")
        defaults = SUBWORD_DEFAULTS if params["subwords"] else WORD2VEC_DEFAULTS
    if params["subwords"]:
        CharacterNgrams.checked(*(params[name] for name in SUBWORD_OPTIONS))
    else:
        refuse_given(context, SUBWORD_OPTIONS, "can only be used with --subwords.")
    for name, value in defaults.items():
        if params[name] is None:
            params[name] = value


def make_vector_model(context, texts):
    """Make the model for the words of texts.

    Returns:
        A pair of the model and the argument of its `batches`: the texts as ids, or the counts.
    """
    params = context.params
    kind, names = Word2Vec, WORD2VEC_OPTIONS
    if params["architecture"] == GLOVE:
        kind, names = GloVe, GLOVE_OPTIONS
    elif params["subwords"]:
        kind, names = FastText, (*WORD2VEC_OPTIONS, *SUBWORD_OPTIONS)
    model = kind.for_text(
        texts,
        params["minimum_count"],
        params["vocabulary_size"],
        dimensions=params["embedding_dim"],
        **{name: params[name] for name in (*COMMON_OPTIONS, *names)},
    )
    return model, model.count(texts) if kind is GloVe else model.encode(texts)
