"""Runs of multilingual models: corpora, scores of each language, and resuming."""

import json
import types

import keras
import numpy as np
import pytest

from keras_seqzoo.data import MultilingualFiles, ParallelFiles
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.training import TranslationTraining, make_translation_model
from keras_seqzoo.training.translation.languages import score_by_language
from tests.made_up import parallel_text
from tests.training.interrupts import Interrupt, assert_equal
from tests.training.test_translation import OPTIONS


def corpora(sizes=(40, 10), seed=0):
    """Lists of sources, targets and languages: German, and the same words backwards."""
    columns = [], [], []
    for number, (language, lines) in enumerate(zip(("de", "back"), sizes, strict=True)):
        source, target = parallel_text(lines, seed + number)
        turned = target if language == "de" else [text[::-1] for text in target]
        for column, texts in zip(columns, (source, turned, [language] * lines), strict=True):
            column += texts
    return columns


TRAIN, VALIDATION = corpora(), corpora((3, 3), seed=5)


@pytest.fixture(scope="module")
def model():
    """An untrained model; its weights stay as they are."""
    return new_model()


def new_model():
    keras.utils.set_random_seed(3)
    sizes = {"embedding_dim": 4, "encoder_units": 3, "decoder_units": 5, "attention_units": 4}
    return make_translation_model(
        *TRAIN[:2], vocabulary_size=290, languages=["de", "back", "de"], dropout=0.3, **sizes
    )


def test_each_language_has_a_lexicon():
    source = ["red cat", "red cow", "old cat", "old cow"] * 2
    german = ["rote Katze", "rote Kuh", "alte Katze", "alte Kuh"]
    french = ["chat rouge", "vache rouge", "vieux chat", "vieux vache"]
    options = {"tokenizer": "word", "minimum_count": 1, "embedding_dim": 4, "encoder_units": 3}
    options |= {"source_output": "lexicon-bias", "languages": ["de", "fr"], "decoder_units": 4}
    texts = source, german + french
    subject = make_translation_model(*texts, ["de"] * 4 + ["fr"] * 4, **options)
    lexicon, tokenizer = subject.decoder.source_distribution, subject.preprocessor.tokenizer
    for language, word in enumerate(["Katze", "chat"]):
        best = lexicon.target_ids.numpy()[language, tokenizer.token_to_id("cat"), 0]
        assert tokenizer.id_to_token(best) == word
    for language, first in (("fr", 1), ("de", 0)):
        ids = subject.preprocessor.encode_source(["old cow"], language=language).to_tensor()
        found, _ = lexicon.entries(ids)
        np.testing.assert_array_equal(found[0], lexicon.target_ids.numpy()[first][ids[0]])
    with pytest.raises(ValueError, match="`pair_languages` must be given with `languages` and a"):
        make_translation_model(*texts, **options)
    with pytest.raises(ValueError, match=r"of `languages` \(de, fr\) and no other, got de, it"):
        make_translation_model(*texts, ["de", "it"] * 4, **options)
    with pytest.raises(ValueError, match="`pair_languages` must be one for each of the 8 pairs, "):
        make_translation_model(*texts, ["de", "fr"], **options)


def make_training(model, folder, lines=None, **changes):
    report = (lambda line: None) if lines is None else lines.append
    return TranslationTraining(model, folder, report=report, **{**OPTIONS, **changes})


@pytest.mark.slow
def test_the_model_knows_the_languages(model):
    assert model.languages == ("de", "back")
    tokenizer = model.preprocessor.tokenizer
    assert tokenizer.control_tokens == ("<2de>", "<2back>")
    assert model.backbone.decoder_vocabulary_size == tokenizer.vocabulary_size() == 292
    apart = make_translation_model(
        *TRAIN[:2],
        separate_vocabularies=True,
        vocabulary_size=290,
        languages=["de"],
        embedding_dim=4,
    ).preprocessor
    assert apart.encoder_tokenizer.control_tokens == ("<2de>",)
    assert apart.tokenizer.control_tokens == ()


def test_each_source_of_an_epoch_begins_with_its_language(model, tmp_path):
    training = make_training(model, tmp_path, sampling_temperature=1e6)
    training.prepare(TRAIN, VALIDATION)
    begins = np.concatenate(
        [inputs["encoder_token_ids"][:, 0] for inputs, *_ in training.batches(0)]
    )
    numbers, counts = np.unique(begins[begins > 0], return_counts=True)
    assert numbers.tolist() == [290, 291]
    np.testing.assert_allclose(counts, 25, atol=1)  # of 40 and 10: equally often
    # An epoch predicts about as many tokens as were counted.
    predicted = sum(float(weights.numpy().sum()) for *_, weights in training.batches(0))
    assert training.tokens == pytest.approx(predicted, rel=0.1)


