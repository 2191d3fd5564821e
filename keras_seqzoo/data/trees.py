"""Trees over sentences, from brackets or dependency heads."""

import re
from typing import NamedTuple

import numpy as np

TOKEN = re.compile(r"[()]|[^\s()]+")


class Tree(NamedTuple):
    """A tree over a sentence, with nodes numbered from 0 and siblings ordered by number.

    Attributes:
        parents: `(nodes,)` int32, the number of each node's parent; -1 for the root.
        positions: `(nodes,)` int32, the index of each node's word in the sentence; -1 for a node
            without a word.
        words: list of the sentence's words, or an empty list.
        labels: list of the nodes' labels, or an empty list.
    """

    parents: np.ndarray
    positions: np.ndarray
    words: list
    labels: list

    @property
    def children(self):
        """The children of each node, a list of lists of numbers."""
        children = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children


def read_bracketed_trees(texts):
    """Parse trees in brackets, as in the Penn Treebank and the Stanford Sentiment Treebank.

    A node is a pair of brackets that contain a label and then a word or children. The label is `""`
    if a bracket comes first. A word with siblings is a separate node without a label. Nodes are
    numbered in the order of the text: the root is 0. Words stay as written (`-LRB-`). A blank text
    is a tree without nodes.

    Args:
        texts: list of strings, with one tree each.

    Returns:
        A list of `Tree`s.

    Raises:
        TypeError: if `texts` is not a list of strings.
        ValueError: if brackets do not match or are empty, or a text has more than one tree; the
            message names the text and the character, both from 0.

    Example:
        >>> (tree,) = read_bracketed_trees(["(3 (2 The) (3 (2 film) (4 works)))"])
        >>> tree.words, tree.labels, tree.children
        (['The', 'film', 'works'], ['3', '2', '3', '2', '4'], [[1, 2], [], [3, 4], [], []])
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"`texts` must be a list of strings, got {texts!r}.")
    return [_read_brackets(text, f"`texts[{number}]`") for number, text in enumerate(texts)]


def _read_brackets(text, name):
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {type(text).__name__}.")
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
            need = "have an opening bracket" if token == ")" else "be inside the bracket of a tree"
            raise ValueError(f"{place}: must {need}, got {text[match.start() :][:20]!r}.")
        elif token == ")":
            node = path.pop()
            if len(parents) == node + 1:
                raise ValueError(f"{place}: must be a word or a bracket, got a closing bracket.")
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
        raise ValueError(f"{name} must have all brackets closed, got {len(path)} open at the end.")
    return Tree(np.array(parents, np.int32), np.array(positions, np.int32), words, labels)


def dependency_tree(heads, words=(), labels=()):
    """Create the dependency tree of a sentence; node i is word i.

    Args:
        heads: sequence of ints, the number of each word's head, from 1, and 0 for the root: the
            column HEAD of CoNLL-U. It may be empty.
        words: the words (FORM), or empty.
        labels: the relation of each word to its head (DEPREL), or empty.

    Returns:
        A `Tree`.

    Raises:
        TypeError: if `heads` is not a sequence of ints.
        ValueError: if heads are out of range or form a cycle, there is more than one root, or the
            lengths differ.

    Example:
        >>> dependency_tree([2, 0, 2]).children  # She reads books
        [[], [0, 2], []]
    """
    heads = np.asarray(heads)
    if heads.ndim != 1 or (heads.size and heads.dtype.kind not in "iu"):
        raise TypeError(f"`heads` must be a sequence of ints, got {heads.tolist()!r}.")
    for name, strings in (("words", words), ("labels", labels)):
        if len(strings) not in (0, len(heads)):
            raise ValueError(
                f"`{name}` must have the length of `heads`, {len(heads)}, got {len(strings)}."
            )
    wrong = np.flatnonzero((heads < 0) | (heads > len(heads)))
    if wrong.size:
        raise ValueError(
            f"`heads` must be from 0 to the number of words, {len(heads)}, got {heads[wrong[0]]} "
            f"for word {wrong[0] + 1}."
        )
    parents = heads.astype(np.int32) - 1
    _, tops = climb(parents)
    if cycle := find_cycle(parents, tops):
        ring = " -> ".join(str(word + 1) for word in cycle)
        raise ValueError(f"`heads` must form a tree, got a cycle of words: {ring}.")
    roots = np.flatnonzero(heads == 0) + 1
    if roots.size > 1:
        raise ValueError(f"`heads` must have one root, a single 0, got words {roots.tolist()}.")
    return Tree(parents, np.arange(len(heads), dtype=np.int32), list(words), list(labels))


def climb(parents):
    """Return the depth and the root of each node; on a cycle, the root is a node of the cycle."""
    depths = (parents >= 0).astype(np.int32)
    tops = np.where(parents < 0, np.arange(len(parents)), parents)
    for _ in range(len(parents).bit_length()):  # each step doubles the distance
        depths = depths + depths[tops]
        tops = tops[tops]
    return depths, tops


def find_cycle(parents, tops):
    """Return the nodes of a cycle, the first again at the end, or []; `tops` is from `climb`."""
    looping = tops[parents[tops] >= 0]
    if not looping.size:
        return []
    cycle = [looping.min(), parents[looping.min()]]
    while cycle[-1] != cycle[0]:
        cycle.append(parents[cycle[-1]])
    return cycle
