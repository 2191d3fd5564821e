"""Export of translation models."""

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.models.seq2seq.text_translation import TextTranslation
from keras_seqzoo.serving.saved_model import TEXT, check_model, check_strategy, write_saved_model
from keras_seqzoo.tokenizers.words import SPACES

TOKEN_IDS = tf.TensorSpec([None, None], tf.int32, name="token_ids")
PHRASES = tf.TensorSpec([None, None], tf.string, name="required_phrases")


def export_translation_model(model, directory, strategy=None, n_best=None, max_length=None):
    """Export a translation model for TensorFlow Serving: text in, text out.

    The next free version of `directory` (1, 2, …) becomes a SavedModel with tokenizers, model,
    search and detokenizer. It runs without Keras and this package: TensorFlow Serving has the ops
    of TensorFlow Text. It translates as `model.translate` does with the same strategy and
    `max_length`. Its signatures:

    - `serving_default` takes `text`, string `(batch,)`, and returns `translation`, string
      `(batch,)`, and `score`, float32 `(batch,)`;
    - `n_best` takes `text`, string `(batch,)`, and returns `translations`, string `(batch, n)`,
      best first, and `scores` and `log_probabilities`, float32 `(batch, n)`;
    - `token_ids` takes `token_ids`, int32 `(batch, length)`, ending in `[EOS]` and padded with 0,
      and returns `token_ids`, int32 `(batch, max_length)`, `lengths`, int32 `(batch,)`, both
      including `[EOS]`, and `score`, float32 `(batch,)`.

    With a `LexicallyConstrainedBeamSearch` each signature also takes `required_phrases`, string
    `(batch, count)`, padded with blanks. A text without a translation that contains all of them
    gets the empty string with score `-inf`.

    Blank texts translate to the empty string with score 0. Sources longer than the preprocessor's
    `encoder_sequence_length` are truncated. Invalid UTF-8 is read as U+FFFD.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor, an `Ensemble` or a `ShallowFusion`.
        directory: string or path, the model's folder; earlier versions in it stay as they are.
        strategy: a `DecodingStrategy`; by default that of `model.translate`.
        n_best: int, n of the signature `n_best`; by default the maximum of the strategy, the width
            of a beam or the number of samples.
        max_length: int, the maximum target tokens; by default the preprocessor's
            `decoder_sequence_length`.

    Returns:
        string. The path of the new version.

    Raises:
        TypeError: if `model` or `strategy` is of another type.
        ValueError: if `model` has no preprocessor, `n_best` is above the maximum of the strategy,
            or `max_length` is below 1.
        OSError: if `directory` cannot be written to. No partial version is left.

    Example:
    ```python
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    path = export_translation_model(model, "served/en_fr")  # "served/en_fr/1"

    import tensorflow_text  # registers the ops; a server has them

    served = tf.saved_model.load(path)
    translate = served.signatures["serving_default"]
    translate(text=tf.constant(["Two dogs run through the snow."]))["translation"]
    ```

    With TensorFlow Serving over REST:

    ```shell
    docker run -p 8501:8501 -v "$PWD/served:/models" -e MODEL_NAME=en_fr tensorflow/serving
    url=localhost:8501/v1/models/en_fr:predict
    curl $url -d '{"instances": ["Two dogs run."]}'
    # {"predictions": [{"translation": "...", "score": ...}]}
    curl $url -d '{"signature_name": "n_best", "instances": ["Two dogs run."]}'
    ```
    """
    check_model(model, TextTranslation, "a model that translates text")
    preprocessor = model.preprocessor
    strategy = check_strategy(strategy, model.default_strategy)
    n_best = strategy.max_hypotheses if n_best is None else n_best
    max_length = preprocessor.decoder_sequence_length if max_length is None else max_length
    signatures = TranslationSignatures(
        model,
        strategy,
        check_integer("n_best", n_best, minimum=1),
        check_integer("max_length", max_length, minimum=1),
    )
    phrases = [PHRASES] if strategy.takes_phrases else []
    functions = {
        "serving_default": (signatures.translate, TEXT, *phrases),
        "n_best": (signatures.translate_n_best, TEXT, *phrases),
        "token_ids": (signatures.translate_token_ids, TOKEN_IDS, *phrases),
    }
    tokenizers = [preprocessor.encoder_tokenizer, preprocessor.tokenizer]
    return write_saved_model(directory, functions, tokenizers)


