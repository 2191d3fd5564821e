"""The manual as a site, in a browser: each page, its figures, its tables and the search."""

import functools
import http.server
import importlib
import threading
from pathlib import Path

import pytest

from tests.browser import PROGRAM, Browser

ROOT = Path(__file__).parent.parent
VIEWS = {"desktop, light": (1280, 900, "light"), "phone, dark": (390, 844, "dark")}
# How many pictures and equations the page has, pictures that were not loaded, and how far it
# exceeds the window.
PAGE = """
({
  pictures: document.querySelectorAll('article img').length,
  equations: document.querySelectorAll('.math math').length,
  undrawn: document.querySelectorAll('.arithmatex').length,
  broken: [...document.images].filter((x) => !x.complete || !x.naturalWidth).map((x) => x.src),
  wide: document.documentElement.scrollWidth - window.innerWidth,
  dark: document.body.dataset.mdColorScheme === 'slate',
})
"""
SEARCH = """
new Promise((done) => {
  document.querySelector('[for=__search]').click();
  const field = document.querySelector('.md-search__input');
  field.focus();
  field.value = 'BeamSearch';
  field.dispatchEvent(new Event('keyup'));
  const look = () => {
    const links = [...document.querySelectorAll('a.md-search-result__link')].map((x) => x.href);
    links.length ? done(links) : setTimeout(look, 200);
  };
  look();
})
"""
SOURCES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
# The last column of a table of numbers, before and after a click on its title.
SORT = """
(() => {
  const table = [...document.querySelectorAll('article table:not([class])')].find(
    (x) => x.tHead.textContent.includes('perplexity') || x.tHead.textContent.includes('Penn'));
  const column = table.tHead.rows[0].cells.length - 1;
  const rows = () => [...table.tBodies[0].rows];
  const values = () => rows().map((x) => parseFloat(x.cells[column].textContent));
  const found = [values()];
  table.tHead.rows[0].cells[column].querySelector('button').click();
  found.push(values());
  return found;
})()
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the files of a folder and writes no log."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site, and its pages."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    config = importlib.import_module("mkdocs.config")
    build = importlib.import_module("mkdocs.commands.build")
    build.build(config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages = sorted(
        page.parent.relative_to(folder).as_posix() for page in folder.rglob("index.html")
    )
    yield f"http://127.0.0.1:{server.server_port}", pages
    server.shutdown()
    server.server_close()


@pytest.fixture
def browser():
    """A new one, which remembers no choice of colors."""
    if PROGRAM is None:
        pytest.skip("no Chromium")
    with Browser() as browser:
        yield browser


@pytest.fixture
def equations(monkeypatch):
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("equations")


def test_equations_become_mathml(equations):
    assert "<mi>h</mi>" in equations.convert(r"\tanh(W h)")
    aligned = equations.write_block(r"\begin{split} a &= b \\ c &= d \end{split}")
    assert aligned.startswith('<div class="math"><math') and aligned.count("<mtr>") == 2


@pytest.mark.parametrize("source", [r"\foo", r"\mathrm{\foo}", "a & b", r"\begin{foo} a \end{foo}"])
def test_unknown_commands_end_the_build(equations, source):
    with pytest.raises(ValueError, match="must have known commands, got"):
        equations.convert(source)
    with pytest.raises(equations.SuperFencesException, match="the equation"):
        equations.write_block(source)


NOTEBOOK = """# %% [markdown]
# # A notebook

# %%
import matplotlib.pyplot as plt
number = 6

# %%
print(7 * number)
plt.plot([1, 2])
plt.show()

# %%
print("\\n".join(map(str, range(100))))
"""


@pytest.mark.slow
def test_a_notebook_that_is_run_shows_what_it_prints_and_draws(tmp_path, monkeypatch):
    pytest.importorskip("jupytext")
    monkeypatch.syspath_prepend(ROOT / "docs")
    notebooks = importlib.import_module("notebooks")
    path = tmp_path / "small.py"
    path.write_text(NOTEBOOK, encoding="utf-8")
    page, drawn = notebooks.make_page(path, run=True)
    assert "plt.show()\n```\n\n````text\n42\n````\n\n![" in page and "](small_1.svg)" in page
    assert list(drawn) == ["small_1.svg"] and "</svg>" in drawn["small_1.svg"]
    assert "\n19\n…\n80\n" in page and "\n50\n" not in page
    unrun, drawn = notebooks.make_page(path)
    assert "42" not in unrun and "print(7 * number)" in unrun and drawn == {}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_pages(site, browser, view):
    address, pages = site
    assert len(pages) > 40
    for page in pages:
        errors = browser.open(f"{address}/{page}/", *VIEWS[view])
        found = browser.evaluate(PAGE)
        assert (page, errors, found["broken"]) == (page, [], [])
        assert found["wide"] <= 0, page
        assert found["dark"] == ("dark" in view), page
        source = SOURCES.get("index" if page == "." else page, "")
        assert found["pictures"] >= source.count("<!-- figure "), page
        assert found["equations"] == source.count("```math"), page
        assert not found["undrawn"], page


@pytest.mark.slow
def test_search(site, browser):
    address, _ = site
    browser.open(f"{address}/", *VIEWS["desktop, light"])
    links = browser.evaluate(SEARCH)
    assert any("reference/decoding/#keras_seqzoo.decoding.BeamSearch" in link for link in links)


@pytest.mark.slow
def test_tables_are_sorted(site, browser):
    address, _ = site
    browser.open(f"{address}/language_models/", *VIEWS["desktop, light"])
    before, after = browser.evaluate(SORT)
    assert before != after == sorted(before)
