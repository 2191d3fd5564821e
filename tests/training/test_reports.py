import keras
import numpy as np
import pytest
import sacrebleu

from keras_seqzoo.callbacks import SequenceBoard
from keras_seqzoo.callbacks.summaries import escape_markdown
from keras_seqzoo.decoding import Greedy
from keras_seqzoo.metrics import entity_scores, tag_accuracy
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.training import (
    LanguageModelReport,
    TaggerReport,
    TextClassifierReport,
    TokenVectorsReport,
    TranslationReport,
    make_language_model,
    make_tagger,
    make_text_classifier,
)
from tests.callbacks import events
from tests.made_up import parallel_text, tiny_model

TEXTS, LABELS = ["good film", "bad film", "good_ one", "bad one"], ["yes", "no", "yes", "no"]
WORDS = [["mia", "sees", "rome"], ["he", "sees"], ["mia"]]
TAGS = [["B-person", "O", "B-place"], ["O", "O"], ["B-person"]]


def classifier():
    keras.utils.set_random_seed(0)
    return make_text_classifier(TEXTS, LABELS, units=2, embedding_dim=2)


def tagger(**options):
    keras.utils.set_random_seed(0)
    sizes = {"units": 2, "embedding_dim": 2, "pieces": "none"}
    return make_tagger(WORDS, TAGS, **sizes, **options)


def language_model():
    keras.utils.set_random_seed(0)
    return make_language_model(TEXTS, units=2, embedding_dim=2)


@pytest.fixture(scope="module")
def translator():
    keras.utils.set_random_seed(0)
    return tiny_model()


@pytest.mark.slow
def test_translations(translator):
    sources, _ = parallel_text(6)
    # An untrained model writes nonsense; so some of it is the reference.
    own = translator.translate(sources, TranslationReport(sources, sources).strategy)
    references = [f"a {translations[0].text}" for translations in own]
    found = TranslationReport(sources, references, samples=2)(translator)
    best = [translations[0].text for translations in own]
    assert found["validation/chrf"] == sacrebleu.corpus_chrf(best, [references]).score > 0
    assert found["validation/bleu"] == sacrebleu.corpus_bleu(best, [references]).score
    titles, *rows = found["samples/translations"].tolist()
    assert titles == ["**source**", "**reference**", "**hypotheses**"]
    assert [row[:2] for row in rows] == [
        [source, escape_markdown(reference)]
        for source, reference in zip(sources[:2], references[:2], strict=True)
    ]
    for (*_, listed), translations in zip(rows, own[:2], strict=True):
        scores = [f"({translation.score:.3f})" for translation in translations]
        assert [line.split()[-1] for line in listed.splitlines()] == scores
        assert listed.startswith("1. ") and len(scores) == 4
    for number in (1, 2):
        image = found[f"alignments/{number}"]
        assert image.dtype == np.uint8 and image.shape[2] == 3 and image.min() < image.max()
    assert len(found) == 5


@pytest.mark.slow
def test_translations_without_attention_and_scores():
    sources, references = parallel_text(3)
    model = tiny_model(attention=None, attention_units=None)
    report = TranslationReport(["", *sources], ["", *references], strategy=Greedy(), scored=False)
    found = report(model)
    assert list(found) == ["samples/translations"]
    assert found["samples/translations"].shape == (5, 3)
    assert found["samples/translations"][1].tolist() == ["", "", "1.  (0.000)"]


def test_classifications():
    model = classifier()
    found = TextClassifierReport(TEXTS, LABELS, samples=3)(model)
    assert found["validation/accuracy"] == model.accuracy(TEXTS, LABELS)
    _, *rows = found["samples/classifications"].tolist()
    assert [row[0] for row in rows] == ["good film", "bad film", "good&#95; one"]
    for (_, expected, label, wrong), own in zip(rows, model.classify(TEXTS[:3]), strict=True):
        [name] = own.labels
        assert label == f"{name} ({own.probabilities[name]:.2f})"
        assert wrong == ("" if name == expected else "wrong")
    assert list(TextClassifierReport(TEXTS, LABELS, scored=False)(model)) == list(found)[1:]


@pytest.mark.slow
def test_classifications_of_several_labels():
    labels = [["a", "b"], [], ["b"], ["a"]]
    model = make_text_classifier(TEXTS, labels, units=2, embedding_dim=2)
    _, *rows = TextClassifierReport(TEXTS, labels)(model)["samples/classifications"].tolist()
    assert [row[1] for row in rows] == ["a, b", "", "b", "a"]


def test_tags():
    model = tagger()
    found = TaggerReport(WORDS, TAGS, samples=2)(model)
    own = model.tag(WORDS)
    assert found["validation/accuracy"] == tag_accuracy(TAGS, own)
    assert found["validation/f1"] == entity_scores(TAGS, own).overall.f1
    _, *rows = found["samples/tags"].tolist()
    shown = [
        " ".join(
            f"{word}/{tag}" if tag == expected else f"**{word}/{tag} ({expected})**"
            for word, expected, tag in zip(*row, strict=True)
        )
        for row in zip(WORDS[:2], TAGS[:2], own[:2], strict=True)
    ]
    assert [text for [text] in rows] == shown


