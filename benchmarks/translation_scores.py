"""BLEU and chrF of translation presets from English, by beam width and length penalty.

    python benchmarks/translation_scores.py gru_attention_multi30k_en_fr --split test_2016_flickr
    python benchmarks/translation_scores.py multilingual --target es --files tatoeba/en-es/test

The validation split of Multi30k (`val`) is for choices, the test split for the final figure.
`--files tatoeba/en-es/test` reads `test.en` and `test.es` of that folder instead. "Moses" is BLEU
as in papers on Multi30k: lower case, normalized punctuation, Moses tokens (needs sacremoses).
"""

import argparse
import statistics
import time
from pathlib import Path

import sacremoses

from keras_seqzoo.data import load_multi30k, read_lines
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models import Ensemble, RecurrentSeq2SeqLM
from keras_seqzoo.models.seq2seq.text_translation import MAX_SOURCE_RATIO

COLUMNS = (
    *("preset", "split", "search", "Moses", "lower-cased BLEU", "cased BLEU", "chrF"),
    "sentences/s",
)


def make_strategy(beam, alpha, ratio, stop):
    """Return a search and its name."""
    if beam == 1:
        return Greedy(max_source_ratio=ratio), "greedy"
    name = f"beam {beam}, alpha {alpha:g}" + ("" if stop == "exact" else f", stop {stop!r}")
    return BeamSearch(beam, alpha, max_source_ratio=ratio, stop=stop), name


def moses_tokens(texts, language):
    """Return the lower-cased tokens of texts, separated by spaces."""
    normalize = sacremoses.MosesPunctNormalizer(language).normalize
    tokenize = sacremoses.MosesTokenizer(language).tokenize
    return [tokenize(normalize(text.lower()), return_str=True, escape=False) for text in texts]


def score_texts(texts, references, language):
    """Return BLEU of Moses tokens, and lower-cased and cased scores."""
    tokens = [moses_tokens(side, language) for side in (texts, references)]
    lower, cased = (score_translations(texts, references, lowercase=x) for x in (True, False))
    return score_translations(*tokens, bleu_tokenizer="none"), lower, cased


def measure(model, strategy, sources, references, language):
    """Return BLEU of Moses tokens, lower-cased and cased scores, and sentences per second."""
    options = {"language": language if model.preprocessor.languages else None}
    model.translate(sources[:64], strategy, **options)  # traces the search
    started = time.perf_counter()
    texts = [best.text for best, *_ in model.translate(sources, strategy, **options)]
    speed = len(texts) / (time.perf_counter() - started)
    return *score_texts(texts, references, language), speed


def draw(figure, measured, beam, alpha):
    """Draw lower-cased BLEU by width at the given `alpha`, and by alpha at the given `beam`."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(8, 3.2), layout="constrained")
    panels = drawing.subplots(1, 2, sharey=True)
    for preset, scores in measured.items():
        widths = sorted((b, y) for (b, a), y in scores.items() if a == alpha)
        alphas = sorted((a, y) for (b, a), y in scores.items() if b == beam)
        for panel, points in zip(panels, (widths, alphas), strict=True):
            panel.plot(*zip(*points, strict=True), marker="o", label=preset)
    panels[0].set_xlabel(f"width (alpha {alpha:g})")
    panels[1].set_xlabel(f"alpha (width {beam})")
    for panel in panels:
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("BLEU")
    panels[0].legend()
    drawing.savefig(figure, dpi=120)


def load(files, split, target):
    """Return the English sources and the references of files, or of a split of Multi30k."""
    if files is None:
        return load_multi30k(split, target=target)
    return [read_lines(f"{files}.{language}") for language in ("en", target)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="+", help="names or folders")
    parser.add_argument("--ensemble", action="store_true", help="also measure them as an ensemble")
    parser.add_argument("--target", help="language; by default the end of the preset's name")
    parser.add_argument("--split", default="val", choices=["val", "test_2016_flickr"])
    parser.add_argument("--files", help="beginning of the files' names, instead of Multi30k")
    parser.add_argument(
        "--beam", type=int, nargs="+", default=[5], help="widths; the first for all alphas"
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        nargs="+",
        default=[1.0],
        help="alphas; the first for all widths",
    )
    parser.add_argument("--max-source-ratio", type=float, default=MAX_SOURCE_RATIO)
    parser.add_argument("--stop", default="exact", choices=["exact", "top"])
    parser.add_argument("--figure", type=Path, help="draw BLEU by width and by alpha here")
    arguments = parser.parse_args()

    print("|", " | ".join(COLUMNS), "|")
    print("|", " | ".join(["---"] * len(COLUMNS)), "|")
    models = {
        Path(preset).name: (RecurrentSeq2SeqLM.from_preset(preset), arguments.target or preset[-2:])
        for preset in arguments.presets
    }
    if arguments.ensemble:
        _, target = next(iter(models.values()))
        models["ensemble"] = Ensemble([model for model, _ in models.values()]), target
    beam, alpha = arguments.beam[0], arguments.length_penalty[0]
    settings = dict.fromkeys(
        [(width, alpha) for width in arguments.beam]
        + [(beam, penalty) for penalty in arguments.length_penalty]
    )
    measured = {}
    for name, (model, target) in models.items():
        sources, references = load(arguments.files, arguments.split, target)
        for setting in settings:
            strategy, search = make_strategy(*setting, arguments.max_source_ratio, arguments.stop)
            moses, lower, cased, speed = measure(model, strategy, sources, references, target)
            measured.setdefault(name, {})[setting] = lower.bleu
            scores = (moses.bleu, lower.bleu, cased.bleu, cased.chrf)
            cells = (*(f"{score:.2f}" for score in scores), f"{speed:.0f}")
            row = (name, arguments.files or f"{arguments.split} {target}", search, *cells)
            print("|", " | ".join(row), "|", flush=True)
    if arguments.ensemble:
        *single, together = (next(iter(scores.values())) for scores in measured.values())
        mean = statistics.mean(single)
        print(f"\nMean {mean:.2f}, ensemble {together - mean:+.2f} (lower-cased BLEU).")
    if arguments.figure:
        draw(arguments.figure, measured, beam, alpha)
    signatures = (moses.bleu_signature, lower.bleu_signature, cased.bleu_signature)
    print("", *signatures, cased.chrf_signature, sep="\n")


if __name__ == "__main__":
    main()