class TranslationSignatures:
    """The functions of a served translation model, from source to target.

    Rows of a batch do not influence each other. Sources are truncated to the preprocessor's
    `encoder_sequence_length` and padded to the longest of the batch. Rows without a source (blank
    text, only padding) are not searched: their translation is empty and their score 0.

    Args:
        model: a `TextTranslation` model with a preprocessor.
        strategy: a `DecodingStrategy`.
        n_best: int, the number of hypotheses of the signature `n_best`.
        max_length: int, the maximum target tokens, including `[EOS]`.
    """

    def __init__(self, model, strategy, n_best, max_length):  # noqa: D107
        self._model = model
        self._preprocessor = model.preprocessor
        self._strategy = strategy.with_n_best(1)
        self._n_best_strategy = strategy.with_n_best(n_best)
        self._n_best = n_best
        self._max_length = max_length

    def translate(self, text, required_phrases=None):
        """Return the best translation of each text.

        Args:
            text: string tensor `(batch,)`.
            required_phrases: string tensor `(batch, count)`, or `None`.

        Returns:
            A dict of `translation`, string `(batch,)`, and `score`, float32 `(batch,)`.
        """
        hypotheses, filled = self._search_texts(text, self._strategy, required_phrases)
        texts = self._detokenize(hypotheses)
        return {
            "translation": scatter_rows(texts[:, 0], filled, ""),
            "score": scatter_rows(hypotheses.scores[:, 0], filled, 0.0),
        }

    def translate_n_best(self, text, required_phrases=None):
        """Return several translations of each text, best first.

        Args:
            text: string tensor `(batch,)`.
            required_phrases: see `translate`.

        Returns:
            A dict of `translations`, string `(batch, n)`, and `scores` and `log_probabilities`,
            float32 `(batch, n)`. Missing translations are empty and have the score `-inf`.
        """
        hypotheses, filled = self._search_texts(text, self._n_best_strategy, required_phrases)
        return {
            name: scatter_rows(values[:, : self._n_best], filled, blank)
            for name, values, blank in (
                ("translations", self._detokenize(hypotheses), ""),
                ("scores", hypotheses.scores, 0.0),
                ("log_probabilities", hypotheses.log_probabilities, 0.0),
            )
        }

    def translate_token_ids(self, token_ids, required_phrases=None):
        """Return the best translation of each token sequence.

        Args:
            token_ids: int32 tensor `(batch, length)`, source tokens with `[EOS]`; 0 is padding. A
                sequence that is too long keeps its last token (`[EOS]`).
            required_phrases: see `translate`.

        Returns:
            A dict of `token_ids`, int32 `(batch, max_length)`, target tokens with `[EOS]`, padded
            with 0; `lengths`, int32 `(batch,)`, including `[EOS]`; and `score`, float32 `(batch,)`.
        """
        limit = self._preprocessor.encoder_sequence_length
        padding = self._preprocessor.encoder_tokenizer.pad_token_id
        ids = tf.ragged.boolean_mask(token_ids, token_ids != padding)
        filled = ids.row_lengths() > 0
        ids = tf.ragged.boolean_mask(ids, filled)
        ids = tf.concat([ids[:, : limit - 1], ids[:, limit - 1 :][:, -1:]], axis=1)
        hypotheses = self._search(ids, self._strategy, filled, required_phrases)
        padding = self._preprocessor.tokenizer.pad_token_id
        return {
            "token_ids": scatter_rows(hypotheses.tokens[:, 0], filled, padding),
            "lengths": scatter_rows(hypotheses.lengths[:, 0], filled, 0),
            "score": scatter_rows(hypotheses.scores[:, 0], filled, 0.0),
        }

    def _search_texts(self, text, strategy, required_phrases):
        filled = ~tf.strings.regex_full_match(text, f"[{SPACES}]*")
        ids = self._preprocessor.encode_source(tf.boolean_mask(text, filled))
        return self._search(ids, strategy, filled, required_phrases), filled

    def _search(self, ids, strategy, filled, required_phrases):
        ids, mask = self._preprocessor.pad(ids)  # (rows, longest)
        # Recurrent layers need at least one step, even without rows.
        extra = [[0, 0], [0, tf.cast(tf.shape(ids)[1] == 0, tf.int32)]]
        ids, mask = tf.pad(ids, extra), tf.pad(mask, extra)
        if required_phrases is not None:
            required_phrases = tf.boolean_mask(required_phrases, filled)
            required_phrases = self._model.encode_phrases(required_phrases)
        return self._model.search(
            ids, mask, strategy, self._max_length, required_phrases=required_phrases, shrink=True
        )

    def _detokenize(self, hypotheses):
        n_best, length = hypotheses.tokens.shape[1:]
        ids = tf.RaggedTensor.from_tensor(
            tf.reshape(hypotheses.tokens, [-1, length]),
            lengths=tf.reshape(hypotheses.lengths, [-1]),
        )
        return tf.reshape(self._preprocessor.tokenizer.detokenize(ids), [-1, n_best])


def scatter_rows(values, mask, blank):
    """Put rows back where a mask selected them, the inverse of `tf.boolean_mask`.

    Args:
        values: tensor `(count, ...)`.
        mask: boolean tensor `(batch,)` with `count` true entries.
        blank: the value of the other rows.

    Returns:
        A tensor `(batch, ...)`.
    """
    values = tf.concat([values, tf.fill([1, *values.shape[1:]], blank)], axis=0)
    order = tf.cumsum(tf.cast(mask, tf.int32)) - 1
    return tf.gather(values, tf.where(mask, order, tf.shape(values)[0] - 1))
