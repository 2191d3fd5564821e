"""Translations that must have given phrases."""

import pytest

from keras_seqzoo.decoding import BeamSearch, LexicallyConstrainedBeamSearch
from tests.models import small

TEXTS = ["a bee hums", "", "no rain", "the moon is far"]
PHRASES = [["old cars"], ["door"], [], ["rain", "she"]]


def test_translations_have_their_phrases():
    model = small.shared_model()
    search = LexicallyConstrainedBeamSearch(30, n_best=3)
    found = model.translate(TEXTS, search, max_length=16, required_phrases=PHRASES)
    assert found[1][0].text == "" and found[1][0].score == 0.0
    filled = [index for index, text in enumerate(TEXTS) if text]
    for index in filled:
        assert len(found[index]) == 3
        for translation in found[index]:
            for phrase in PHRASES[index]:
                assert f" {phrase}" in f" {translation.text}"
            assert translation.score == translation.log_probability


@pytest.mark.slow
def test_a_row_does_not_depend_on_the_others_phrases():
    model = small.shared_model()
    search = LexicallyConstrainedBeamSearch(12)
    together = model.translate(TEXTS, search, max_length=10, required_phrases=PHRASES)
    for text, own, found in zip(TEXTS, PHRASES, together, strict=True):
        [alone] = model.translate([text], search, max_length=10, required_phrases=[own])
        assert alone[0].text == found[0].text


@pytest.mark.slow
def test_the_default_search_and_alignments():
    model = small.shared_model()
    [[best]] = model.translate(
        ["no rain"], max_length=12, required_phrases=[["far"]], alignments=True
    )
    assert "far" in best.text
    assert (
        model.translate(["no rain"], max_length=12, required_phrases=[[" far "]])[0][0].text
        == best.text
    )
    assert best.alignment.shape == (len(best.target_tokens), len(best.source_tokens))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"required_phrases": [["a"]]},
            "`required_phrases` must be one list for each of the 2 `texts`, got 1",
        ),
        (
            {"required_phrases": ["a", []]},
            "`required_phrases` must be lists of strings, got 'a' as number 1",
        ),
        (
            {"required_phrases": [None, []]},
            "`required_phrases` must be lists of strings, got None as number 1",
        ),
        ({"required_phrases": [[], ["a"]], "max_length": 0}, "cannot be met"),
        (
            {"required_phrases": [[], [3]]},
            r"`required_phrases` must be lists of strings, got \[3\] as number 2",
        ),
        (
            {"required_phrases": [[], []], "strategy": BeamSearch(3)},
            "got a BeamSearch and some `required_phrases`",
        ),
        (
            {"strategy": LexicallyConstrainedBeamSearch(3)},
            "got a LexicallyConstrainedBeamSearch and no `required_phrases`",
        ),
        (
            {"required_phrases": [[], ["she paints a door in blue"]], "max_length": 3},
            r"`required_phrases` \['she paints a door in blue'\] cannot be met: the search found "
            r"no translation of 'the moon' with all of them. They may be too long",
        ),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        small.shared_model().translate(["no rain", "the moon"], **options)
