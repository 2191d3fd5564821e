"""Parallel files in several target languages."""

from keras_seqzoo.data.training_files import TrainingFiles


class MultilingualFiles(TrainingFiles):
    """Sentence pairs of several corpora, one corpus after the other, with their target language.

    The items are tuples: a source, its translation, the target language and the number of the
    corpus, from 0. Several corpora may have the same target language.

    Args:
        corpora: list of `ParallelFiles`.
        languages: list of strings, the target language of each corpus.

    Raises:
        ValueError: if there is no corpus, or not one language for each; see also `ParallelFiles`.

    Example:
        >>> import pathlib, tempfile
        >>> from keras_seqzoo.data import ParallelFiles
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for name, text in (("en", "dog"), ("fr", "chien"), ("de", "Hund")):
        ...     _ = (folder / name).write_text(text + chr(10), encoding="utf-8")
        >>> corpora = [ParallelFiles(folder / "en", folder / name) for name in ("fr", "de")]
        >>> list(MultilingualFiles(corpora, ["fr", "de"]))
        [('dog', 'chien', 'fr', 0), ('dog', 'Hund', 'de', 1)]
    """

    def __init__(self, corpora, languages):
        self.corpora, self.languages = list(corpora), list(languages)
        if not self.corpora or len(self.corpora) != len(self.languages):
            raise ValueError(
                "`languages` must have one language for each of the corpora, at least one, got "
                f"{len(self.languages)} for {len(self.corpora)}."
            )
        self.paths = [path for corpus in self.corpora for path in corpus.paths]

    def __iter__(self):
        """Yield the items of all corpora."""
        for number, (corpus, language) in enumerate(zip(self.corpora, self.languages, strict=True)):
            for source, target in corpus:
                yield source, target, language, number

    @property
    def source(self):
        """The source sentences, an iterable that can be read several times."""
        return self.column(0)

    @property
    def target(self):
        """The target sentences, an iterable that can be read several times."""
        return self.column(1)

    @property
    def language(self):
        """The target language of each pair, an iterable that can be read several times."""
        return self.column(2)
