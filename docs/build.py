"""What the manual has besides the pages of `docs/`: reference, zoo, notebooks, results, figures.

mkdocs runs the functions `on_...` (`hooks` in mkdocs.yml).
"""

import html
import os
import posixpath
import re
import sys
from pathlib import Path

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))
import equations  # noqa: E402
import figures  # noqa: E402
import notebooks  # noqa: E402

ROOT = Path(__file__).parent.parent
PACKAGE = "keras_seqzoo"
# Pages of the reference: a module with `__all__`, and the title of its page.
MODULES = {
    "layers": "Layers",
    "layers.large_softmax": "Output layers for large vocabularies",
    "models": "Models",
    "models.language_model.ngram": "Parts of n-gram models",
    "models.language_model.log_linear": "Parts of log-linear models",
    "models.word_vectors": "Parts of word vectors",
    "decoding": "Decoding",
    "tokenizers": "Tokenizers",
    "data": "Data",
    "losses": "Losses",
    "metrics": "Metrics",
    "callbacks": "Callbacks",
    "training": "Training",
    "counting": "Counting",
    "serving": "Serving",
    "plots": "Plots",
    "zoo": "Zoo",
}
CARDS = sorted((ROOT / "saved_models").glob("*/README.md"))
# Files of the repository that are pages, and their paths in the manual.
PAGES = {
    ROOT / "benchmarks" / "BOOKS.md": "books.md",
    ROOT / "benchmarks" / "RESULTS.md": "results.md",
    ROOT / "saved_models" / "README.md": "zoo/index.md",
    ROOT / "examples" / "notebooks" / "README.md": "notebooks/index.md",
    ROOT / "ARCHITECTURE.md": "design.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "CHANGELOG.md": "changelog.md",
    **{card: f"zoo/{card.parent.name}.md" for card in CARDS},
    **{page: page.name for page in (ROOT / "docs").glob("*.md")},
}
NOTEBOOKS = {
    path: f"notebooks/{path.stem}.md"
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.py"))
}
FIGURES = {figure: f"figures/{figure.name}" for figure in (ROOT / "benchmarks").glob("*.png")}
PLACES = {**FIGURES, **PAGES, **NOTEBOOKS}
FIGURE = re.compile(r"<!-- figure (\w+): (.*?) -->", re.DOTALL)
SESSION = re.compile(r"(?:^>>> .*\n(?:\S.*\n)*)+", re.MULTILINE)  # an interactive one
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\((?!\w+:|#)([^)\s#]*)(#[^)\s]*)?\)")


class Docstrings(griffe.Extension):
    """Makes our docstrings what the parser of docstrings knows."""

    def on_object(self, *, obj, **kwargs):
        """Title the sections "Call arguments" and "Example", and fence what is in no section."""
        if obj.docstring:
            text = obj.docstring.value
            text = text.replace("\nCall arguments:", "\nOther Args: Call arguments:")
            text = text.replace("\nExample:\n ", "\nExamples:\n ")
            text = re.sub(r"^Example:\n(?=\S)", "**Example**\n\n", text, flags=re.MULTILINE)
            obj.docstring.value = SESSION.sub(r"```pycon\n\g<0>```\n", text + "\n")


def on_config(config):
    """Put the generated pages into the navigation, and teach Markdown the equations."""
    config["mdx_configs"]["pymdownx.superfences"] = {"custom_fences": equations.FENCES}
    reference = [{title: f"reference/{module}.md"} for module, title in MODULES.items()]
    cards = [{card.parent.name: f"zoo/{card.parent.name}.md"} for card in CARDS]
    config["nav"] += [
        {"Notebooks": ["notebooks/index.md", *NOTEBOOKS.values()]},
        {"Zoo": ["zoo/index.md", *cards]},
        {"Books": "books.md"},
        {"Results": "results.md"},
        {"Reference": ["reference/index.md", *reference]},
        {"Develop": ["design.md", "contributing.md", "changelog.md"]},
    ]
    return config


def on_files(files, config):
    """Add the generated pages and the figures."""
    written = {page.src_uri for page in files}
    elsewhere = {path: source for source, path in PAGES.items() if path not in written}
    pages = {path: source.read_text(encoding="utf-8") for path, source in elsewhere.items()}
    drawn = {f"figures/{name}.svg": figures.draw(name) for name in figures.FIGURES}
    for path, text in {**pages, **notebook_pages(), **reference_pages(), **drawn}.items():
        files.append(File.generated(config, path, content=text))
    for figure, path in FIGURES.items():
        files.append(File.generated(config, path, abs_src_path=str(figure)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Make links within the repository links within the manual, and show the figures."""
    sources = [source for source, path in PAGES.items() if path == page.file.src_uri]
    if sources:
        markdown = rewrite_links(markdown, sources[0], page.file.src_uri)
    return FIGURE.sub(r"![\2](figures/\1.svg)", markdown)


def on_page_content(content, page, config, files):
    """Draw the equations within lines."""
    return INLINE.sub(lambda found: equations.convert(html.unescape(found[1])), content)


def rewrite_links(markdown, source, page):
    """Return the Markdown of a file of the repository with links to pages of the manual.

    What a link to any other file says stays, as text.

    Args:
        markdown: string.
        source: path of the file.
        page: string, the path of its page in the manual.
    """

    def rewrite(found):
        image, text, target, anchor = found.groups(default="")
        if not target or target.startswith("reference/"):
            return found[0]
        path = Path(os.path.normpath(source.parent / target))
        place = PLACES.get(path) or PLACES.get(path / "README.md")
        if place is None:
            return text
        return f"{image}[{text}]({posixpath.relpath(place, posixpath.dirname(page))}{anchor})"

    parts = FENCE.split(markdown)  # text and blocks of code in turn
    return "".join(part if odd % 2 else LINK.sub(rewrite, part) for odd, part in enumerate(parts))


def notebook_pages():
    """Return a dict from the paths of the notebooks' pages and figures to their text."""
    asked = os.environ.get("SEQZOO_NOTEBOOKS", "")
    if asked not in ("", "run"):
        raise PluginError(f"SEQZOO_NOTEBOOKS must be run or not set, got {asked!r}.")
    pages = {}
    for path, page in NOTEBOOKS.items():
        pages[page], drawn = notebooks.make_page(path, asked == "run")
        pages |= {f"notebooks/{name}": picture for name, picture in drawn.items()}
    return pages


def reference_pages():
    """Return a dict from the paths of the reference's pages to their Markdown."""
    package = griffe.load(PACKAGE, search_paths=[ROOT])
    pages, rows = {}, ["# Reference", "", "| module | what it has |", "| --- | --- |"]
    for module, title in MODULES.items():
        own = package[module]
        summary = own.docstring.value.partition("\n")[0]
        names = sorted((str(name).strip("'\"") for name in own.exports), key=str.casefold)
        lines = [f"# {title}", "", f"`{PACKAGE}.{module}`: {summary}"]
        lines += [line for name in names for line in ("", f"::: {PACKAGE}.{module}.{name}")]
        pages[f"reference/{module}.md"] = "\n".join(lines) + "\n"
        rows.append(f"| [`{PACKAGE}.{module}`]({module}.md) | {summary} |")
    pages["reference/index.md"] = "\n".join(rows) + "\n"
    return pages
