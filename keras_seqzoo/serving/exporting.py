"""Export of any model to a SavedModel for TensorFlow Serving."""

import errno
import json
import os
import shutil

import tensorflow as tf

from keras_seqzoo.checks import check_integer
from keras_seqzoo.serving.classifier import ClassifierSignatures
from keras_seqzoo.serving.description import DESCRIPTION_FILE, describe
from keras_seqzoo.serving.language_model import LanguageModelSignatures
from keras_seqzoo.serving.saved_model import check_directory, write_version
from keras_seqzoo.serving.server_ops import check_operations
from keras_seqzoo.serving.tagger import TaggerSignatures
from keras_seqzoo.serving.translation import TranslationSignatures
from keras_seqzoo.serving.warmup import MAX_REQUESTS, WARMUP_FILE, write_warmup
from keras_seqzoo.serving.word_vectors import WordVectorSignatures

FAMILIES = (
    TranslationSignatures,
    LanguageModelSignatures,
    ClassifierSignatures,
    TaggerSignatures,
    WordVectorSignatures,
)
EXTRA = "assets.extra"
CARD_FILE = "README.md"


def export(
    model,
    directory,
    *,
    strategy=None,
    n_best=None,
    max_length=None,
    max_input_length=None,
    signatures=None,
    warmup=(1,),
    compiled_shapes=None,
    keep=None,
    card=None,
    on_step=lambda step: None,
):
    """Export a model for TensorFlow Serving: text in, text out.

    The next free version of `directory` (1, 2, …) becomes a SavedModel with tokenizers, model and
    search. It runs without Keras and this package. It needs only those ops of TensorFlow Text that
    TensorFlow Serving has; this is checked. The signatures:

    - translation models: `serving_default` (`text` to `translation` and `score`), `n_best`
      (`translations`, `scores` and `log_probabilities`) and `token_ids` (ids in and out). With a
      `LexicallyConstrainedBeamSearch`, each also takes `required_phrases`, string `(batch,)`:
      phrases with tabs between them. A text without a translation that contains all of them gets
      the empty string with score `-inf`, also if they have more than `max_length` tokens.
      For a model with several target languages, the signatures of texts take `language`, string
      `(batch,)`, and return `error`: what is wrong with the row, such as an unknown language, or an
      empty string. In `token_ids`, the first token is the token of the language.
    - language models: `serving_default` (the beginning of a sentence to `generated` and `scores`)
      and `score` (sentences to `log_probability` and `tokens`);
    - text classifiers: `serving_default` (`label`, `probability`, `labels`, `probabilities`, and
      `chosen`, which labels apply);
    - taggers: `serving_default` (`tokens`, `tags`, `probabilities`, `lengths`);
    - word vectors: `serving_default` (a word to `vectors` and `known`) and `similar` (`words`,
      `similarities` and `known`).

    Each takes any number of rows, even none, and returns `truncated`, bool `(batch,)`: whether the
    input of a row was longer than `max_input_length` tokens and was cut. So the time and memory of
    a row are bounded. Invalid UTF-8 is read as U+FFFD; all output strings are valid UTF-8.
    Blank texts translate to the empty string with score 0.

    The folder `assets.extra` of the version has `signature.json`, which holds the names, dtypes,
    shapes and meanings of inputs and outputs, the limits, the search, the version of TensorFlow,
    and the outputs for empty text;
    `tf_serving_warmup_requests`, which a server runs before it serves the version; and `README.md`,
    if a `card` is given.

    Args:
        model: a `RecurrentSeq2SeqLM`, `Ensemble` or `ShallowFusion`; a `LanguageModel`; a
            `RecurrentTextClassifier`, `ConvolutionalTextClassifier`, `FeatureTextClassifier` or
            `TreeTextClassifier` (its texts are sentences in CoNLL-U); a `RecurrentTagger`; or
            `WordVectors`.
        directory: string or path of the model's local folder; earlier versions in it stay as they
            are, except as `keep` says.
        strategy: a `DecodingStrategy` for a translation or language model; by default that of
            `model.translate`, or one sample.
        n_best: int, the number of translations in the signature `n_best`, of sentences of a
            language model, or of similar words. The default is the maximum of the strategy (the
            width of a beam, the number of samples), or 10 words.
        max_length: int, the maximum number of tokens of a translation, by default the
            preprocessor's `decoder_sequence_length`; or of a generated sentence, by default 64.
        max_input_length: int, the number of tokens to which an input is cut. For a translation
            model, `[EOS]` counts and is kept. For a translation model or classifier, the default
            and the maximum are the length of the preprocessor; otherwise the default is 256.
        signatures: list of the names of signatures to export; by default all.
        warmup: list of ints, the batch sizes of warm-up requests to each signature; may be empty.
        compiled_shapes: list of pairs of ints, rows and tokens (words for a tagger), such as
            `[(1, 32), (32, 256)]`, for which XLA compiles a translation model, classifier or
            tagger. A request is padded to the smallest shape that holds it, counted in cells; if
            none does, it runs without XLA. Each shape is one more warm-up request to each
            signature. A server on CPUs needs `--xla_cpu_compilation_enabled`. By default nothing is
            compiled.
        keep: int, how many versions to keep: older ones are removed once the new one has appeared.
            By default all are kept.
        card: string or path of a Markdown file that describes the model, or `None`.
        on_step: function of a string, called with what begins, such as "tracing n_best".

    Returns:
        string. The path of the new version.

    Raises:
        TypeError: if `model` or `strategy` is of another type.
        ValueError: if `model` has no preprocessor or uses ops that a server does not have; an
            option does not apply to the model, or is out of range; or `directory` is an address
            such as `gs://…`.
        OSError: if `directory` cannot be written to, or `card` cannot be read. No partial version
            is left.

    Example:
    ```python
    model = keras_seqzoo.models.RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr")
    path = keras_seqzoo.serving.export(model, "served/en_fr")  # "served/en_fr/1"

    import tensorflow_text  # registers the ops; a server has them

    served = tf.saved_model.load(path)
    translate = served.signatures["serving_default"]
    translate(text=tf.constant(["Two dogs run through the snow."]))["translation"]
    ```

    With TensorFlow Serving over REST:

    ```shell
    docker run -p 127.0.0.1:8501:8501 -v ./served:/models:ro -e MODEL_NAME=en_fr \
        tensorflow/serving:2.21.0
    url=localhost:8501/v1/models/en_fr:predict
    curl $url -d '{"instances": ["Two dogs run."]}'
    # {"predictions": [{"translation": "...", "score": ..., "truncated": false}]}
    curl $url -d '{"signature_name": "n_best", "instances": ["Two dogs run."]}'
    ```
    """
    directory = check_directory(directory)
    family = _make_family(
        model,
        strategy=strategy,
        n_best=n_best,
        max_length=max_length,
        max_input_length=max_input_length,
        compiled_shapes=compiled_shapes,
    )
    chosen = _choose(family.signatures(), signatures)
    batches = [check_integer("warmup", rows, minimum=1) for rows in warmup]
    shapes, most = len(family.compiled.shapes), MAX_REQUESTS // len(chosen)
    if len(batches) + shapes > most:
        raise ValueError(
            f"`warmup` and `compiled_shapes` must be at most {most} requests to each signature, "
            f"got {len(batches)} and {shapes}."
        )
    keep = None if keep is None else check_integer("keep", keep, minimum=1)
    if card is not None:
        with open(card, "rb"):  # fail before the work
            pass
    functions = {}
    for name, signature in chosen.items():
        on_step(f"tracing {name}")
        functions[name] = signature.trace()
    description = describe(family, chosen, functions)
    examples = [*(family.examples(rows) for rows in batches), *family.compiled_examples()]
    requests = [
        (name, _only(own, signature.inputs))
        for own in examples
        for name, signature in chosen.items()
    ]
    model_name = os.path.basename(os.path.abspath(directory))

    def write(path):
        try:
            on_step("saving")
            _save(functions, family.resources, path)
            on_step("checking the operations")
            check_operations(path)
            extra = os.path.join(path, EXTRA)
            os.makedirs(extra)
            with open(os.path.join(extra, DESCRIPTION_FILE), "w", encoding="utf-8") as file:
                json.dump(description, file, indent=2, ensure_ascii=False, allow_nan=False)
                file.write("\n")
            if requests:
                on_step("writing warm-up requests")
                write_warmup(os.path.join(extra, WARMUP_FILE), model_name, requests)
            if card is not None:
                shutil.copyfile(card, os.path.join(extra, CARD_FILE))
        except tf.errors.OpError as error:  # what TensorFlow's file system raises
            raise OSError(errno.EIO, error.message) from error

    return write_version(directory, write, keep)