def test_files_are_read_like_lists(model, tmp_path):
    parts = []
    for language in ("de", "back"):
        rows = [row for row in zip(*TRAIN, strict=True) if row[2] == language]
        paths = [tmp_path / f"{language}.{side}" for side in ("source", "target")]
        for path, texts in zip(paths, zip(*rows, strict=True), strict=False):
            path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        parts.append(ParallelFiles(*paths))
    files = MultilingualFiles(parts, ["de", "back"])
    assert [*files.target] == TRAIN[1]
    read = []
    for train in (files, TRAIN):
        training = make_training(model, tmp_path / f"run-{len(read)}", sampling_temperature=2)
        training.prepare(train, VALIDATION)
        read.append([labels.numpy() for _, labels, _ in training.batches(0)])
    assert_equal(*read)


def test_scores_of_each_language_and_their_mean():
    found = ["a b c d e f", "g h i j k l", "x"]
    references = ["a b c d e f", "g h i j k m", "y"]
    languages = ["fr", "de", "de"]
    scores = score_by_language(found, references, languages, "13a")
    own = {
        "fr": score_translations(found[:1], references[:1]),
        "de": score_translations(found[1:], references[1:]),
    }
    assert scores["bleu_fr"] == own["fr"].bleu and scores["bleu_de"] == own["de"].bleu
    assert scores["bleu"] == pytest.approx((own["fr"].bleu + own["de"].bleu) / 2)
    assert scores["chrf"] == pytest.approx((own["fr"].chrf + own["de"].chrf) / 2)
    assert [*score_by_language(found, references, None, "13a")] == ["bleu", "chrf"]


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_as_if_it_was_not(tmp_path):
    runs = []
    for folder in ("whole", "parts"):
        model = new_model()
        training = make_training(model, tmp_path / folder, sampling_temperature=5)
        if folder == "parts":
            assert not training.run(TRAIN, VALIDATION, verbose=0, callbacks=[Interrupt(9)])
            training = make_training(new_model(), tmp_path / folder, sampling_temperature=5)
        assert training.run(TRAIN, VALIDATION, verbose=0)
        runs.append(training)
    assert_equal(*(run.model.get_weights() for run in runs))
    figures = [{k: v for k, v in run.state.history[-1].items() if k != "seconds"} for run in runs]
    assert figures[0]["val_loss"] == figures[1]["val_loss"]
    assert {"bleu", "bleu_de", "bleu_back", "chrf"} <= figures[0].keys()
    json.dumps(figures)


@pytest.mark.slow
def test_the_loss_is_that_of_all_languages(model, tmp_path):
    training = make_training(model, tmp_path)
    found = training.evaluate(VALIDATION, types.SimpleNamespace(check=lambda *_: None))
    scores = model.score(*VALIDATION[:2], language=VALIDATION[2])
    loss = -sum(score for score, _ in scores) / sum(tokens for _, tokens in scores)
    assert found["val_loss"] == pytest.approx(loss, rel=1e-5)


def test_bad_data(model, tmp_path):
    training = make_training(model, tmp_path)
    with pytest.raises(ValueError, match="lists of sources and targets and target languages"):
        training.prepare(TRAIN[:2], VALIDATION[:2])
    with pytest.raises(ValueError, match="of the same number, at least one, got 50 and 50 and 1"):
        training.prepare((*TRAIN[:2], ["de"]), VALIDATION)
    with pytest.raises(ValueError, match="`language` must be one of de, back, got 'fr'"):
        training.prepare((*TRAIN[:2], ["fr"] * 50), VALIDATION)
    path = tmp_path / "text"
    path.write_text("a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="`train` must be MultilingualFiles .* got ParallelFiles"):
        training.prepare(ParallelFiles(path, path), VALIDATION)
    with pytest.raises(ValueError, match="one language for each of the corpora"):
        MultilingualFiles([ParallelFiles(path, path)], ["de", "fr"])
    with pytest.raises(ValueError, match="`sampling_temperature` must be .* at least 1"):
        make_training(model, tmp_path, sampling_temperature=0.5)
