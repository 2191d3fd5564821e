"""The figures of the manual, drawn when it is built, from the tables of `benchmarks/RESULTS.md`.

A page asks for one by a comment, `<!-- figure ladder: what it shows -->`.
"""

import io
import re
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

RESULTS = Path(__file__).parent.parent / "benchmarks" / "RESULTS.md"
OURS, OTHER, TEXT = "#5c6bc0", "#b39ddb", "#808694"  # to be seen on light and on dark pages
STYLE = {
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "legend.frameon": False,
    "legend.labelcolor": TEXT,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "seqzoo",  # the same file each time
    "text.color": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
}


def read_table(heading, number=0):
    """Return a table of the results.

    Args:
        heading: string, how the heading above the table begins.
        number: int, which table below that heading, from 0.

    Returns:
        A list of dicts from the titles of columns to cells.
    """
    sections = re.split(r"^#+ ", RESULTS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    [section] = [section for section in sections if section.startswith(heading)]
    block = re.findall(r"(?:^\|.*\n)+", section, flags=re.MULTILINE)[number]
    titles, _, *rows = (
        [cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()
    )
    return [dict(zip(titles, row, strict=True)) for row in rows]


def ladder(figure):
    """Draw the test perplexity of each language model, and the published one."""
    rows = read_table("The ladder of language models")
    rows = [row for row in rows if "sentence by sentence" not in row["model"]]
    axes = figure.add_subplot()
    places = range(len(rows))
    bars = axes.barh(places, [float(row["test"]) for row in rows], color=OURS)
    axes.bar_label(bars, fmt="%.0f", color="white", label_type="center")
    published = {
        place: float(row["published"]) for place, row in enumerate(rows) if row["published"] != "-"
    }
    axes.plot(published.values(), published.keys(), "|", color=OTHER, ms=14, mew=3)
    axes.set_yticks(places, [row["model"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("perplexity of the test text; a mark is the published figure")


def layers(figure):
    """Draw the times of Keras and PyTorch divided by ours, forward and backward, under XLA."""
    rows = [row for row in read_table("float32") if row["pass"] == "forward+backward"]
    for place, cell in enumerate(("elman", "gru", "lstm")):
        axes = figure.add_subplot(1, 3, place + 1)
        own = [row for row in rows if row["cell"] == cell]
        peers = {"Keras": "Keras XLA / ours XLA", "PyTorch": "PyTorch / ours XLA"}
        for index, (name, column) in enumerate(peers.items()):
            places = [row + 0.4 * index for row in range(len(own))]
            values = [float(row[column]) for row in own]
            axes.barh(places, values, 0.38, color=(OTHER, OURS)[index], label=name)
        axes.axvline(1, color=TEXT, lw=1)
        axes.set_title(cell)
        axes.set_yticks([row + 0.2 for row in range(len(own))], [row["B, T, D, H"] for row in own])
        axes.tick_params(axis="y", labelleft=place == 0)
        axes.invert_yaxis()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    figure.supxlabel("time / our time, batches, steps, inputs and units by row", color=TEXT, size=9)


def beam_width(figure):
    """Draw lower-cased BLEU by the width of the beam and by the power of the length."""
    rows = read_table("Search (")
    for place, language in enumerate(("fr", "de")):
        own = {
            row["search"]: float(row["lower-cased BLEU"])
            for row in rows
            if row["preset"].endswith(language)
        }
        widths, alphas = {1: own["greedy"]}, {}
        for search, value in own.items():
            if found := re.fullmatch(r"beam (\d+), alpha ([\d.]+)", search):
                width, alpha = int(found[1]), float(found[2])
                if alpha == 1:
                    widths[width] = value
                if width == 5:
                    alphas[alpha] = value
        for index, (title, values) in enumerate((("width", widths), ("alpha", alphas))):
            axes = figure.add_subplot(2, 2, 2 * index + place + 1)
            axes.plot(*zip(*sorted(values.items()), strict=True), "o-", color=OURS)
            axes.set(xlabel=title, ylabel="BLEU")
            if index == 0:
                axes.set_title({"fr": "English to French", "de": "English to German"}[language])


def attention(figure):
    """Draw the BLEU of each attention decoder, of each seed and their mean."""
    rows = read_table("Attention decoders with equal budgets")
    rows.sort(key=lambda row: float(row["BLEU"]))
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        seeds = [float(value) for value in row["BLEU by seed"].split(",")]
        axes.plot(seeds, [place] * len(seeds), "o", color=OTHER)
        axes.plot(float(row["BLEU"]), place, "D", color=OURS)
    axes.set_yticks(range(len(rows)), [row["variant"] for row in rows])
    axes.grid(axis="y", color=TEXT, alpha=0.2)
    axes.set_xlabel("BLEU; dots are seeds, diamonds their means")


def minimum_risk(figure):
    """Draw BLEU and chrF of a preset that is trained further, by the number of updates."""
    rows = [row for row in read_table("A preset trained further") if row["search"] == "greedy"]
    updates, _, *objectives = rows[0]
    colors = dict(zip(objectives, (OURS, OTHER, TEXT), strict=True))
    for place, measure in enumerate(("BLEU", "chrF")):
        axes = figure.add_subplot(1, 2, place + 1)
        for objective, color in colors.items():
            scores = [float(row[objective].split("/")[place]) for row in rows]
            axes.plot([int(row[updates]) for row in rows], scores, "o-", color=color, ms=4)
        axes.set(xlabel="updates", ylabel=measure)
    figure.legend(axes.lines, objectives, loc="outside upper center", ncols=3)


def training_speed(figure):
    """Draw target tokens a second in training, ours and the peers'."""
    rows = read_table("Training speed")
    axes = figure.add_subplot()
    values = [float(row["target tokens/s"]) for row in rows]
    colors = [OTHER if row["model"] in ("OpenNMT-tf", "JoeyNMT") else OURS for row in rows]
    bars = axes.barh(range(len(rows)), values, color=colors)
    axes.bar_label(bars, fmt=" %.0f", color=TEXT)
    axes.set_yticks(range(len(rows)), [row["model"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("target tokens a second")


# P(column | row) of the words of `beam`; the last one ends.
WORDS = ["a", "the", "dog", "cat", "."]
NEXT = {
    None: [0.55, 0.45, 0, 0, 0],
    "a": [0, 0, 0.4, 0.35, 0.25],
    "the": [0, 0, 0.9, 0.05, 0.05],
    "dog": [0.05, 0.05, 0, 0.1, 0.8],
    "cat": [0.1, 0.1, 0.1, 0, 0.7],
}


def search(width, steps=3):
    """Return, for each step of a beam search over `NEXT`, the hypotheses and whether each is kept.

    A hypothesis is a pair of its words and its probability.
    """
    alive, history = [((), 1.0)], []
    for _ in range(steps):
        longer = [
            ((*words, word), probability * chance)
            for words, probability in alive
            if words[-1:] != (".",)
            for word, chance in zip(WORDS, NEXT[words[-1] if words else None], strict=True)
            if chance
        ]
        ended = [hypothesis for hypothesis in alive if hypothesis[0][-1:] == (".",)]
        ranked = sorted([*longer, *ended], key=lambda hypothesis: -hypothesis[1])
        history.append([(*hypothesis, hypothesis in ranked[:width]) for hypothesis in ranked])
        alive = ranked[:width]
    return history


def beam(figure):
    """Draw the hypotheses of a beam of 2, kept ones dark, with their probabilities."""
    axes = figure.add_subplot()
    places = {(): (0, 0.0)}
    for step, hypotheses in enumerate(search(2), 1):
        hypotheses = sorted(hypotheses, key=lambda found: (-places[found[0][:-1]][1], -found[1]))
        for index, (words, probability, kept) in enumerate(hypotheses):
            height = (len(hypotheses) - 1) / 2 - index
            color = OURS if kept else TEXT
            before = places[words[:-1]] if len(words) == step else places[words]
            axes.plot(
                *zip(before, (step, height), strict=True), color=color, alpha=1 - 0.6 * (not kept)
            )
            axes.text(
                step,
                height,
                f" {words[-1]}  {probability:.2f} ",
                va="center",
                color="white" if kept else TEXT,
                bbox={"boxstyle": "round", "fc": color if kept else "none", "ec": color},
            )
            places[words] = (step + 0.3, height)
    axes.set(xlim=(0, 3.5), xticks=[])
    axes.axis("off")


FIGURES = {
    "attention": (attention, (6, 3.6)),
    "beam": (beam, (7, 3)),
    "beam_width": (beam_width, (7, 4.5)),
    "ladder": (ladder, (7, 3.2)),
    "layers": (layers, (8, 3)),
    "minimum_risk": (minimum_risk, (7, 2.6)),
    "training_speed": (training_speed, (6.5, 2.4)),
}


def draw(name):
    """Return the figure of a name as an SVG file, a string."""
    function, size = FIGURES[name]
    with matplotlib.rc_context(STYLE):
        figure = Figure(size, layout="constrained")
        function(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()
