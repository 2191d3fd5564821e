import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.data import ConlluSentence
from keras_seqzoo.models import TreeBackbone, TreeTextClassifier, TreeTextClassifierPreprocessor
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.parse import split_parses
from keras_seqzoo.zoo import save_preset


def sentence(words, heads):
    """A sentence in CoNLL-U; `words` with spaces between them."""
    rows = zip(words.split(), heads, strict=True)
    rows = [(f"{n}", word, *"____", f"{head}", *"___") for n, (word, head) in enumerate(rows, 1)]
    return ConlluSentence(["# text = a text"], rows)


# The same words in the same order: only the tree tells what "not" belongs to.
PARSES = [
    *(sentence("good not bad", heads) for heads in ([0, 3, 1], [0, 1, 1])),
    *(sentence("the film not good", heads) for heads in ([2, 0, 4, 2], [2, 4, 2, 0])),
]
LABELS = ["yes", "no", "yes", "no"]
TEXTS = [str(parse) for parse in PARSES]


def make(length=None, **options):
    keras.utils.set_random_seed(0)
    tokenizer = WordTokenizer.train(["good not bad", "the film"], normalization=["lowercase"])
    backbone = TreeBackbone(tokenizer.vocabulary_size(), embedding_dim=6, units=8)
    preprocessor = TreeTextClassifierPreprocessor(tokenizer, length, labels=["no", "yes"])
    return TreeTextClassifier(backbone, preprocessor=preprocessor, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"pooling": "max", "dropout": 0.1}])
def test_learns_trees(options, tmp_path):
    model = make(**options)
    model.compile(keras.optimizers.Adam(0.02))
    model.fit(TEXTS * 50, LABELS * 50, batch_size=8, verbose=0)
    assert [row.labels for row in model.classify(PARSES)] == [[label] for label in LABELS]
    assert model.accuracy(TEXTS, LABELS) == 1.0
    expected = model.predict_probabilities([*TEXTS, ""])
    np.testing.assert_allclose(expected[-1], 0.5)
    save_preset(model, tmp_path / "new", dtype="float32")
    for cls in (TreeTextClassifier, keras_hub.models.TextClassifier):
        loaded = cls.from_preset(str(tmp_path / "new"))
        assert type(loaded) is TreeTextClassifier
        np.testing.assert_allclose(loaded.predict_probabilities([*TEXTS, ""]), expected, atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict_probabilities(TEXTS), expected[:4], atol=1e-6)


def test_the_state_of_the_root_is_classified():
    model = make()
    [inputs] = [model.preprocessor(TEXTS[3:])]
    states = model.backbone(inputs)
    root = states[:, 3]
    expected = model.head(root[:, tf.newaxis])
    np.testing.assert_allclose(model(inputs), expected, atol=1e-6)
    assert not np.allclose(make(pooling="last")(model.preprocessor(TEXTS[2:3])), expected)


@pytest.mark.slow
def test_lengths_change_nothing():
    model = make()
    alone = [model.predict_probabilities([text])[0] for text in TEXTS]
    np.testing.assert_allclose(model.predict_probabilities(TEXTS), alone, atol=1e-6)


def test_rows_of_words_are_read():
    rows = [
        "# text = It's it",
        "1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tIt\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\r",
        "2\t's\t_\tAUX\t_\t_\t0\troot\t_\t_",
        "2.1\tgone\t_\t_\t_\t_\t_\t_\t_\t_",
        "3\tà la\t_\tADV\t_\t_\t_\tadv\t_\t_",
    ]
    words, heads = split_parses(tf.constant(["\n".join(rows), "", "The door was open."]))
    assert words.to_list() == [[b"It", b"'s", "à la".encode()], [], []]
    assert heads.to_list() == [[2, 0, -1], [], []]


def test_words_whose_head_is_cut_off_are_roots():
    model = make(length=2)
    whole = sentence("film not good", [3, 3, 0])
    [found] = model.predict_probabilities([whole])
    cut = model.preprocessor([str(whole)])
    assert cut["token_ids"].shape == cut["heads"].shape == (1, 2)
    two = model.preprocessor([str(sentence("film not", [0, 1]))])
    roots = {**two, "heads": tf.constant([[0, 0]])}
    np.testing.assert_allclose(found, model.probabilities(roots)[0], atol=1e-6)


def test_errors():
    model = make()
    for texts in (["A film."], [TEXTS[0], "1\tgood\t_"], [TEXTS[0], None]):
        with pytest.raises(ValueError, match=rf"`texts\[{len(texts) - 1}\]` must be .* CoNLL-U"):
            model.classify(texts)
    for heads, message in ([2, 1], "cycle"), ([0, 0], "one root"), (["_", 0], "head"):
        with pytest.raises(ValueError, match=rf"`texts\[0\]` must be.*{message}"):
            model.accuracy([sentence("good bad", heads)], ["yes"])
    for text in ("A film.", str(sentence("good bad", ["_", 0]))):
        with pytest.raises(tf.errors.InvalidArgumentError, match="`x` must be sentences in CoNLL"):
            model.preprocessor([TEXTS[0], text])
    tokenizer = model.preprocessor.tokenizer
    with pytest.raises(ValueError, match="`x` must be a list or a tensor .* got a single string"):
        model.preprocessor(TEXTS[0])
    with pytest.raises(ValueError, match='`truncation_side` must be "right"'):
        TreeTextClassifierPreprocessor(tokenizer, truncation_side="left")
    with pytest.raises(ValueError, match="`tokenizer` must be a WordTokenizer"):
        TreeTextClassifierPreprocessor("words")
    with pytest.raises(ValueError, match="`units` must be"):
        TreeBackbone(10, units=0)
