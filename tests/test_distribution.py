"""The wheel: it is the same each time, has what it should, and works where it is installed."""

import hashlib
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("keras_seqzoo", "saved_models")


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, by way of the source distribution, as users of an index get it."""
    return build(tmp_path_factory.mktemp("first"))


def build(folder):
    pytest.importorskip("build")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.mark.slow
def test_building_twice_gives_the_same_bytes(wheel, tmp_path):
    again = build(tmp_path)
    names = [path.name for path in sorted(again.parent.iterdir())]
    assert len(names) == 2
    for name in names:
        digests = {
            hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for folder in (again.parent, wheel.parent)
        }
        assert len(digests) == 1, name


@pytest.mark.slow
def test_the_wheel_has_the_package_and_its_presets_alone(wheel):
    tracked = run("git", "ls-files", *FOLDERS, cwd=ROOT).splitlines()
    expected = {
        name if name.startswith("keras_seqzoo/") else f"keras_seqzoo/{name}" for name in tracked
    }
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected
    assert wheel.stat().st_size < 100 * 2**20  # the size of a file that PyPI takes


@pytest.mark.slow
def test_an_installed_wheel_translates(wheel, tmp_path):
    """In an environment of its own, which takes no more than the dependencies from this one."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel)
    site = sysconfig.get_path("purelib", "venv", {"base": str(home)})
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    options = {"cwd": empty, "env": {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}}
    place = run(python, "-c", "import keras_seqzoo; print(keras_seqzoo.__file__)", **options)
    assert place.startswith(str(home))
    sentence = "Two dogs are running through the snow."
    out = run(home / "bin" / "seqzoo", "translate", "--to", "fr", sentence, **options)
    assert out == "Deux chiens courent dans la neige.\n"
