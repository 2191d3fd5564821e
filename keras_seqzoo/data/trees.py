"""Trees over sentences, read from brackets or heads."""

import re
from typing import NamedTuple

import numpy as np

TOKEN = re.compile(r"[()]|[^\s()]+")


class Tree(NamedTuple):
    """A tree over a sentence, its nodes numbered from 0; siblings are ordered by their numbers.

    Attributes:
        parents: `(nodes,)` int32, the number of each node's parent; -1 for the root.
        positions: `(nodes,)` int32, where each node's word stands in the sentence, from 0; -1 for
            a node without a word.
        words: List of the sentence's words, empty where they were not given.
        labels: List of the nodes' labels, empty where they were not given.
    """

    parents: np.ndarray
    positions: np.ndarray
    words: list
    labels: list

    @property
    def children(self):
        """The list of each node's children, a list of lists of numbers."""
        children = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children


def read_bracketed_trees(texts):
    """Reads trees in brackets, as in the Penn Treebank and the Stanford Sentiment Treebank.

    A node is a pair of brackets, with its label first and then its word or its children; it has no
    label (`""`) where a bracket follows at once. A word beside other children is a node of its
    own, without label. Nodes are numbered in the order of the text: the root is 0. Words stay as
    they are written (`-LRB-`). A blank text is a tree without nodes.

    Args:
        texts: A list of strings, each of one tree.

    Returns:
        A list of `Tree`s.

    Raises:
        TypeError: When `texts` is no list of strings.
        ValueError: When brackets do not match or hold nothing, or a text holds more than one
            tree; the message gives the text's number and the character's, both from 0.

    Example:
        >>> (tree,) = read_bracketed_trees(["(3 (2 The) (3 (2 film) (4 works)))"])
        >>> tree.words, tree.labels, tree.children
        (['The', 'film', 'works'], ['3', '2', '3', '2', '4'], [[1, 2], [], [3, 4], [], []])
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError(
            f"texts must be a list of strings, got the {type(texts).__name__} {texts!r}"
        )
    return [_read_brackets(text, f"texts[{number}]") for number, text in enumerate(texts)]


def _read_brackets(text, name):
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {type(text).__name__}")
    parents, positions, words, labels = [], [], [], []
    path, previous = [], ""  # the open nodes, and the token before
    for match in TOKEN.finditer(text):
        token, place = match.group(), f"{name}, character {match.start()}"
        if token == "(" and (path or not parents):
            parents.append(path[-1] if path else -1)
            positions.append(-1)
            labels.append("")
            path.append(len(parents) - 1)
        elif not path:
            wrong = "closes, but none is open" if token == ")" else "must hold the whole tree"
            raise ValueError(f"{place}: a bracket {wrong}, got {text[match.start() :][:20]!r}")
        elif token == ")":
            node = path.pop()
            if len(parents) == node + 1:
                raise ValueError(f"{place}: the bracket needs a word or brackets after its label")
            if len(parents) == node + 2 and previous not in "()":  # a word and nothing else
                positions[node] = positions.pop()
                parents.pop()
                labels.pop()
        elif previous == "(":
            labels[path[-1]] = token
        else:
            parents.append(path[-1])
            positions.append(len(words))
            labels.append("")
            words.append(token)
        previous = token
    if path:
        raise ValueError(f"{name} needs every bracket closed, but {len(path)} are open at its end")
    return Tree(np.array(parents, np.int32), np.array(positions, np.int32), words, labels)


def dependency_tree(heads, words=(), labels=()):
    """Makes the dependency tree of a sentence; node i is word i.

    Args:
        heads: The number of each word's head, from 1, and 0 for the root: the column HEAD of
            CoNLL-U. No heads make a tree without nodes.
        words: The words (FORM), or none.
        labels: Each word's relation to its head (DEPREL), or none.

    Returns:
        A `Tree`.

    Raises:
        TypeError: When `heads` is no sequence of ints.
        ValueError: When heads are out of range or form a cycle, there is more than one root, or
            the lengths differ.

    Example:
        >>> dependency_tree([2, 0, 2]).children  # She reads books
        [[], [0, 2], []]
    """
    heads = np.asarray(heads)
    if heads.ndim != 1 or (heads.size and heads.dtype.kind not in "iu"):
        raise TypeError(f"heads must be a sequence of ints, got {heads.tolist()!r}")
    for name, strings in (("words", words), ("labels", labels)):
        if len(strings) not in (0, len(heads)):
            raise ValueError(f"{name} must be as many as heads, {len(heads)}, got {len(strings)}")
    out = np.flatnonzero((heads < 0) | (heads > len(heads)))
    if out.size:
        raise ValueError(
            f"heads must be from 0 to the number of words, {len(heads)}, but that of word "
            f"{out[0] + 1} is {heads[out[0]]}"
        )
    parents = heads.astype(np.int32) - 1
    _, tops = climb(parents)
    if cycle := find_cycle(parents, tops):
        ring = " -> ".join(str(word + 1) for word in cycle)
        raise ValueError(f"heads must form a tree, but these words form a cycle: {ring}")
    roots = np.flatnonzero(heads == 0) + 1
    if roots.size > 1:
        raise ValueError(f"heads must have one root, a single 0, but have words {roots.tolist()}")
    return Tree(parents, np.arange(len(heads), dtype=np.int32), list(words), list(labels))


def climb(parents):
    """Gives each node's depth below its root, and that root: on a cycle, a node of the cycle."""
    depths = (parents >= 0).astype(np.int32)
    tops = np.where(parents < 0, np.arange(len(parents)), parents)
    for _ in range(len(parents).bit_length()):  # each time twice as far
        depths = depths + depths[tops]
        tops = tops[tops]
    return depths, tops


def find_cycle(parents, tops):
    """Lists the nodes of a cycle, the first again at the end; `tops` are those of `climb`."""
    looping = tops[parents[tops] >= 0]
    if not looping.size:
        return []
    cycle = [looping.min(), parents[looping.min()]]
    while cycle[-1] != cycle[0]:
        cycle.append(parents[cycle[-1]])
    return cycle
