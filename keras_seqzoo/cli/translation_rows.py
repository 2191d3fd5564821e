"""What `seqzoo translate` makes of hypotheses: which of them it writes, and as what lines."""

from keras_seqzoo.cli.lines import as_column
from keras_seqzoo.decoding import minimum_bayes_risk
from keras_seqzoo.models import word_alignment


def most_agreed(translations, utility):
    """Return the one that the others agree with most, in a list; of a blank line, what there is."""
    if not translations[0].source_tokens:
        return translations
    texts = [translation.text for translation in translations]
    (expected, index), *_ = minimum_bayes_risk(texts, utility)
    return [translations[index]._replace(score=expected)]


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
