import numpy as np
import pytest

from keras_seqzoo.models import Lexicon, Translation, replace_unknown_words, word_alignment
from keras_seqzoo.tokenizers import BytePairTokenizer
from keras_seqzoo.tokenizers.sentence_piece_model import proto_of_pieces
from tests.models.small import SENTENCES, shared_model

SOURCE = ["▁the", "▁pa", "per", "▁crane", "[EOS]"]
LEXICON = Lexicon({"crane": {"grue": 0.9}, "paper": {"papier": 0.7, "feuille": 0.3}})


def made(source, target, weights, text=""):
    """Return a translation by a tokenizer that knows these tokens."""
    pieces = dict.fromkeys(token for token in [*source, *target] if token[0] not in "[<")
    scores = {piece: -float(rank) for rank, piece in enumerate(pieces)}
    both = BytePairTokenizer(proto_of_pieces(scores, "bpe"))
    return Translation(text, -2.0, -3.0, source, target, np.float32(weights), (both, both))


def test_weights_of_words():
    weights = [
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.1, 0.1, 0.3],
        [0.0, 0.0, 0.9, 0.1],
        [0.0, 0.0, 0.0, 1.0],
    ]
    found = word_alignment(
        made(["▁wi", "de", "▁sea", "[EOS]"], ["▁gran", "de", "▁mer", "[EOS]"], weights)
    )
    assert (found.source_words, found.target_words) == (["wide", "sea"], ["grande", "mer"])
    np.testing.assert_allclose(found.weights, [[0.45, 0.2], [0.0, 0.9]], rtol=1e-6)
    assert found.links() == [(0, 0), (1, 1)] and found.pharaoh() == "0-0 1-1"


def test_bytes_are_put_together():
    found = word_alignment(
        made(["▁", "<0xE6>", "<0x9D>", "<0xB1>", "[EOS]"], ["x", "[EOS]"], np.eye(2, 5))
    )
    assert (found.source_words, found.target_words) == (["東"], ["x"])


def test_nothing_to_align():
    found = word_alignment(made(["[EOS]"], ["[EOS]"], [[1.0]]))
    assert found.links() == [] and found.pharaoh() == "" and found.weights.shape == (0, 0)
    found = word_alignment(made(["[EOS]"], ["▁a"], [[1.0]]))
    assert found.links() == []
    with pytest.raises(ValueError, match="`translation` must have `alignment`"):
        word_alignment(Translation("", 0.0, 0.0, [], [], None))


@pytest.mark.slow
def test_alignment_of_a_model():
    for text, [best] in zip(
        SENTENCES[:4], shared_model().translate(SENTENCES[:4], alignments=True), strict=True
    ):
        found = word_alignment(best)
        assert found.weights.shape == (len(found.target_words), len(found.source_words))
        assert (found.weights >= 0).all() and (found.weights.sum(axis=1) <= 1 + 1e-5).all()
        assert found.source_words == text.split()


def attending(tokens, attended, source=SOURCE):
    """Return a translation whose tokens attend to the given pieces."""
    text = "".join(tokens).replace("▁", " ").replace("[UNK]", "⁇").replace("[EOS]", "")
    weights = np.full((len(tokens), len(source)), 0.01, np.float32)
    for row, column in enumerate(attended):
        weights[row, column] = 0.9
    return made(source, tokens, weights, text.removeprefix(" "))


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
        (["[UNK]"], [4], "paper", "papier"),  # the end is not a word: the best of the others
        (["▁", "<0xE6>", "<0x9D>", "<0xB1>", "[UNK]"], [0, 0, 0, 0, 3], "東crane", "東grue"),
    ],
)
def test_unknown_tokens_are_replaced(tokens, attended, copied, translated):
    before = attending(tokens, attended)
    for lexicon, expected in ((None, copied), (LEXICON, translated)):
        after = replace_unknown_words(before, lexicon)
        assert after.text == expected
        assert all(new is old for new, old in zip(after[1:], before[1:], strict=True))


def test_attention_to_the_subwords_of_a_word_is_summed():
    weights = np.float32([[0.0, 0.3, 0.3, 0.4, 0.0]])
    before = made(SOURCE, ["[UNK]"], weights, "⁇")
    assert replace_unknown_words(before, LEXICON).text == "papier"


def test_without_unknown_tokens_nothing_changes():
    lexicon = Lexicon({"bee": {"abeille": 1.0}})
    for [best] in shared_model().translate([*SENTENCES, ""], alignments=True):
        assert replace_unknown_words(best, lexicon) is best
    genuine = attending(["▁what", "⁇"], [0, 0])._replace(text="what⁇")
    assert replace_unknown_words(genuine, lexicon) is genuine


def test_words_that_are_unknown_on_both_sides():
    source = ["▁", "[UNK]", "▁meets", "▁", "[UNK]", ".", "[EOS]"]
    before = attending(["▁", "[UNK]", "▁voit", "▁", "[UNK]"], [1, 1, 2, 4, 4], source)
    assert replace_unknown_words(before).text == "⁇ voit ⁇."
    assert replace_unknown_words(before, source="Mia  meets Noa.").text == "Mia voit Noa."
    lexicon = Lexicon({"Noa.": {"Noé": 1.0}})
    assert replace_unknown_words(before, lexicon, "Mia meets Noa.").text == "Mia voit Noé"


def test_a_source_without_words():
    before = attending(["[UNK]"], [0], ["[EOS]"])
    assert replace_unknown_words(before, LEXICON) is before


def test_unknown_words_need_an_alignment():
    before = attending(["▁a"], [0])._replace(alignment=None)
    with pytest.raises(ValueError, match="`translation` must have `alignment`"):
        replace_unknown_words(before)
