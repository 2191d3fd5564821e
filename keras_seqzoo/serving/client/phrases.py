"""Required phrases in the form that a server takes."""


def join_phrases(phrases, count):
    """Join the phrases of each text, separated by tabs.

    Args:
        phrases: list of lists of strings, one for each text, or `None`.
        count: int, the number of texts.

    Returns:
        A list of strings, or `None` if there is no phrase.

    Raises:
        ValueError: if the phrases are not of this form, or a phrase has a tab.
    """
    if phrases is None:
        return None
    phrases = list(phrases)
    if len(phrases) != count:
        raise ValueError(
            f"`required_phrases` must be one list for each of the {count} `texts`, got "
            f"{len(phrases)}."
        )
    for own in phrases:
        strings = isinstance(own, (list, tuple)) and all(isinstance(one, str) for one in own)
        if not strings or any("\t" in one for one in own):
            raise ValueError(
                f"`required_phrases` must be lists of strings without tabs, got {own!r}."
            )
    return ["\t".join(own) for own in phrases] if any(phrases) else None
