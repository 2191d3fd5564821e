import inspect

import pytest

from keras_seqzoo.decoding import Greedy
from tests.models.common.test_strings_or_ids import language_model, translator
from tests.tiers import slow


@pytest.mark.parametrize("make", [slow(translator), language_model])
def test_autograph_converts_nothing(make):
    """It would take most of the time of the first call."""
    files = []

    class Watched(Greedy):
        def search(self, *args, **kwargs):
            files.extend(frame.filename for frame in inspect.stack(0))
            return super().search(*args, **kwargs)

    model, *_ = make()
    model.compile(sampler=Watched())
    assert isinstance(model.generate("cow"), str)
    assert files and not [name for name in files if "autograph_generated" in name]
