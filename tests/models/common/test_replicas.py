"""Every model trains on two devices as on one with the same batches."""

import json

import numpy as np
import pytest

from tests.cli.processes import run_python
from tests.models.common.replica_fits import CASES

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fits():
    result = run_python("from tests.models.common import replica_fits; replica_fits.main()")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("case", CASES)
def test_two_replicas_train_as_one(fits, case):
    one, two = fits[case]
    assert one.keys() == two.keys()
    for name in sorted(one.keys() - {"arrays"}):
        np.testing.assert_allclose(two[name], one[name], rtol=2e-5, err_msg=name)
    assert len(set(one["loss"])) == 3  # it trains
    for actual, expected in zip(two["arrays"], one["arrays"], strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
