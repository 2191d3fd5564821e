import numpy as np
import pytest

from keras_seqzoo.models import Lexicon, Translation, replace_unknown_words
from tests.models.small import SENTENCES, shared_model

SOURCE = ["▁the", "▁pa", "per", "▁crane", "[EOS]"]
LEXICON = Lexicon({"crane": {"grue": 0.9}, "paper": {"papier": 0.7, "feuille": 0.3}})


def translation(tokens, attended, source=SOURCE):
    """One whose tokens attend to the given pieces."""
    text = "".join(tokens).replace("▁", " ").replace("[UNK]", "⁇").replace("[EOS]", "")
    weights = np.full((len(tokens), len(source)), 0.01, np.float32)
    for row, column in enumerate(attended):
        weights[row, column] = 0.9
    return Translation(text.removeprefix(" "), -2.0, -3.0, source, tokens, weights)


@pytest.mark.parametrize(
    "tokens, attended, copied, translated",
    [
        (["▁", "[UNK]", "▁vole", "[EOS]"], [0, 3, 1, 4], "crane vole", "grue vole"),
        (["[UNK]", "▁vole"], [3, 1], "crane vole", "grue vole"),
        (["▁la", "▁", "[UNK]"], [0, 0, 3], "la crane", "la grue"),
        (
            ["▁la", "▁(", "[UNK]", "),", "▁ici"],
            [0, 0, 3, 3, 1],
            "la (crane), ici",
            "la (grue), ici",
        ),
        (["▁", "[UNK]", "▁", "[UNK]"], [0, 3, 0, 1], "crane paper", "grue papier"),
        (["▁", "[UNK]", "▁x"], [0, 0, 0], "the x", "the x"),  # not in the lexicon
        (["[UNK]"], [4], "paper", "papier"),  # the end is no word: then the best of the others
        (["▁", "<0xE6>", "<0x9D>", "<0xB1>", "[UNK]"], [0, 0, 0, 0, 3], "東crane", "東grue"),
    ],
)
def test_unknown_tokens_are_replaced(tokens, attended, copied, translated):
    before = translation(tokens, attended)
    for lexicon, expected in ((None, copied), (LEXICON, translated)):
        after = replace_unknown_words(before, lexicon)
        assert after.text == expected
        assert all(new is old for new, old in zip(after[1:], before[1:], strict=True))


def test_attention_to_the_subwords_of_a_word_is_summed():
    weights = np.float32([[0.0, 0.3, 0.3, 0.4, 0.0]])
    before = Translation("⁇", 0.0, 0.0, SOURCE, ["[UNK]"], weights)
    assert replace_unknown_words(before, LEXICON).text == "papier"


def test_without_unknown_tokens_nothing_changes():
    lexicon = Lexicon({"bee": {"abeille": 1.0}})
    for [best] in shared_model().translate([*SENTENCES, ""], alignments=True):
        assert replace_unknown_words(best, lexicon) is best
    genuine = translation(["▁what", "⁇"], [0, 0])._replace(text="what⁇")
    assert replace_unknown_words(genuine, lexicon) is genuine


def test_words_that_are_unknown_on_both_sides():
    source = ["▁", "[UNK]", "▁meets", "▁", "[UNK]", ".", "[EOS]"]
    before = translation(["▁", "[UNK]", "▁voit", "▁", "[UNK]"], [1, 1, 2, 4, 4], source)
    assert replace_unknown_words(before).text == "⁇ voit ⁇."
    assert replace_unknown_words(before, source="Mia  meets Noa.").text == "Mia voit Noa."
    lexicon = Lexicon({"Noa.": {"Noé": 1.0}})
    assert replace_unknown_words(before, lexicon, "Mia meets Noa.").text == "Mia voit Noé"


def test_a_source_without_words():
    before = translation(["[UNK]"], [0], ["[EOS]"])
    assert replace_unknown_words(before, LEXICON) is before


def test_an_alignment_is_needed():
    before = translation(["▁a"], [0])._replace(alignment=None)
    with pytest.raises(ValueError, match="`translation` needs an alignment"):
        replace_unknown_words(before)
