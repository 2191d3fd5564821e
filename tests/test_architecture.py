"""The folders of the package: their size, and imports in one direction only."""

import ast
import pathlib
import re

import pytest

import keras_seqzoo

PACKAGE = pathlib.Path(keras_seqzoo.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_MODULES = 20  # of a folder
MOST_LINES = 400  # of a module

# A package imports from the rows above its own; see ARCHITECTURE.md.
PACKAGES = [
    {
        "checks",
        "tensors",
        "random_numbers",
        "replicas",
        "overriding",
        "preset_folders",
        "_compat",
        "_environment",
    },
    {"time_arrays"},
    {"losses", "metrics", "decoding", "layers"},
    {"data"},
    {"zoo", "plots", "counting"},
    {"tokenizers"},
    {"models"},
    {"callbacks"},
    {"training", "serving"},
    {"_parts"},
    {"cli"},
]
INNER = {
    "layers": [
        {"recurrence"},
        {"attention", "trees", "crf", "large_softmax", "source_distribution"},
    ],
    "models": [
        {"common"},
        {"seq2seq", "language_model", "classifier", "tagger", "word_vectors"},
    ],
}


def package_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    """List what a module imports from the package, as tuples of the parts of the names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            package, *parts = name.split(".")
            if package == "keras_seqzoo" and parts:
                yield tuple(parts)


def place(order, name):
    places = [index for index, names in enumerate(order) if name in names]
    return places[0] if places else None


@pytest.mark.parametrize("package", sorted(set.union(*PACKAGES)))
def test_packages_import_in_one_direction(package):
    paths = [path for path in MODULES if package_of(path) == package]
    assert paths
    for path in paths:
        for parts in imports(path):
            if parts[0] != package:
                allowed = place(PACKAGES, parts[0]) < place(PACKAGES, package)
                assert allowed, f"{path.relative_to(PACKAGE)} imports {'.'.join(parts)}"


@pytest.mark.parametrize("package", sorted(INNER))
def test_inner_folders_import_in_one_direction(package):
    order = INNER[package]
    folders = {path.parent.name for path in (PACKAGE / package).glob("*/__init__.py")}
    assert folders == set.union(*order)
    for path in MODULES:
        outer, *rest = path.relative_to(PACKAGE).parts
        if outer != package or len(rest) < 2:
            continue
        for parts in imports(path):
            if parts[0] == package and len(parts) > 2 and parts[1] != rest[0]:
                allowed = place(order, parts[1]) < place(order, rest[0])
                assert allowed, f"{path.relative_to(PACKAGE)} imports {'.'.join(parts)}"


def test_every_package_has_a_place():
    packages = {package_of(path) for path in MODULES}
    assert packages - {"__init__", "__main__"} == set.union(*PACKAGES)


def test_folders_and_modules_are_small():
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert [path.name for path, lines in sizes.items() if lines > MOST_LINES] == []
    folders = [path.parent for path in MODULES]
    crowded = {folder.name for folder in folders if folders.count(folder) > MOST_MODULES}
    assert crowded == set()


def test_files_that_the_documents_name_exist():
    root = PACKAGE.parent
    for document in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (root / document).read_text(encoding="utf-8")
        names = re.findall(r"`((?:[\w.]+/)*[\w.]+(?:/|\.py|\.txt|\.md|\.toml))`", text)
        assert len(names) > 5
        for name in names:
            assert (PACKAGE / name).exists() or (root / name).exists(), f"{document}: {name}"
