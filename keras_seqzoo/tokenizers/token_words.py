"""The words that tokens spell."""

UNKNOWN_SURFACE = "\u2047"  # DOUBLE QUESTION MARK


class TokenWords:
    """Mixin of tokenizers that tells which tokens are part of one word, and joins tokens to text.

    It needs `_surfaces_of_ids`, the bytes that each token adds to a text, from `set_vocabulary`,
    and `space`: the end of a word at which its tokens have the space, `"prefix"` or `"suffix"`, or
    `None` if spaces are tokens of their own.
    """

    space = None

    def group_words(self, tokens):
        """Return the words that tokens spell, and which tokens are part of each.

        Spaces (U+0020) separate the words in the text of the tokens. With a `WordTokenizer` or
        `WordPieceTokenizer` these are its words; with `split_punctuation`, punctuation marks are
        words too.

        Args:
            tokens: list of strings, tokens of the vocabulary. A word that spells a special token
                counts as that token.

        Returns:
            A list of pairs: the word, in which U+2047 stands for `[UNK]`, and the list of the
            indices of its tokens. Other special tokens are in no word.

        Raises:
            ValueError: if a token is not in the vocabulary, a token is part of two words, or the
                kind of tokenizer does not tell what tokens spell.

        Example:
        >>> from keras_seqzoo.tokenizers import WordPieceTokenizer
        >>> tokenizer = WordPieceTokenizer(["a", "do", "##g"])
        >>> tokenizer.group_words(["a", "do", "##g", "[EOS]"])
        [('a', [0]), ('dog', [1, 2])]
        """
        tokens = list(tokens)
        unknown = [UNKNOWN_SURFACE] * tokens.count(self.unk_token)
        surfaces = self._surfaces_of(tokens, unknown)
        try:
            groups = group_by_words(surfaces, self.space)
        except ValueError as error:
            raise ValueError(
                f"`tokens` must be part of one word each, got {tokens[error.args[1]]!r}, with a "
                f"space inside: the tokens of this {type(self).__name__} cannot be told apart by "
                "words."
            ) from None
        texts = (b"".join(surfaces[index] for index in group) for group in groups)
        texts = (self.read_surface(text.strip(b" ")) for text in texts)
        return list(zip(texts, groups, strict=True))

    def join_tokens(self, tokens, unknown=None):
        """Join tokens to text, as `detokenize` joins their ids.

        Args:
            tokens: list of strings, tokens of the vocabulary.
            unknown: list of strings, the text of each `[UNK]` among them, or `None` for the text
                that `detokenize` gives it.

        Returns:
            A string.

        Raises:
            ValueError: if a token is not in the vocabulary, `unknown` has more or fewer texts than
                there are `[UNK]`, or the kind of tokenizer does not tell what tokens spell.

        Example:
        >>> from keras_seqzoo.tokenizers import WordTokenizer
        >>> tokenizer = WordTokenizer(["smiles"])
        >>> tokenizer.join_tokens(["[UNK]", "smiles", "[EOS]"], unknown=["Mia"])
        'Mia smiles'
        """
        surfaces = self._surfaces_of(list(tokens), unknown)
        joined = b"".join(surfaces)
        if self.space is not None:  # the space that was added to the text
            remove = bytes.removeprefix if self.space == "prefix" else bytes.removesuffix
            joined = remove(joined, b" ")
        return self.read_surface(joined)

    def split_text(self, text):
        """Split a text into the words of `group_words`, as written before normalization.

        If normalization changes the number of words, these are the words of the normalized text.

        Args:
            text: string.

        Returns:
            A list of strings.

        Example:
        >>> from keras_seqzoo.tokenizers import WordTokenizer
        >>> tokenizer = WordTokenizer(["smiles"], normalization="lowercase", split_punctuation=True)
        >>> tokenizer.split_text("Mia smiles.")
        ['Mia', 'smiles', '.']
        """
        normal = self.written_words(self.normalize([text])[0].numpy().decode())
        written = self.written_words(text)
        return written if len(written) == len(normal) else normal

    def written_words(self, text):
        """Split a text into the words that its tokens will spell, without normalization."""
        return [word for word in text.split(" ") if word]

    def read_surface(self, surface):
        """Convert the bytes that tokens add to a text to a string."""
        return surface.decode("utf-8", errors="replace")

    def write_surface(self, text):
        """Convert a string to bytes that `read_surface` reads."""
        return text.encode()

    def _surfaces_of(self, tokens, unknown=None):
        """List what tokens add to a text; `unknown` are the texts of `[UNK]`, or else its own."""
        self._check_vocabulary()
        if self._surfaces_of_ids is None:
            raise ValueError(
                f"The {type(self).__name__} must tell what its tokens spell, by the `surfaces` of "
                "`set_vocabulary`, to find words in them, got None."
            )
        surfaces = []
        for token in tokens:
            if token not in self._ids:
                raise ValueError(
                    f"`tokens` must be in the vocabulary of the {type(self).__name__}, got "
                    f"{token!r}."
                )
            surfaces.append(self._surfaces_of_ids[self._ids[token]])
        if unknown is not None:
            places = [place for place, token in enumerate(tokens) if token == self.unk_token]
            if len(places) != len(unknown):
                raise ValueError(
                    f"`unknown` must have a text for each of the {len(places)} unknown tokens, "
                    f"got {len(unknown)}."
                )
            for place, text in zip(places, unknown, strict=True):
                space = b" " if surfaces[place].startswith(b" ") else b""
                surfaces[place] = space + self.write_surface(text)
        return surfaces


def group_by_words(surfaces, space):
    """Group tokens by words, which are separated by spaces (U+0020).

    Args:
        surfaces: list of bytes, what each token adds to the text.
        space: `"prefix"` or `"suffix"`, the end of a word at which its tokens have the space, or
            `None` if spaces are between words. A token that is only a space is part of the next
            word, of the last word or of none, respectively.

    Returns:
        A list of lists of indices, one for each word. Tokens without text are in none.

    Raises:
        ValueError: if a token is part of two words. The second argument is its index.

    Example:
    >>> group_by_words([b" a", b" do", b"g", b""], "prefix")
    [[0], [1, 2]]
    """
    groups, open_word = [], False
    for index, surface in enumerate(surfaces):
        text = surface.strip(b" ")
        if b" " in text:
            raise ValueError("a token must be part of one word", index)
        if not surface:
            continue
        if text:
            begins = not open_word or surface.startswith(b" ")
            open_word = not surface.endswith(b" ")
        else:
            begins, open_word = not (space == "suffix" and open_word), space == "prefix"
            if begins and space != "prefix":
                continue
        if begins:
            groups.append([])
        groups[-1].append(index)
    return [group for group in groups if any(surfaces[index].strip(b" ") for index in group)]
