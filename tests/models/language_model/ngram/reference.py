"""N-gram models in plain Python: dictionaries of tuples, and the equations as they are written."""

from collections import Counter

BEGIN, END = 0, 1


class Counts:
    """Raw counts of sentences (lists of ids without their boundaries) by tuple."""

    def __init__(self, sentences, order, vocabulary):
        self.order = min(order, max(len(sentence) for sentence in sentences) + 2)
        self.raw = Counter()
        for sentence in sentences:
            padded = (BEGIN, *sentence, END)
            for n in range(1, order + 1):
                self.raw.update(padded[i : i + n] for i in range(len(padded) - n + 1))
        del self.raw[(BEGIN,)]
        self.possible = [word for word in range(vocabulary) if word != BEGIN]

    def adjusted(self, ngram):
        """Kneser and Ney's: how many different words come before."""
        if len(ngram) == self.order or ngram[0] == BEGIN:
            return self.raw[ngram]
        return sum(longer[1:] == ngram for longer in self.raw if len(longer) == len(ngram) + 1)

    def of_order(self, n, count):
        return [count(ngram) for ngram in self.raw if len(ngram) == n]


def discounts(counts, n, count):
    """Chen and Goodman's three, or `None` where the text has none."""
    number = Counter(counts.of_order(n, count))
    if not all(number[k] for k in (1, 2, 3, 4)):
        return None
    y = number[1] / (number[1] + 2 * number[2])
    found = [k - (k + 1) * y * number[k + 1] / number[k] for k in (1, 2, 3)]
    return found if all(0 <= d <= k for k, d in enumerate(found, 1)) else None


def parts(kind, counts, context, options):
    """Gives u for every word that was seen after a context, and what is left over."""
    n = len(context) + 1
    count = counts.adjusted if kind == "kneser_ney" else counts.raw.__getitem__
    seen = {w: count((*context, w)) for w in counts.possible if counts.raw[(*context, w)]}
    total = sum(seen.values())
    if kind == "maximum_likelihood":
        return {w: c / total for w, c in seen.items()}, 0.0
    if kind == "interpolation":
        weight = options[min(n, len(options)) - 1]
        return {w: (1 - weight) * c / total for w, c in seen.items()}, weight
    if kind == "witten_bell":
        return {w: c / (total + len(seen)) for w, c in seen.items()}, len(seen) / (
            total + len(seen)
        )
    if kind == "laplace":
        strength = options[min(n, len(options)) - 1]
        whole = total + strength
        return {w: c / whole for w, c in seen.items()}, strength / whole
    if kind == "absolute":
        number = Counter(counts.of_order(n, count))
        both = number[1] and number[2]
        taken = [number[1] / (number[1] + 2 * number[2]) if both else 0.5] * 3
    else:
        taken = discounts(counts, n, count) or (0.5, 1.0, 1.5)
    own = {w: (c - taken[min(c, 3) - 1]) / total for w, c in seen.items()}
    return own, sum(taken[min(c, 3) - 1] for c in seen.values()) / total


def probability(kind, counts, context, word, interpolates, options=None):
    """P(word | context) by the definition."""

    def lower(word):
        if not context:
            return 1 / len(counts.possible)
        return probability(kind, counts, context[1:], word, interpolates, options)

    if not any(counts.raw[(*context, w)] for w in counts.possible):
        return lower(word)
    own, left = parts(kind, counts, context, options)
    if interpolates:
        return own.get(word, 0.0) + left * lower(word)
    unseen = 1 - sum(lower(w) for w in own)
    if unseen <= 1e-12:
        return own.get(word, 0.0) / (1 - left)
    return own[word] if word in own else left / unseen * lower(word)
