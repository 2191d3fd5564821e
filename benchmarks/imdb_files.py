"""Write the files that models of the IMDb reviews were trained and measured on.

    python benchmarks/imdb_files.py FOLDER

`train.jsonl`, `valid.jsonl` and `test.jsonl` are for `seqzoo train classify`; `lm.train.txt`,
`lm.valid.txt` and `lm.test.txt`, one review per line, are for `seqzoo train lm`. `<br />` and line
breaks become spaces. The validation set is the last 1,250 training reviews of each class: reviews
of the same film are next to each other, so few films are on both sides. The language model reads
the other training reviews and the unlabelled ones; it is validated on a fifth of the validation set
and tested on every twenty-fifth test review.
"""

import argparse
import itertools
import json
import os
import random
from pathlib import Path

from keras_seqzoo.data import read_lines

HELD_OUT = 1250
NAMES = ("negative", "positive")


def reviews(part):
    """Return pairs of a label, or `None`, and a text."""
    lines = read_lines(Path(os.environ["SEQZOO_DATA"], "imdb", f"{part}.jsonl.gz"))
    rows = [json.loads(line) for line in lines]
    return [
        (row.get("label"), " ".join(row["text"].replace("<br />", " ").split())) for row in rows
    ]


def write(path, lines):
    """Write lines as UTF-8."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def labelled(rows):
    """Yield the lines of a .jsonl file."""
    for label, text in rows:
        yield json.dumps({"label": NAMES[label], "text": text}, ensure_ascii=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    classes = [list(rows) for _, rows in itertools.groupby(reviews("train"), lambda row: row[0])]
    train = [row for rows in classes for row in rows[:-HELD_OUT]]
    valid = [row for rows in classes for row in rows[-HELD_OUT:]]
    test = reviews("test")
    random.Random(0).shuffle(train)
    text = [text for _, text in train + reviews("unsup")]
    random.Random(1).shuffle(text)
    for name, rows in {"train": train, "valid": valid, "test": test}.items():
        write(folder / f"{name}.jsonl", labelled(rows))
    write(folder / "lm.train.txt", text)
    write(folder / "lm.valid.txt", [text for _, text in valid[::5]])
    write(folder / "lm.test.txt", [text for _, text in test[::25]])


if __name__ == "__main__":
    main()
