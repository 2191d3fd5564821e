"""Set-up shared by all tests: a quiet TensorFlow, fixed examples and seeds, and where the data are.

`-m "slow or not slow"` runs every test. `--hypothesis-profile random` draws new examples and prints
their seed, which can be given again with `--hypothesis-seed`. Where `SEQZOO_TESTS_UNTIL` names a
time (seconds since the epoch), tests that would begin after it are skipped and listed.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import gc  # noqa: E402
import importlib  # noqa: E402
import pathlib  # noqa: E402
import secrets  # noqa: E402
import time  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests.properties import FIXED  # noqa: E402

# The first example of a test may trace a function, and machines differ: time decides nothing.
untimed = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("fixed", derandomize=True, max_examples=FIXED, **untimed)
hypothesis.settings.register_profile("random", derandomize=False, print_blob=True, **untimed)
hypothesis.settings.load_profile("fixed")

OUT_OF_TIME = "there was no time left for it"


def seeds():
    """Import the seeds, and TensorFlow with them: where tests run, not where xdist shares them."""
    return importlib.import_module("tests.seeds")


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads the seed, and xdist hands it on
def pytest_configure(config):
    option = config.option
    if option.hypothesis_profile == "random" and option.hypothesis_seed is None:
        option.hypothesis_seed = str(secrets.randbelow(2**32))


@pytest.fixture(scope="session", autouse=True)
def imported():
    """Let collecting garbage not look at what the libraries made."""
    seeds()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    seeds().seed_all()
    if time.time() > float(os.environ.get("SEQZOO_TESTS_UNTIL", "inf")):
        pytest.skip(OUT_OF_TIME)


def pytest_terminal_summary(terminalreporter, config):
    if config.option.hypothesis_profile == "random":
        terminalreporter.write_line(
            f"examples drawn with --hypothesis-seed {config.option.hypothesis_seed}"
        )
    skipped = terminalreporter.stats.get("skipped", [])
    missed = [report.nodeid for report in skipped if OUT_OF_TIME in str(report.longrepr)]
    if missed:
        terminalreporter.section("not run: " + OUT_OF_TIME)
        for name in missed:
            terminalreporter.write_line(name)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    """Let what is shared by tests be the same, whichever of them asks for it first."""
    if fixturedef.scope == "function":
        return (yield)
    seeds().seed_all()
    result = yield
    seeds().seed_all()
    return result


# Building graphs makes many objects that live on: to look at them as often as by default would take
# a tenth of the time.
gc.set_threshold(50_000, 50, 50)


@pytest.fixture(scope="module", autouse=True)
def small_garbage():
    """Let collecting garbage look at what a module's tests made, not at all graphs before it."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def garbage_stays(monkeypatch):
    """Let no garbage be collected: `quantize` does it for each layer, all of a test's time."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.fixture(scope="session")
def data_directory():
    """The folder of the real data sets; tests that ask for it are skipped where it is not set."""
    folder = os.environ.get("SEQZOO_DATA")
    if not folder:
        pytest.skip("SEQZOO_DATA is not set")
    return pathlib.Path(folder)
