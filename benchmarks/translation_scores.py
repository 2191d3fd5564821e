"""BLEU and chrF of translation presets on Multi30k.

    python benchmarks/translation_scores.py gru_attention_multi30k_en_fr --split test_2016_flickr

The validation split (`val`) is for choices, the test split for the final figure.
"""

import argparse
import time

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.decoding import BeamSearch, Greedy
from keras_seqzoo.metrics import score_translations
from keras_seqzoo.models import RecurrentSeq2SeqLM


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", help="name or folder")
    parser.add_argument("--target", help="language; by default the end of the preset's name")
    parser.add_argument("--split", default="val", choices=["val", "test_2016_flickr"])
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--length-penalty", type=float, nargs="+", default=[1.0])
    arguments = parser.parse_args()

    target = arguments.target or arguments.preset.rstrip("/")[-2:]
    sources, references = load_multi30k(arguments.split, target=target)
    model = RecurrentSeq2SeqLM.from_preset(arguments.preset)
    print("| preset | split | search | lower-cased BLEU | cased BLEU | chrF | sentences/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for penalty in arguments.length_penalty:
        strategy = Greedy() if arguments.beam == 1 else BeamSearch(arguments.beam, penalty)
        name = "greedy" if arguments.beam == 1 else f"beam {arguments.beam}, alpha {penalty:g}"
        model.translate(sources[:64], strategy)  # traces the search
        started = time.perf_counter()
        texts = [best.text for best, *_ in model.translate(sources, strategy)]
        speed = len(texts) / (time.perf_counter() - started)
        lower = score_translations(texts, references, lowercase=True)
        cased = score_translations(texts, references)
        print(
            f"| {arguments.preset} | {arguments.split} | {name} | {lower.bleu:.2f} "
            f"| {cased.bleu:.2f} | {cased.chrf:.2f} | {speed:.0f} |",
            flush=True,
        )
    print(f"\n{lower.bleu_signature}\n{cased.bleu_signature}\n{cased.chrf_signature}")


if __name__ == "__main__":
    main()
