"""Preprocessing for translation models: strings to token ids, and back."""

import keras
import keras_hub
import tensorflow as tf

from keras_seqzoo.checks import check_integer, decode_bytes, list_of_texts
from keras_seqzoo.models.common.parsed_sentences import parsed_texts
from keras_seqzoo.models.seq2seq.alignment.subword_links import subword_links
from keras_seqzoo.models.seq2seq.backbone import RecurrentEncoderDecoderBackbone
from keras_seqzoo.models.seq2seq.languages import (
    check_language,
    check_languages,
    language_indices,
    language_token,
)
from keras_seqzoo.tokenizers import ParseTokenizer, TextTokenizer
from keras_seqzoo.tokenizers.normalization import SPACES
from keras_seqzoo.tokenizers.packing import pad_with_mask, token_weights


@keras.saving.register_keras_serializable(package="keras_seqzoo")
class RecurrentSeq2SeqLMPreprocessor(keras_hub.models.Seq2SeqLMPreprocessor):
    """Preprocessor with one joint tokenizer, or one each for source and target.

    Source sentences become `tokens [EOS]`, target sentences `[BOS] tokens [EOS]`. The decoder reads
    `[BOS] tokens` and predicts `tokens [EOS]`: `[EOS]` is never an input. Sequences longer than the
    sequence lengths are truncated (the source keeps its `[EOS]`), shorter ones are padded.

    Args:
        tokenizer: the tokenizer of the target, and of the source if there is no
            `encoder_tokenizer`.
        encoder_tokenizer: the tokenizer of the source, or `None` for `tokenizer`. Its `config_file`
            must differ from the one of `tokenizer`, so that a preset can hold both. With a
            `ParseTokenizer`, sources are sentences in CoNLL-U.
        encoder_sequence_length: int, padded length of source sequences.
        decoder_sequence_length: int, padded length of target sequences.
        sample_subwords: bool, whether the tokenizers draw a new segmentation of each text in each
            epoch of `fit` on strings, by their `dropout` or `alpha`. Validation and generation
            never do this.
        languages: list of strings, the target languages of a multilingual model. Each source then
            begins with the token of its target language, such as `<2fr>` (Johnson et al. 2017,
            Google's multilingual neural machine translation system). The source tokenizer must have
            these tokens as `control_tokens`, so that no text can spell one.

    Call arguments:
        x: a dict of `encoder_text` and `decoder_text`, string tensors `(batch,)` or lists. With
            `languages` it also has `language`, a string or one for each text.
        y: not used; labels come from `decoder_text`.
        sample_weight: floats `(batch,)`, the weight of each pair, or `None`. Padding has weight 0.

    Returns:
        A tuple `(x, y, sample_weight)`: the backbone's inputs, int32 labels and the weights of the
        labels, boolean or float, each `(batch, sequence_length)`.

    Raises:
        ValueError: if both tokenizers have the same `config_file`, a length is not positive,
            `languages` are equal or have no tokens, or `x` is not a dict of both texts with a known
            language. In a graph an unknown language is a `tf.errors.InvalidArgumentError`.

    Example:
    >>> tokenizer = BytePairTokenizer.train(["the cat sat on the mat"], 275)
    >>> preprocessor = RecurrentSeq2SeqLMPreprocessor(tokenizer, decoder_sequence_length=8)
    >>> x, y, weights = preprocessor({"encoder_text": ["the cat"], "decoder_text": ["a mat"]})
    >>> x["encoder_token_ids"].shape, y.shape
    (TensorShape([1, 128]), TensorShape([1, 8]))
    """

    backbone_cls = RecurrentEncoderDecoderBackbone
    tokenizer_cls = TextTokenizer

    def __init__(
        self,
        tokenizer,
        encoder_tokenizer=None,
        encoder_sequence_length=128,
        decoder_sequence_length=128,
        sample_subwords=False,
        languages=(),
        **kwargs,
    ):
        check_integer("decoder_sequence_length", decoder_sequence_length, minimum=1)
        super().__init__(
            tokenizer,
            encoder_sequence_length=encoder_sequence_length,
            decoder_sequence_length=decoder_sequence_length,
            **kwargs,
        )
        if encoder_tokenizer is tokenizer:
            encoder_tokenizer = None
        if encoder_tokenizer is not None and encoder_tokenizer.config_file == tokenizer.config_file:
            raise ValueError(
                "`encoder_tokenizer` must have another `config_file` than `tokenizer`, such as "
                f'"encoder_tokenizer.json", got {tokenizer.config_file!r} for both.'
            )
        self._encoder_tokenizer = encoder_tokenizer
        self.sample_subwords = sample_subwords
        self.languages = check_languages(languages, self.encoder_tokenizer)
        shortest = self.added_source_tokens + 1  # one of the text
        check_integer("encoder_sequence_length", encoder_sequence_length, minimum=shortest)

    @property
    def encoder_tokenizer(self):
        """The tokenizer of the source."""
        return self.tokenizer if self._encoder_tokenizer is None else self._encoder_tokenizer

    def build(self, input_shape):
        """Build nothing: the packers of KerasHub are not used."""
        self.built = True

    @property
    def added_source_tokens(self):
        """The number of tokens that `encode_source` adds: `[EOS]`, and that of the language."""
        return 2 if self.languages else 1

    @property
    def reads_trees(self):
        """Whether sources are parsed sentences, strings in CoNLL-U."""
        return isinstance(self.encoder_tokenizer, ParseTokenizer)

    def source_texts(self, texts, name="texts"):
        """Return sources as a list of strings; check the trees of parsed sentences.

        Args:
            texts: list of strings; with trees it may also contain
                `keras_seqzoo.data.ConlluSentence`.
            name: string, the name of the argument for error messages.

        Raises:
            ValueError: if `texts` is a string, or a text is not a sentence in CoNLL-U with a tree.
        """
        return parsed_texts(texts, name) if self.reads_trees else list_of_texts(texts, name)

    def encode_source(self, text, length=None, training=False, language=None):
        """Convert source strings `(batch,)` to ragged int32 ids, truncated, with `[EOS]`.

        With `languages`, the token of `language`, a string or one for each text, comes first.
        """
        length = length or self.encoder_sequence_length
        ids = self.encoder_tokenizer(text, training=training)  # ragged (B, None)
        if self.languages or language is not None:
            ids = tf.concat([self._language_ids(language, ids.nrows()), ids], axis=-1)
        return self.cut_source(_append(ids, self.encoder_tokenizer.end_token_id), length)

    def cut_source(self, ids, length):
        """Cut ragged source ids to `length`, an int of at least 1. They keep their `[EOS]`.

        In a tree, words whose head is cut off become roots.
        """
        cut = tf.concat([ids[:, : length - 1], ids[:, length - 1 :][:, -1:]], axis=1)
        if not self.reads_trees:
            return cut
        words, heads = self.encoder_tokenizer.split(cut.values)
        others = tf.gather(cut.row_lengths() - 1, cut.value_rowids())  # without [EOS]
        lost = tf.cast(heads, tf.int64) > others
        return cut.with_values(tf.where(lost, words, cut.values))

    def _language_ids(self, language, rows):
        """Return the ids of the target languages' tokens, int32 `(rows, 1)`."""
        if language is None or isinstance(language, (str, list, tuple)):
            count = 1 if isinstance(language, str) else len(language or ())
            language = check_language(language, self.languages, count)
        language = _as_batch(language)
        if tf.executing_eagerly():
            names = decode_bytes(language.numpy().tolist())
            check_language(names, self.languages, len(names))
        language = tf.broadcast_to(language, (rows,))
        index = language_indices(language, self.languages)
        unknown = tf.boolean_mask(language, index < 0)
        known = tf.debugging.Assert(
            tf.size(unknown) == 0,
            [f"`language` must be one of {', '.join(self.languages)}, got", unknown],
        )
        ids = [self.encoder_tokenizer.token_to_id(language_token(name)) for name in self.languages]
        with tf.control_dependencies([] if known is None else [known]):
            return tf.gather(tf.constant(ids), index)[:, tf.newaxis]

    def encode_target(self, text, length=None, training=False):
        """Convert target strings `(batch,)` to ragged int32 ids, with `[BOS]` and `[EOS]`."""
        length = length or self.decoder_sequence_length
        ids = self.tokenizer(text, training=training)
        ids = _append(ids, self.tokenizer.end_token_id)[..., :length]
        return _prepend(ids, self.tokenizer.start_token_id)

    def align_pairs(self, pairs, links):
        """Add the links between their tokens to tokenized pairs, for `SupervisedAttention`.

        Each token of a source word is linked with each token of the target word. Words are as in
        `word_alignment` and `seqzoo align`: separated by spaces, or the words of a `WordTokenizer`.

        Args:
            pairs: `keras_seqzoo.data.TokenPairs`, of whole texts.
            links: list with, for each pair, a list of its links: pairs `(source, target)` of word
                positions from 0, as `keras_seqzoo.data.read_alignments` returns them.

        Returns:
            `TokenPairs` with `links`.

        Raises:
            ValueError: if `links` and the pairs differ in number, or a link names a position where
                its pair has no word; the message names the pair.

        Example:
        >>> from keras_seqzoo.data import tokenize_pairs
        >>> tokenizer = WordPieceTokenizer(["a", "do", "##g", "un", "chien"])
        >>> preprocessor = RecurrentSeq2SeqLMPreprocessor(tokenizer)
        >>> encoders = preprocessor.encode_source, preprocessor.encode_target
        >>> pairs = tokenize_pairs(["a dog"], ["un chien"], *encoders)
        >>> aligned = preprocessor.align_pairs(pairs, [[(0, 0), (1, 1)]])
        >>> aligned.links.sequence(0).reshape(-1, 2).tolist()  # target, source
        [[0, 0], [1, 1], [1, 2]]
        """
        if len(links) != len(pairs.source.lengths):
            raise ValueError(
                "`links` must have an item for each of the pairs, "
                f"{len(pairs.source.lengths)}, got {len(links)}."
            )
        links = subword_links(pairs, links, self.encoder_tokenizer, self.tokenizer)
        return pairs._replace(links=links)

    def redraw_pairs(self, pairs, seed, rate):
        """Draw segmentations of tokenized pairs from a seed, for `redraw` of `bucketed_batches`.

        Args:
            pairs: `keras_seqzoo.data.TokenPairs`.
            seed: sequence of ints.
            rate: float, the rate for `redraw` of both tokenizers.

        Returns:
            `TokenPairs` of the same texts.
        """
        source = self.encoder_tokenizer.redraw(pairs.source, [*seed, 0], rate)
        return pairs._replace(
            source=source, target=self.tokenizer.redraw(pairs.target, [*seed, 1], rate)
        )

    def pad(self, ids, length=None):
        """Pad ragged ids.

        Args:
            ids: ragged int32 tensor `(batch, None)`.
            length: int, or `None` for the longest of the batch, at least 1.

        Returns:
            A tuple `(ids, mask)`, int32 and boolean tensors `(batch, length)`.
        """
        return pad_with_mask(ids, self.tokenizer.pad_token_id, length)

    def call(
        self,
        x,
        y=None,
        sample_weight=None,
        *,
        encoder_sequence_length=None,
        decoder_sequence_length=None,
        sequence_length=None,
        training=False,
    ):
        """Compute the inputs, labels and weights for training.

        With `training=True`, tokenizers that can sample a segmentation do so. `fit` on strings uses
        it with `sample_subwords`.
        """
        encoder_length = encoder_sequence_length or self.encoder_sequence_length
        decoder_length = decoder_sequence_length or sequence_length or self.decoder_sequence_length
        if not isinstance(x, dict) or not {"encoder_text", "decoder_text"} <= x.keys():
            got = f"a dict of {', '.join(x)}" if isinstance(x, dict) else type(x).__name__
            raise ValueError(
                '`x` must be a dict of sources and targets, {"encoder_text": ..., "decoder_text": '
                f"...}}, got {got}."
            )
        source = self.encode_source(
            _as_batch(x["encoder_text"]), encoder_length, training, x.get("language")
        )
        target = self.encode_target(_as_batch(x["decoder_text"]), decoder_length, training)
        source_ids, source_mask = self.pad(source, encoder_length)
        read_ids, read_mask = self.pad(target[:, :-1], decoder_length)
        labels, _ = self.pad(target[:, 1:], decoder_length)
        inputs = {
            "encoder_token_ids": source_ids,
            "encoder_padding_mask": source_mask,
            "decoder_token_ids": read_ids,
            "decoder_padding_mask": read_mask,
        }
        weights = token_weights(read_mask, sample_weight)
        return keras.utils.pack_x_y_sample_weight(inputs, labels, weights)

    def generate_preprocess(
        self,
        x,
        *,
        encoder_sequence_length=None,
        decoder_sequence_length=None,
        sequence_length=None,
    ):
        """Compute the inputs for generation: the source, and `[BOS]` with an optional prompt.

        Args:
            x: source strings `(batch,)`, or a dict of `encoder_text`, `decoder_text` and, with
                `languages`, `language`.
            encoder_sequence_length: int, replaces the value of the constructor.
            decoder_sequence_length: int, replaces the value of the constructor.
            sequence_length: another name for `decoder_sequence_length`.

        Returns:
            The backbone's inputs. The decoder's mask is `True` at `[BOS]` and the prompt. The
            encoder's mask is all `False` for blank sources.
        """
        length = decoder_sequence_length or sequence_length or self.decoder_sequence_length
        source = _as_batch(x["encoder_text"] if isinstance(x, dict) else x)
        prompt = tf.fill(tf.shape(source), "")
        if isinstance(x, dict) and "decoder_text" in x:
            prompt = _as_batch(x["decoder_text"])
        language = x.get("language") if isinstance(x, dict) else None
        source_ids, source_mask = self.pad(
            self.encode_source(source, encoder_sequence_length, language=language),
            encoder_sequence_length or self.encoder_sequence_length,
        )
        source_mask &= ~tf.strings.regex_full_match(source, f"[{SPACES}]*")[:, tf.newaxis]
        prompt = _prepend(self.tokenizer(prompt), self.tokenizer.start_token_id)[..., :length]
        target_ids, target_mask = self.pad(prompt, length)
        return {
            "encoder_token_ids": source_ids,
            "encoder_padding_mask": source_mask,
            "decoder_token_ids": target_ids,
            "decoder_padding_mask": target_mask,
        }

    def generate_postprocess(self, x):
        """Convert generated ids to strings, without special tokens.

        Args:
            x: a dict of `decoder_token_ids` and `decoder_padding_mask`, `(batch, length)`.

        Returns:
            A list of `batch` strings.
        """
        ids = tf.ragged.boolean_mask(
            tf.convert_to_tensor(x["decoder_token_ids"]),
            tf.cast(x["decoder_padding_mask"], tf.bool),
        )
        return self.tokenizer.detokenize(ids)

    def get_config(self):
        """Return every constructor argument."""
        return {
            **super().get_config(),
            "encoder_tokenizer": keras.saving.serialize_keras_object(self._encoder_tokenizer),
            "encoder_sequence_length": self.encoder_sequence_length,
            "decoder_sequence_length": self.decoder_sequence_length,
            "sample_subwords": self.sample_subwords,
            "languages": list(self.languages),
        }

    @classmethod
    def from_config(cls, config):
        """Create the preprocessor from its configuration."""
        tokenizer = config.get("encoder_tokenizer")
        if isinstance(tokenizer, dict):
            tokenizer = keras.saving.deserialize_keras_object(tokenizer)
        return super().from_config({**config, "encoder_tokenizer": tokenizer})


def _as_batch(text):
    """Convert a string, a list or a tensor of strings to a string tensor `(batch,)`."""
    return tf.reshape(tf.convert_to_tensor(text, tf.string), (-1,))


def _append(ids, token_id):
    return tf.concat([ids, tf.fill((ids.nrows(), 1), token_id)], axis=-1)


def _prepend(ids, token_id):
    return tf.concat([tf.fill((ids.nrows(), 1), token_id), ids], axis=-1)
