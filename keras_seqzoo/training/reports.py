"""Reports on models for TensorBoard: samples, scores on held-out data, images, embeddings."""

import itertools

import numpy as np

from keras_seqzoo.callbacks import Projection
from keras_seqzoo.callbacks.summaries import MOST_POINTS, escape_markdown
from keras_seqzoo.checks import check_integer, check_labelled
from keras_seqzoo.decoding import BeamSearch, Sampling
from keras_seqzoo.metrics import entity_scores, score_translations, tag_accuracy
from keras_seqzoo.metrics.translation_scores import BLEU_TOKENIZER
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO
from keras_seqzoo.plots import alignment_image


class TranslationReport:
    """Report of a translation model: sample translations, alignments, BLEU and chrF.

    The samples are a table of sources, references, and hypotheses with their scores, best first.
    For a model with attention, there is also an image of the alignment of each best hypothesis.

    Args:
        sources: list of strings.
        references: list of strings, one for each source.
        samples: int, the number of samples, from the beginning of the texts.
        strategy: a `keras_seqzoo.decoding.DecodingStrategy`, or `None` for a beam of 4.
        scored: bool, whether to translate all sources, and compute BLEU and chrF.
        bleu_tokenizer: string, see `keras_seqzoo.metrics.score_translations`.
        language: the target language of a multilingual model, see `RecurrentSeq2SeqLM.translate`.

    Call arguments:
        model: a `RecurrentSeq2SeqLM` with a preprocessor, or another model with `translate`.

    Returns:
        A dict for `keras_seqzoo.callbacks.SequenceBoard`: `validation/bleu`, `validation/chrf`,
        `samples/translations`, and `alignments/1` and so on.

    Raises:
        ValueError: if the lists differ in length or are empty.

    Example:
    ```python
    report = keras_seqzoo.training.TranslationReport(valid_english, valid_french)
    board = keras_seqzoo.callbacks.SequenceBoard("logs", [report])
    model.fit(dataset, epochs=10, callbacks=[board])
    ```
    """

    def __init__(
        self,
        sources,
        references,
        samples=4,
        strategy=None,
        scored=True,
        bleu_tokenizer=BLEU_TOKENIZER,
        language=None,
    ):
        if len(sources) != len(references) or not sources:
            raise ValueError(
                "`sources` and `references` must have the same, positive length, got "
                f"{len(sources)} and {len(references)}."
            )
        self.samples = check_integer("samples", samples, minimum=1)
        kept = len(sources) if scored else self.samples
        self.sources, self.references = list(sources[:kept]), list(references[:kept])
        self.strategy = strategy or BeamSearch(4, n_best=4, max_source_ratio=MAX_SOURCE_RATIO)
        self.scored = scored
        self.bleu_tokenizer = bleu_tokenizer
        self.options = {}
        if language is not None:
            own = language if isinstance(language, str) else list(language[:kept])
            self.options["language"] = own

    def __call__(self, model):
        """Translate, and return the report."""
        found = model.translate(
            self.sources, self.strategy, alignments=model.has_alignment, **self.options
        )
        values = {}
        if self.scored:
            best = [translations[0].text for translations in found]
            scores = score_translations(best, self.references, bleu_tokenizer=self.bleu_tokenizer)
            values = {"validation/bleu": scores.bleu, "validation/chrf": scores.chrf}
        texts = list(zip(self.sources, self.references, found, strict=True))[: self.samples]
        values["samples/translations"] = _table(
            ("source", "reference", "hypotheses"),
            [
                (escape_markdown(source), escape_markdown(reference), _list_hypotheses(hypotheses))
                for source, reference, hypotheses in texts
            ],
        )
        for number, (*_, (best, *_)) in enumerate(texts, 1):
            if best.alignment is not None and best.alignment.size:
                values[f"alignments/{number}"] = alignment_image(best)
        return values


