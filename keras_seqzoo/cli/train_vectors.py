"""`seqzoo train vectors`."""

from typing import Annotated, Literal

import keras
import tensorflow as tf
import typer

from keras_seqzoo.cli.lines import text_lines
from keras_seqzoo.cli.options import Normalization
from keras_seqzoo.cli.train_options import Seed, report
from keras_seqzoo.data.output_files import check_output_path
from keras_seqzoo.models.word_vectors import Phrases, RowAdagrad, Word2Vec, linear_decay
from keras_seqzoo.models.word_vectors.vector_files import FORMATS
from keras_seqzoo.models.word_vectors.word2vec import ARCHITECTURES, OBJECTIVES
from keras_seqzoo.tokenizers import WordTokenizer
from keras_seqzoo.tokenizers.texts import text_batches

EXAMPLES = """\b
Examples:
  seqzoo train vectors --out vectors.txt --normalization lowercase --split-punctuation < some.txt
  seqzoo similar --vectors vectors.txt film actor
"""


def train_vectors(
    out: Annotated[str, typer.Option(metavar="FILE", help="File of the vectors.")],
    text: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Text, or .gz of it; by default the input."),
    ] = None,
    format: Annotated[Literal[FORMATS], typer.Option(help="Of the file.")] = "word2vec",
    normalization: Normalization = None,
    split_punctuation: Annotated[
        bool, typer.Option("--split-punctuation", help="Punctuation marks are words.")
    ] = False,
    phrases: Annotated[
        int, typer.Option(min=0, max=5, help="Passes that join words such as New_York.")
    ] = 0,
    minimum_count: Annotated[
        int, typer.Option(min=1, help="Words that come less often get no vector.")
    ] = 5,
    vocabulary_size: Annotated[int | None, typer.Option(min=2, help="The most words.")] = None,
    dimensions: Annotated[int, typer.Option(min=1)] = 100,
    architecture: Annotated[Literal[ARCHITECTURES], typer.Option()] = "skip-gram",
    objective: Annotated[Literal[OBJECTIVES], typer.Option()] = "negative-sampling",
    window: Annotated[int, typer.Option(min=1, help="The most words to one side.")] = 5,
    negatives: Annotated[int, typer.Option(min=1, help="Noise words for a pair.")] = 5,
    subsample: Annotated[
        float, typer.Option(min=0.0, help="Thin out words above this share of the text.")
    ] = 1e-3,
    epochs: Annotated[int, typer.Option(min=1)] = 5,
    learning_rate: Annotated[
        float, typer.Option(min=1e-6, help="The first; it falls to 0.")
    ] = 0.25,
    seed: Seed = 0,
):
    """Learn word vectors from text (word2vec).

    Words are what stands between white space; windows do not leave a line.
    """
    check_output_path(out)
    lines = text_lines(text)
    if normalization or split_punctuation:
        lines = _normal_lines(lines, list(map(str, normalization or [])), split_punctuation)
    if phrases:
        lines = Phrases.learn(lines, minimum_count, passes=phrases)(lines)
    keras.utils.set_random_seed(seed)
    model = Word2Vec.for_text(
        lines,
        minimum_count,
        vocabulary_size,
        dimensions=dimensions,
        architecture=architecture,
        objective=objective,
        window=window,
        negatives=negatives,
        subsample=subsample,
    )
    report(f"{len(lines)} lines, {model.counts.sum()} words of {len(model.words)} kinds")
    batches = model.batches(lines, seed=seed)
    steps = epochs * batches.cardinality().numpy()
    model.compile(RowAdagrad(linear_decay(learning_rate, steps)))
    for epoch in range(epochs):
        history = model.fit(batches, verbose=0, shuffle=False).history
        report(f"epoch {epoch + 1}  loss {history['loss'][0]:.4g}")
    model.vectors().save(out, format)


def _normal_lines(lines, normalization, split_punctuation):
    tokenizer = WordTokenizer(normalization=normalization, split_punctuation=split_punctuation)
    normal = []
    for batch in text_batches(lines):
        words = tokenizer.cut(tokenizer.normalize(batch))
        joined = tf.strings.reduce_join(words, axis=-1, separator=" ")
        normal += [line.decode() for line in joined.numpy().tolist()]
    return normal
