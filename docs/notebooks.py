"""The pages of the notebooks: their text and code, and what they print and draw if they are run.

`SEQZOO_NOTEBOOKS=run mkdocs build --strict` runs each in a process of its own, which takes minutes.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import figures
import jupytext
import matplotlib

ROOT = Path(__file__).parent.parent
LINES = 40  # of the output of a cell that a page shows


def make_page(path, run=False):
    """Return the page of a notebook and its figures.

    Args:
        path: path of the notebook, a `pathlib.Path`.
        run: bool, whether to run it and show what its cells print and draw.

    Returns:
        A tuple of the Markdown and a dict from the names of figures to SVG files, as strings.
    """
    parts, drawn = [], {}
    outputs = iter(run_apart(path)) if run else None
    for cell in read_cells(path):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        text, pictures = next(outputs) if run else ("", [])
        if text.strip():
            parts.append(f"````text\n{shorten(text)}\n````")
        for picture in pictures:
            name = f"{path.stem}_{len(drawn) + 1}.svg"
            drawn[name] = picture
            parts.append(f"![What the code above draws]({name})")
    parts.insert(1, f"This page is the notebook `examples/notebooks/{path.name}`.")
    return "\n\n".join(parts) + "\n", drawn


def read_cells(path):
    """Return the cells of text and of code that are not empty."""
    cells = jupytext.read(path).cells
    return [cell for cell in cells if cell.source and cell.cell_type in ("markdown", "code")]


def shorten(text):
    """Return the lines of an output, or the first and the last ones of a long output."""
    lines = text.rstrip().splitlines()
    if len(lines) > LINES:
        lines = [*lines[: LINES // 2], "…", *lines[-LINES // 2 :]]
    return "\n".join(lines)


def run_apart(path):
    """Return the outputs of a notebook that runs in a process of its own; see `run_cells`."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    if "SEQZOO_DATA" in environment:
        environment["SEQZOO_DATA"] = str(Path(environment["SEQZOO_DATA"]).resolve())
    command = [sys.executable, str(Path(__file__).resolve()), str(path.resolve())]
    with tempfile.TemporaryDirectory() as folder:  # notebooks write files
        done = subprocess.run(
            command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def run_cells(path):
    """Run the code cells of a notebook; return a list with the text and the figures of each."""
    from matplotlib import pyplot

    names, outputs = {"__name__": "__main__"}, []
    for cell in read_cells(path):
        if cell.cell_type == "markdown":
            continue
        printed, drawn = io.StringIO(), []
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.source, f"<cell {len(outputs) + 1}>", "exec"), names)
        for number in pyplot.get_fignums():
            file = io.StringIO()
            pyplot.figure(number).savefig(file, format="svg", transparent=True)
            pyplot.close(number)
            drawn.append(file.getvalue())
        outputs.append((printed.getvalue(), drawn))
    return outputs


if __name__ == "__main__":
    matplotlib.use("Agg")
    matplotlib.rcParams.update(figures.STYLE)
    found = run_cells(Path(sys.argv[1]))
    print("\n" + json.dumps(found))