class LanguageModelReport:
    """Report of a language model: generated texts, and the perplexity of texts.

    Args:
        texts: list of strings whose perplexity is computed; it may be empty.
        prompts: list of beginnings of texts; an empty string begins a new text.
        strategy: a `keras_seqzoo.decoding.DecodingStrategy`, or `None` for 3 samples of the
            distribution, drawn with the same seed in each report.
        max_length: int, the largest number of tokens of a generated text.

    Call arguments:
        model: a `RecurrentLanguageModel` with a preprocessor, or another `LanguageModel`.

    Returns:
        A dict for `keras_seqzoo.callbacks.SequenceBoard`: `validation/perplexity` and
        `samples/generations`.

    Example:
    ```python
    report = keras_seqzoo.training.LanguageModelReport(valid_texts, prompts=["The film", ""])
    board = keras_seqzoo.callbacks.SequenceBoard("logs", [report])
    model.fit(texts, epochs=10, callbacks=[board])
    ```
    """

    def __init__(self, texts=(), prompts=("",), strategy=None, max_length=32):
        self.texts = list(texts)
        self.prompts = list(prompts)
        self.strategy = Sampling(samples=3, seed=0) if strategy is None else strategy
        self.max_length = check_integer("max_length", max_length, minimum=1)

    def __call__(self, model):
        """Generate, compute the perplexity, and return the report."""
        values = {}
        if self.texts:
            values["validation/perplexity"] = model.perplexity(self.texts).perplexity
        # By keyword: the order of the arguments differs between the families.
        found = model.generate(self.prompts, strategy=self.strategy, max_length=self.max_length)
        values["samples/generations"] = _table(
            ("prompt", "generated"),
            [
                (escape_markdown(prompt), _list_texts(texts))
                for prompt, texts in zip(self.prompts, found, strict=True)
            ],
        )
        return values


class TextClassifierReport:
    """Report of a text classifier: sample texts with their labels, and the accuracy.

    Args:
        texts: list of strings.
        labels: list of names, or of lists of names.
        samples: int, the number of samples, from the beginning of the texts.
        scored: bool, whether to classify all texts and compute the accuracy.

    Call arguments:
        model: a `RecurrentTextClassifier`, `ConvolutionalTextClassifier` or `TreeTextClassifier`
            with a preprocessor.

    Returns:
        A dict for `keras_seqzoo.callbacks.SequenceBoard`: `validation/accuracy` and
        `samples/classifications`.

    Raises:
        ValueError: if the lists differ in length or are empty.

    Example:
    ```python
    report = keras_seqzoo.training.TextClassifierReport(valid_texts, valid_labels)
    board = keras_seqzoo.callbacks.SequenceBoard("logs", [report])
    model.fit(texts, labels, epochs=3, callbacks=[board])
    ```
    """

    def __init__(self, texts, labels, samples=8, scored=True):
        check_labelled(texts, labels)
        self.texts, self.labels = list(texts), list(labels)
        self.samples = check_integer("samples", samples, minimum=1)
        self.scored = scored

    def __call__(self, model):
        """Classify, and return the report."""
        values = {}
        if self.scored:
            values["validation/accuracy"] = model.accuracy(self.texts, self.labels)
        texts, labels = self.texts[: self.samples], self.labels[: self.samples]
        rows = []
        for text, label, found in zip(texts, labels, model.classify(texts), strict=True):
            expected = [label] if isinstance(label, str) else label
            names = ", ".join(f"{name} ({found.probabilities[name]:.2f})" for name in found.labels)
            right = sorted(found.labels) == sorted(expected)
            rows.append((text, ", ".join(expected), names, "" if right else "wrong"))
        rows = [[escape_markdown(cell) for cell in row] for row in rows]
        values["samples/classifications"] = _table(("text", "expected", "found", ""), rows)
        return values


