"""Table of the presets' size and quality in int8, and quality in bfloat16 and float32.

    python benchmarks/quantized_presets.py

Sizes are folder sizes: as shipped, with compressed float16 weights on disk; in int8 as
`save_to_preset` writes it, with everything unquantized in float32; and as `save_preset` writes it,
with compressed float16. The quality in int8 is that of the model that `save_to_preset` wrote,
loaded again. The data are the first parts of the validation sets (for reviews the last of each
class, for WNUT-17 the first part of the test set).
"""

import json
import os
import tempfile
import warnings
from pathlib import Path

from keras_seqzoo.data import load_multi30k, read_lines, read_paragraphs, read_tagged_sentences
from keras_seqzoo.metrics import entity_scores, score_translations
from keras_seqzoo.preset_folders import preset_folders
from keras_seqzoo.zoo import save_preset
from keras_seqzoo.zoo.task_class import task_class

DATA = Path(os.environ["SEQZOO_DATA"])
COLUMNS = (
    "preset",
    "measure",
    "float32",
    "bfloat16",
    "int8",
    "MB, shipped",
    "MB, int8",
    "MB, int8, `save_preset`",
)


def bleu(model, name):
    """Return the lower-cased BLEU of the default search."""
    sources, references = load_multi30k("val", target=name[-2:])
    texts = [best.text for best, *_ in model.translate(sources[:500])]
    return score_translations(texts, references[:500], lowercase=True).bleu


def reviews(number):
    """Return labels and texts of each class's last reviews; only the word vectors saw them."""
    lines = read_lines(DATA / "imdb" / "train.jsonl.gz")
    rows = [json.loads(line) for line in lines[12500 - number : 12500] + lines[25000 - number :]]
    texts = [" ".join(row["text"].replace("<br />", " ").split()) for row in rows]
    return [("negative", "positive")[row["label"]] for row in rows], texts


def speeches():
    """Return the first validation speeches of Tiny Shakespeare."""
    found = read_paragraphs(DATA / "shakespeare" / "input.txt.gz")
    begin = int(0.9 * len(found))
    return found[begin : begin + 100]


def tagged(path, number):
    """Return words and tags of the first sentences of a file."""
    words, tags = read_tagged_sentences(DATA / path)
    return words[:number], tags[:number]


def f1(model):
    """Return the F1 of entities, in percent."""
    words, tags = tagged("ner/wnut17/wnut17.test.conll.gz", 1000)
    return 100 * entity_scores(tags, model.tag(words)).overall.f1


def accuracy(model):
    """Return the sentiment accuracy, in percent."""
    labels, texts = reviews(500)
    return 100 * model.accuracy(texts, labels)


QUALITIES = {
    "gru_attention_multi30k_en_de": ("BLEU, 500 sentences", lambda m: bleu(m, "en_de")),
    "gru_attention_multi30k_en_fr": ("BLEU, 500 sentences", lambda m: bleu(m, "en_fr")),
    "lstm_bpe_imdb": (
        "perplexity, 100 reviews",
        lambda m: m.perplexity(reviews(50)[1]).perplexity,
    ),
    "lstm_char_shakespeare": (
        "perplexity, 100 speeches",
        lambda m: m.perplexity(speeches()).perplexity,
    ),
    "bilstm_imdb_sentiment": ("accuracy, 1,000 reviews", accuracy),
    "bilstm_crf_ewt_upos": (
        "accuracy, 500 sentences",
        lambda m: 100 * m.accuracy(*tagged("ud_ewt/en_ewt-ud-dev.conllu.gz", 500)),
    ),
    "bilstm_crf_wnut17_ner": ("F1, 1,000 sentences of the test set", f1),
}


def megabytes(folder):
    """Return the size of a preset's files in MB, without its card."""
    files = [path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".md"]
    return f"{sum(path.stat().st_size for path in files) / 1e6:.1f}"


def measure(name, folder):
    """Return the table row of a preset."""
    task = task_class(folder)
    if task is None:
        return (name, "no layer to quantize", "-", "-", "-", megabytes(folder), "-", "-")
    measured, quality = QUALITIES[name]
    model = task.from_preset(str(folder))
    plain = quality(model)
    half = quality(task.from_preset(str(folder), dtype="bfloat16"))
    with warnings.catch_warnings():  # Keras warns of each layer that is not quantized
        warnings.simplefilter("ignore")
        model.quantize("int8")
    with tempfile.TemporaryDirectory() as own:
        model.save_to_preset(f"{own}/whole")
        save_preset(model, f"{own}/small")
        sizes = [megabytes(path) for path in (folder, f"{own}/whole", f"{own}/small")]
        quantized = quality(task.from_preset(f"{own}/whole"))
    return (name, measured, f"{plain:.2f}", f"{half:.2f}", f"{quantized:.2f}", *sizes)


def main():
    print("|", " | ".join(COLUMNS), "|")
    print("|", " | ".join(["---"] * len(COLUMNS)), "|")
    for name, folder in sorted(preset_folders().items()):
        print("|", " | ".join(measure(name, folder)), "|", flush=True)


if __name__ == "__main__":
    main()
