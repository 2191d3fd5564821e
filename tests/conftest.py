"""Set-up shared by all tests: a quiet TensorFlow, one seed per test, and the place of the data."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import pathlib  # noqa: E402

import hypothesis  # noqa: E402
import keras  # noqa: E402
import pytest  # noqa: E402

# The first example of a test may trace a function; how long one takes is no matter of the tests.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def fixed_seed():
    """Seed Python, NumPy and TensorFlow before every test, so that each runs alike alone."""
    keras.utils.set_random_seed(1)


@pytest.fixture(scope="session")
def data_directory():
    """The folder of the real data sets; tests that ask for it are skipped where it is not set."""
    folder = os.environ.get("SEQZOO_DATA")
    if not folder:
        pytest.skip("SEQZOO_DATA is not set")
    return pathlib.Path(folder)