class TaggerReport:
    """Report of a tagger: sample sentences, the accuracy of tags and the F1 of entities.

    The F1 is computed if the tags mark entities, as `B-type`, `I-type` and `O`.

    Args:
        words: list of lists of strings.
        tags: list of lists of strings, of the same lengths.
        samples: int, the number of samples, from the beginning of the sentences.
        scored: bool, whether to tag all sentences and compute the scores.

    Call arguments:
        model: a `RecurrentTagger` with a preprocessor.

    Returns:
        A dict for `keras_seqzoo.callbacks.SequenceBoard`: `validation/accuracy`, `validation/f1`
        and `samples/tags`, where each wrong tag is followed by the expected one.

    Raises:
        ValueError: if the lists differ in length or are empty.

    Example:
    ```python
    report = keras_seqzoo.training.TaggerReport(valid_words, valid_tags)
    board = keras_seqzoo.callbacks.SequenceBoard("logs", [report])
    model.fit(words, tags, epochs=10, callbacks=[board])
    ```
    """

    def __init__(self, words, tags, samples=4, scored=True):
        if [*map(len, words)] != [*map(len, tags)] or not words:
            raise ValueError(
                "`words` and `tags` must have the same lengths, and at least one sentence, got "
                f"{len(words)} and {len(tags)} sentences."
            )
        self.samples = check_integer("samples", samples, minimum=1)
        kept = len(words) if scored else self.samples
        self.words, self.tags = list(words[:kept]), list(tags[:kept])
        self.scored = scored

    def __call__(self, model):
        """Tag, and return the report."""
        found = model.tag(self.words)
        values = {}
        if self.scored:
            values["validation/accuracy"] = tag_accuracy(self.tags, found)
            if _mark_entities(itertools.chain(model.preprocessor.labels, *self.tags)):
                values["validation/f1"] = entity_scores(self.tags, found).overall.f1
        rows = list(zip(self.words, self.tags, found, strict=True))[: self.samples]
        values["samples/tags"] = _table(
            ("sentence",), [[" ".join(map(_show_tag, *row))] for row in rows]
        )
        return values


class TokenVectorsReport:
    """Report of the token embeddings of a model, for TensorBoard's projector.

    Call arguments:
        model: a model of the zoo with a preprocessor and `backbone.token_embedding`.

    Returns:
        A dict for `keras_seqzoo.callbacks.SequenceBoard` with one
        `keras_seqzoo.callbacks.Projection`, of the first 10,000 tokens: `token_embedding`.

    Example:
    ```python
    board = keras_seqzoo.callbacks.SequenceBoard("logs", [TokenVectorsReport()])
    model.fit(texts, epochs=10, callbacks=[board])
    ```
    """

    def __call__(self, model):
        """Return the vectors and their tokens."""
        embedding, tokenizer = model.backbone.token_embedding, model.preprocessor.tokenizer
        points = min(MOST_POINTS, tokenizer.vocabulary_size())  # a backbone may have more rows
        vectors = np.asarray(embedding.embeddings[:points], np.float32)
        tokens = [tokenizer.id_to_token(id) for id in range(points)]
        return {"token_embedding": Projection(vectors, tokens)}


def _mark_entities(tags):
    return all(tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:]) for tag in tags)


def _show_tag(word, expected, found):
    """Return Markdown of a word and its tag; in bold, with the expected tag, if it is wrong."""
    shown = f"{escape_markdown(word)}/{escape_markdown(found)}"
    return shown if found == expected else f"**{shown} ({escape_markdown(expected)})**"


def _list_hypotheses(hypotheses):
    return _list_items(f"{escape_markdown(h.text)} ({h.score:.3f})" for h in hypotheses)


def _list_texts(texts):
    return _list_items(map(escape_markdown, texts))


def _list_items(items):
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


def _table(titles, rows):
    """Return a table for TensorBoard, an array of strings, with titles in bold."""
    return np.array([[f"**{title}**" if title else "" for title in titles], *rows], object)
