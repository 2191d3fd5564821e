import numpy as np

from keras_seqzoo.cli.translation_rows import known_words
from keras_seqzoo.models import Lexicon, Translation


def test_unknown_words_come_from_the_lexicon_or_from_the_line():
    tokens = ["[UNK]", "\u2581runs", "[EOS]"], ["[UNK]", "\u2581court", "[EOS]"]
    weights = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]], np.float32)
    found = Translation("\u2047 court", -1.0, -3.0, *tokens, weights)
    assert known_words([found], "Zorka runs", None)[0].text == "Zorka court"
    lexicon = Lexicon({"Zorka": {"Zorca": 1.0}})
    assert known_words([found], "Zorka runs", lexicon)[0].text == "Zorca court"
