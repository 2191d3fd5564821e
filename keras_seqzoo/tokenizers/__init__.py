"""Tokenizers: text to ids and back, in graph, trained from text in one call."""

from keras_seqzoo.tokenizers.byte_pair import BytePairTokenizer
from keras_seqzoo.tokenizers.character import CharacterTokenizer
from keras_seqzoo.tokenizers.parse import ParseTokenizer
from keras_seqzoo.tokenizers.sentence_piece import SentencePieceTokenizer
from keras_seqzoo.tokenizers.text_tokenizer import TextTokenizer
from keras_seqzoo.tokenizers.unigram import UnigramTokenizer
from keras_seqzoo.tokenizers.word import WordTokenizer
from keras_seqzoo.tokenizers.word_piece import WordPieceTokenizer

__all__ = [
    "BytePairTokenizer",
    "CharacterTokenizer",
    "ParseTokenizer",
    "SentencePieceTokenizer",
    "TextTokenizer",
    "UnigramTokenizer",
    "WordPieceTokenizer",
    "WordTokenizer",
]
