"""Combination of the word alignments of both directions into one."""

from keras_seqzoo.checks import check_choice

NEIGHBORS = ((0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))
GROWN = {"grow-diag": None, "grow-diag-final": any, "grow-diag-final-and": all}
METHODS = ("intersection", "union", *GROWN)


def symmetrize(links, reverse, method="grow-diag-final"):
    """Combine the word alignments of a sentence pair from the models of both directions.

    A model links each target word to one source word. So one direction alone cannot find all links
    of a word that has several. For the links A₁ of one direction and A₂ of the other:

    - `"intersection"`: A₁ ∩ A₂, few links, most of them right; `"union"`: A₁ ∪ A₂ (Och and Ney
      2003, A systematic comparison of various statistical alignment models).
    - `"grow-diag"`: starts from the intersection. Repeatedly adds links of the union that are
      neighbors of a link, also diagonally, and have a word without links, until there are none.
    - `"grow-diag-final"`: then also adds the links of A₁, and of A₂, that have a word without links
      (Koehn, Och and Marcu 2003, Statistical phrase-based translation).
    - `"grow-diag-final-and"`: the same, but both words of a link must be without links.

    Links are visited in the order of the target words, then of the source words.

    Args:
        links: iterable of pairs `(source, target)` of positions, such as `WordAlignment.links()` or
            a line of `keras_seqzoo.data.read_alignments`.
        reverse: the links from the model of the other direction, as that model gives them: pairs
            `(target, source)`.
        method: see above.

    Returns:
        A list of pairs `(source, target)`, sorted by target, then by source.

    Raises:
        ValueError: if `method` is unknown.

    Example:
    >>> links, reverse = [(0, 0), (1, 1), (1, 2)], [(0, 0), (1, 1), (1, 2)]
    >>> symmetrize(links, reverse, "intersection")
    [(0, 0), (1, 1)]
    >>> symmetrize(links, reverse)
    [(0, 0), (1, 1), (2, 1), (1, 2)]
    """
    check_choice("method", method, METHODS)
    links = {tuple(link) for link in links}
    reverse = {(source, target) for target, source in reverse}
    if method == "union":
        return _in_order(links | reverse)
    found = _Links(links & reverse)
    if method in GROWN:
        while found.grow(_in_order(links | reverse)):
            pass
    if GROWN.get(method):
        for more in links, reverse:
            found.add_free(_in_order(more), GROWN[method])
    return _in_order(found.links)


class _Links:
    """A growing set of links, and the words that have a link."""

    def __init__(self, links):
        self.links = set(links)
        self.words = [{link[side] for link in links} for side in (0, 1)]

    def grow(self, union):
        """Add links of the union that neighbor a link; return whether there were any."""
        before, candidates = len(self.links), set(union)
        for source, target in union:
            if (source, target) in self.links:
                near = [(source + across, target + along) for across, along in NEIGHBORS]
                self.add_free([link for link in near if link in candidates], any)
        return len(self.links) > before

    def add_free(self, links, condition):
        """Add links of which any word, or all words, have no link."""
        for link in links:
            if condition(word not in words for word, words in zip(link, self.words, strict=True)):
                self.links.add(link)
                for word, words in zip(link, self.words, strict=True):
                    words.add(word)


def _in_order(links):
    return sorted(links, key=lambda link: (link[1], link[0]))
