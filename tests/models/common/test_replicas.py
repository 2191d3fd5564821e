"""Every model trains on two devices as on one with the same batches."""

import json

import numpy as np
import pytest

from tests.cli.processes import run_python
from tests.models.common.replica_fits import CASES

pytestmark = pytest.mark.slow


def test_two_replicas_train_as_one():
    result = run_python("from tests.models.common import replica_fits; replica_fits.main()")
    assert result.returncode == 0, (result.returncode, result.stderr[-3000:])
    fits = json.loads(result.stdout.splitlines()[-1])
    assert fits.keys() == CASES.keys()
    for case, (one, two) in fits.items():
        assert one.keys() == two.keys(), case
        for name in sorted(one.keys() - {"arrays"}):
            message = f"{case}: {name}"
            np.testing.assert_allclose(two[name], one[name], rtol=2e-5, err_msg=message)
        assert len(set(one["loss"])) == 3, f"{case} does not train"
        for actual, expected in zip(two["arrays"], one["arrays"], strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5, err_msg=case)
