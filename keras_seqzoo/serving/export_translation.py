"""A translation model as a SavedModel."""

from keras_seqzoo.checks import check_integer
from keras_seqzoo.decoding import DecodingStrategy
from keras_seqzoo.models.seq2seq.text_translation import TextTranslation
from keras_seqzoo.serving.saved_functions import save_functions
from keras_seqzoo.serving.translation_signatures import TranslationSignatures
from keras_seqzoo.serving.versions import write_version


def export_translation_model(model, directory, strategy=None, n_best=None, max_length=None):
    """Writes a translation model for TensorFlow Serving: text in, text out.

    `directory/1` (then `2`, `3`, ...: the next number that is free) becomes a SavedModel that
    holds tokenizers, model, search and detokenizer. It needs TensorFlow and the SentencePiece ops
    of TensorFlow Text, which TensorFlow Serving has in it, and neither Keras nor this package. It
    translates as `model.translate` does with the same strategy and `max_length`. Its signatures:

    - `serving_default`: `text`, string `(batch,)`, to `translation`, string `(batch,)`, and
      `score`, float32 `(batch,)`;
    - `n_best`: `text`, string `(batch,)`, to `translations`, string `(batch, n)`, best first, and
      `scores` and `log_probabilities`, float32 `(batch, n)`;
    - `token_ids`: `token_ids`, int32 `(batch, length)`, ending in `[EOS]` and padded with 0, to
      `token_ids`, int32 `(batch, max_length)`, `lengths`, int32 `(batch,)`, both with `[EOS]`, and
      `score`, float32 `(batch,)`.

    With a `LexicallyConstrainedBeamSearch` each of them also takes `phrases`, string `(batch,
    count)`, blank where a text has fewer; a text that has no translation with all of them gets the
    empty string with score `-inf`.

    Blank texts translate to the empty string with score 0; a source above the preprocessor's
    `encoder_sequence_length` is cut; bytes that are no UTF-8 are read as U+FFFD.

    Args:
        model: a `RecurrentSeq2SeqLM` with a preprocessor, an `Ensemble` or a `ShallowFusion`.
        directory: string or path. The model's folder; the versions in it are left as they are.
        strategy: a `DecodingStrategy`; by default that of `model.translate`.
        n_best: int, n of the signature `n_best`; by default as many as the strategy can give, the
            width of a beam or the number of samples.
        max_length: int, the most target tokens; by default the preprocessor's
            `decoder_sequence_length`.

    Returns:
        string. The path of the version that was written.

    Raises:
        TypeError: if `model` or `strategy` is of another type.
        ValueError: if `model` has no preprocessor, `n_best` is not what the strategy can give, or
            `max_length` is below 1.
        OSError: if `directory` cannot be written to. No part of a version is left there then.

    Example:
    ```python
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    path = export_translation_model(model, "served/en_fr")  # "served/en_fr/1"

    import tensorflow_text  # brings the ops; a server has them

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
    if not isinstance(model, TextTranslation):
        raise TypeError(
            "`model` must translate text, as a RecurrentSeq2SeqLM or an Ensemble does, got "
            f"{type(model).__name__}."
        )
    if model.preprocessor is None:
        raise ValueError("`model` must have a preprocessor, which turns text into ids: got None.")
    if strategy is None:
        strategy = model.default_strategy
    elif not isinstance(strategy, DecodingStrategy):
        raise TypeError(f"`strategy` must be a DecodingStrategy, got {type(strategy).__name__}.")
    if n_best is None:
        n_best = strategy.most_hypotheses
    if max_length is None:
        max_length = model.preprocessor.decoder_sequence_length
    signatures = TranslationSignatures(
        model,
        strategy,
        check_integer("n_best", n_best, minimum=1),
        check_integer("max_length", max_length, minimum=1),
    )
    tokenizers = [model.preprocessor.encoder_tokenizer, model.preprocessor.tokenizer]
    return write_version(
        directory, lambda path: save_functions(signatures.trace(), tokenizers, path)
    )
