"""What `seqzoo translate` makes of hypotheses: which of them it writes, and as what lines."""

from keras_seqzoo.cli.lines import as_column
from keras_seqzoo.decoding import minimum_bayes_risk
from keras_seqzoo.models import replace_unknown_words, word_alignment


def most_agreed(translations, utility):
    """Return the one that the others agree with most, in a list."""
    texts = [translation.text for translation in translations]
    (expected, index), *_ = minimum_bayes_risk(texts, utility)
    return [translations[index]._replace(score=expected)]


def known_words(translations, source, lexicon):
    """Fill in unknown words from a `Lexicon`, or `None`, and from the source line."""
    return [replace_unknown_words(found, lexicon, source) for found in translations]


def output_rows(number, translations, n_best, scores, alignment):
    """Yield the lines of output for one line of input."""
    columns = n_best > 1 or scores or alignment
    for rank, translation in enumerate(translations, 1):
        row = [as_column(translation.text, "\t" if columns else "")]
        if n_best > 1:
            row = [str(number), str(rank), *row]
        if scores:
            row.append(f"{translation.score:.4f}")
        if alignment:
            links = translation.alignment is not None
            row.append(word_alignment(translation).pharaoh() if links else "")
        yield "\t".join(row)
