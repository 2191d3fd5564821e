"""Train and measure a small Transformer of JoeyNMT on the same files as our models.

    python benchmarks/peer_transformer.py FOLDER --train en-fr/train --valid en-fr/valid \\
        --test en-fr/test --languages en fr --size small --peers DIR

`en-fr/train` stands for `en-fr/train.en` and `en-fr/train.fr`. The two languages have a joint
SentencePiece vocabulary. "tiny" has the sizes and rates of Wu et al. (2021) for Multi30k. JoeyNMT
makes batches of the lines in their order, half of them padding: the lines are put into blocks of
similar length, in random order, and it reads them in this order. Of the five checkpoints with the
best validation BLEU (greedy) since training last began, the weights are the mean of those of the
last quarter of the updates. DIR was made by the peers' setup.sh. Where training was stopped
(Ctrl-C), the same command continues from the last checkpoint, at the beginning of its epoch; after
`--updates` or more, it goes on to the mean and its scores.
"""

import argparse
import os
import random
import subprocess
from copy import deepcopy
from pathlib import Path

import sentencepiece
import yaml
from measure import machine
from translation_scores import score_texts

from keras_seqzoo.data import read_lines

SYMBOLS = {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
TOKENS = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
BLOCK = 500  # lines
AVERAGED = 0.25  # of the updates
# Layers of each side, units, units of the feed-forward layers, heads, dropout.
SIZES = {"tiny": (4, 128, 256, 4, 0.3), "small": (3, 256, 512, 4, 0.1)}
AVERAGE = """
import sys, torch
states = [torch.load(path, map_location="cpu") for path in sys.argv[2:]]
models = [state["model_state"] for state in states]
mean = {name: sum(model[name] for model in models) / len(models) for name in models[0]}
states[0]["model_state"] = {name: mean[name].to(models[0][name].dtype) for name in mean}
torch.save(states[0], sys.argv[1])
"""


def train_vocabulary(folder, prefix, languages, size):
    """Train a joint vocabulary; return the paths of the model and of its pieces."""
    model, pieces = folder / "pieces.model", folder / "pieces.txt"
    if not pieces.exists():
        sentencepiece.SentencePieceTrainer.train(
            input=[f"{prefix}.{language}" for language in languages],
            model_prefix=str(folder / "pieces"),
            vocab_size=size,
            model_type="bpe",
            character_coverage=1.0,
            minloglevel=2,
            **{f"{name}_id": place for name, place in SYMBOLS.items()},
        )
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
        names = map(processor.id_to_piece, range(len(SYMBOLS), len(processor)))
        pieces.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return model, pieces


def write_blocks(folder, prefix, languages, model, seed):
    """Write the training lines in blocks of similar length; return the beginning of their names."""
    beginning = folder / "train"
    if Path(f"{beginning}.{languages[-1]}").exists():
        return str(beginning)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    texts = [read_lines(f"{prefix}.{language}") for language in languages]
    lengths = [map(len, processor.encode(side)) for side in texts]
    order = sorted(zip(*lengths, *texts, strict=True), key=lambda row: max(row[:2]))
    blocks = [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]
    random.Random(seed).shuffle(blocks)
    for place, language in enumerate(languages, 2):
        lines = (f"{row[place]}\n" for block in blocks for row in block)
        Path(f"{beginning}.{language}").write_text("".join(lines), encoding="utf-8")
    return str(beginning)


def configuration(arguments, model, pieces, train):
    """Return JoeyNMT's configuration."""
    source, target = arguments.languages
    layers, units, inner, heads, dropout = SIZES[arguments.size]
    side = {
        "type": "transformer",
        "num_layers": layers,
        "num_heads": heads,
        "embeddings": {"embedding_dim": units, "scale": True, "dropout": dropout},
        "hidden_size": units,
        "ff_size": inner,
        "dropout": dropout,
        "layer_norm": "pre",
    }
    text = {
        "max_length": 128,
        "lowercase": False,
        "normalize": False,
        "level": "bpe",
        "voc_file": str(pieces),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(model), "pretokenizer": "none"},
    }
    return {
        "name": "peer",
        "joeynmt_version": "2.3.0",
        "use_cuda": arguments.cuda,
        "random_seed": arguments.seed,
        "data": {
            "train": train,
            "dev": arguments.valid,
            "test": arguments.test,
            "dataset_type": "plain",
            "src": {"lang": source, **text},
            "trg": {"lang": target, **text},
            "special_symbols": {
                **{f"{name}_id": place for name, place in SYMBOLS.items()},
                **{f"{name}_token": token for name, token in TOKENS.items()},
            },
        },
        "testing": {
            "beam_size": 5,
            "beam_alpha": 1.0,
            "batch_size": 64,
            "batch_type": "sentence",
            "eval_metrics": ["bleu"],
            "max_output_length": 100,
        },
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": arguments.learning_rate,
            "learning_rate_warmup": arguments.warmup,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_min": 1e-9,
            "label_smoothing": 0.1,
            "loss": "crossentropy",
            "batch_size": arguments.tokens,
            "batch_type": "token",
            "normalization": "tokens",
            "epochs": 10_000,
            "updates": arguments.updates,
            "validation_freq": arguments.every,
            "logging_freq": arguments.every // 5,
            "early_stopping_metric": "bleu",
            "keep_best_ckpts": 5,
            "num_workers": 0,
            "shuffle": False,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": side,
            "decoder": side,
        },
    }