def _make_family(model, **options):
    """Create the signatures of the model's family with the options that are not `None`."""
    for family in FAMILIES:
        if isinstance(model, family.model_class):
            break
    else:
        kinds = ", ".join(family.kind for family in FAMILIES)
        raise TypeError(f"`model` must be one of {kinds}, got {type(model).__name__}.")
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in family.options:
            raise ValueError(f"`{name}` must not be given for {family.kind}, got {value!r}.")
    return family(model, **given)


def _choose(signatures, names):
    if names is None:
        return signatures
    names = list(dict.fromkeys(names))
    known = ", ".join(signatures)
    for name in names:
        if name not in signatures:
            raise ValueError(f"`signatures` must be among {known}, got {name!r}.")
    if not names:
        raise ValueError(f"`signatures` must be one or more of {known}, got none.")
    return {name: signatures[name] for name in names}


def _only(examples, inputs):
    return {name: tf.constant(examples[name], own.spec.dtype) for name, own in inputs.items()}


def _save(functions, resources, path):
    """Save functions with the weights that they use, without optimizer and Keras layers."""
    used = (variable for function in functions.values() for variable in function.graph.variables)
    module = tf.Module()
    module.weights = list({variable.ref(): variable for variable in used}.values())
    module.resources = resources
    tf.saved_model.save(module, path, signatures=functions)
