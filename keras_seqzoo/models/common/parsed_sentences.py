"""Parsed sentences as texts."""

from keras_seqzoo.checks import list_of_items, shorten
from keras_seqzoo.data.conllu import ConlluSentence
from keras_seqzoo.data.trees import dependency_tree


def parsed_texts(sentences, name="texts"):
    """Return sentences in CoNLL-U as strings, and check their trees.

    Args:
        sentences: list of `keras_seqzoo.data.ConlluSentence`, or of such sentences as strings. A
            blank string is a sentence without words.
        name: string, the name of the argument for error messages.

    Returns:
        A list of strings.

    Raises:
        ValueError: if an item is not a sentence in CoNLL-U, or its heads do not form a tree.
    """
    texts = []
    for number, item in enumerate(list_of_items(sentences, name)):
        try:
            if not isinstance(item, (str, ConlluSentence)):
                found = shorten(repr(item))
                raise ValueError(f"it must be a string or a ConlluSentence, got {found}.")
            if isinstance(item, str) and item.strip():
                item = ConlluSentence.from_text(item)
            if isinstance(item, ConlluSentence):
                dependency_tree(item.heads)
        except ValueError as error:
            raise ValueError(
                f"`{name}[{number}]` must be a sentence in CoNLL-U with heads: {error}"
            ) from error
        texts.append(str(item))
    return texts


def chain_parse(words):
    """Return a sentence in CoNLL-U, a string, in which each word depends on the previous one."""
    return "\n".join(
        "\t".join([f"{number + 1}", word, *"____", f"{number}", *"___"])
        for number, word in enumerate(words)
    )