def run(python, mode, settings, path, *options):
    """Run a command of JoeyNMT with these settings, which are written to a file."""
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    subprocess.run([python, "-m", "joeynmt", mode, str(path), *options], check=True)


def training_parts(folder):
    """Return the folders of the parts of a training that was stopped and went on, in order."""
    return sorted(folder.glob("training-*"), key=lambda path: int(path.name.split("-")[1]))


def train(python, settings, folder):
    """Train up to the last update, from where training was stopped."""
    parts = training_parts(folder)
    saved = [path for path in (part / "latest.ckpt" for part in parts) if path.is_file()]
    if saved and int(saved[-1].resolve().stem) >= settings["training"]["updates"]:
        return
    part = folder / f"training-{len(parts)}"
    settings["model_dir"] = str(part)
    # A model that has hardly learned goes on to the limit, and each step costs those before it.
    settings["testing"]["max_output_length"] = 40
    if saved:
        settings["training"]["load_model"] = str(saved[-1])
    run(python, "train", settings, folder / f"config-{len(parts)}.yaml", "--skip-test")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", required=True, help="beginning of the files' names")
    parser.add_argument("--valid", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--languages", nargs=2, default=["en", "fr"])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--vocabulary-size", type=int, default=10_000)
    parser.add_argument("--tokens", type=int, default=4096, help="in a batch")
    parser.add_argument("--updates", type=int, default=8000)
    parser.add_argument("--every", type=int, default=250, help="updates from score to score")
    parser.add_argument("--learning-rate", type=float, default=0.005, help="the highest")
    parser.add_argument("--warmup", type=int, default=2000, help="updates")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuda", action="store_true", help="use an NVIDIA GPU")
    parser.add_argument("--peers", type=Path, default=os.environ.get("SEQZOO_PEERS"))
    arguments = parser.parse_args()
    if arguments.peers is None:
        parser.error("--peers or SEQZOO_PEERS must be the folder of the peers' environments")

    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    python = str(arguments.peers / "torch" / "bin" / "python")
    vocabulary = arguments.vocabulary_size
    model, pieces = train_vocabulary(folder, arguments.train, arguments.languages, vocabulary)
    blocks = write_blocks(folder, arguments.train, arguments.languages, model, arguments.seed)
    settings, mean = configuration(arguments, model, pieces, blocks), folder / "mean.ckpt"
    if not mean.exists():
        train(python, deepcopy(settings), folder)
        found = training_parts(folder)[-1].glob("[0-9]*.ckpt")
        first = (1 - AVERAGED) * arguments.updates
        paths = [str(path) for path in found if int(path.stem) >= first]
        if not paths:
            raise SystemExit(f"{folder} has no checkpoint of its last updates in its last part")
        subprocess.run([python, "-c", AVERAGE, str(mean), *paths], check=True)
    settings["model_dir"], settings["testing"]["load_model"] = str(mean.parent), str(mean)
    run(python, "test", settings, folder / "test.yaml", "--output-path", str(folder / "output"))

    print(machine())
    target = arguments.languages[1]
    for name, prefix in (("dev", arguments.valid), ("test", arguments.test)):
        texts, references = (
            read_lines(path) for path in (folder / f"output.{name}", f"{prefix}.{target}")
        )
        moses, lower, cased = score_texts(texts, references, target)
        scores = (moses.bleu, lower.bleu, cased.bleu, cased.chrf)
        print(name, *(f"{score:.2f}" for score in scores))


if __name__ == "__main__":
    main()