@pytest.mark.slow
def test_tags_that_mark_no_entities():
    tags = [["NOUN" if tag != "O" else "VERB" for tag in row] for row in TAGS]
    model = make_tagger(WORDS, tags, units=2, embedding_dim=2, pieces="none")
    assert list(TaggerReport(WORDS, tags)(model)) == ["validation/accuracy", "samples/tags"]


@pytest.mark.slow
def test_generations():
    model = language_model()
    report = LanguageModelReport(TEXTS, prompts=["", "good"], max_length=6)
    found = report(model)
    assert found["validation/perplexity"] == model.perplexity(TEXTS).perplexity
    _, *rows = found["samples/generations"].tolist()
    assert [prompt for prompt, _ in rows] == ["", "good"]
    lines = rows[1][1].splitlines()
    assert len(lines) == 3 and all(line[:7] == f"{n}. good" for n, line in enumerate(lines, 1))
    np.testing.assert_array_equal(
        report(model)["samples/generations"], found["samples/generations"]
    )
    assert list(LanguageModelReport()(model)) == ["samples/generations"]


def test_token_vectors():
    model = classifier()
    [(name, (vectors, labels))] = TokenVectorsReport()(model).items()
    assert name == "token_embedding"
    np.testing.assert_array_equal(vectors, model.backbone.token_embedding.embeddings)
    assert labels[5:] == model.preprocessor.tokenizer.words and labels[0].startswith("[")
    assert len(labels) == len(vectors)


def test_a_backbone_may_have_more_rows_than_there_are_tokens():
    tokenizer = WordTokenizer(["a", "dog"])
    preprocessor = RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=4)
    model = RecurrentLanguageModel(RecurrentBackbone(16, 2, units=2), preprocessor)
    vectors, labels = TokenVectorsReport()(model)["token_embedding"]
    assert labels == tokenizer.get_vocabulary()
    np.testing.assert_array_equal(vectors, model.backbone.token_embedding.embeddings[: len(labels)])


FAMILIES = {
    "translator": lambda: (
        tiny_model(),
        dict(zip(("encoder_text", "decoder_text"), parallel_text(6), strict=True)),
        None,
        TranslationReport(*parallel_text(6)),
        {"validation/bleu", "validation/chrf", "samples/translations", "alignments/1"},
    ),
    "language model": lambda: (
        language_model(),
        TEXTS,
        None,
        LanguageModelReport(TEXTS),
        {"validation/perplexity", "samples/generations"},
    ),
    "classifier": lambda: (
        classifier(),
        TEXTS,
        np.array([LABELS.index(label) for label in LABELS]),
        TextClassifierReport(TEXTS, LABELS),
        {"validation/accuracy", "samples/classifications"},
    ),
    "tagger": lambda: (
        tagger(),
        [" ".join(row) for row in WORDS],
        [" ".join(row) for row in TAGS],
        TaggerReport(WORDS, TAGS),
        {"validation/accuracy", "validation/f1", "samples/tags"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)
def test_plain_fit(make, tmp_path):
    model, inputs, labels, report, names = make()
    model.compile("adam")
    batch = (inputs,) if labels is None else (inputs, labels)
    board = SequenceBoard(tmp_path, [report, TokenVectorsReport()], gradient_batch=batch)
    options = {} if labels is None else {"y": np.array(labels)}
    inputs = inputs if isinstance(inputs, dict) else np.array(inputs)
    model.fit(inputs, **options, epochs=2, verbose=0, callbacks=[board])
    found = events.read(tmp_path)
    assert names < set(found)
    for name in names | {"train/loss", "train/learning_rate", "gradient_norm/all"}:
        assert len(found[name]) == 2, name
    layers = {name for name in found if name.startswith("gradient_norm/")}
    assert len(layers) > 3
    assert all(value > 0 for _, value in found["gradient_norm/all"])
    squares = [found[name][0][1] ** 2 for name in layers if not name.endswith("/all")]
    assert sum(squares) == pytest.approx(found["gradient_norm/all"][0][1] ** 2, rel=1e-4)
    if isinstance(report, TranslationReport):
        best = [b.text for b, *_ in model.translate(report.sources, report.strategy)]
        expected = sacrebleu.corpus_bleu(best, [report.references]).score
        assert found["validation/bleu"][-1][1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TranslationReport(["a"], []), "`sources` and `references` must have the same"),
        (lambda: TranslationReport([], []), "positive length, got 0 and 0"),
        (lambda: TranslationReport(["a"], ["b"], samples=0), "`samples` must be an int"),
        (lambda: TaggerReport([["a"]], [["x", "y"]]), "`words` and `tags` must have the same"),
        (lambda: LanguageModelReport(max_length=0), "`max_length` must be an int"),
        (lambda: TextClassifierReport(["a"], []), "`labels`"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
