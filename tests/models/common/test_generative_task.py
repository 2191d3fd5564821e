import inspect

import pytest

from keras_seqzoo.decoding import Greedy
from keras_seqzoo.models import (
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentLanguageModelPreprocessor,
)
from tests.models import small


def language_model():
    tokenizer = small.tokenizer()
    return RecurrentLanguageModel(
        RecurrentBackbone(tokenizer.vocabulary_size(), embedding_dim=3, units=5),
        RecurrentLanguageModelPreprocessor(tokenizer, sequence_length=8),
    )


@pytest.mark.parametrize("make", [small.model, language_model])
def test_autograph_converts_nothing(make):
    """It would take most of the time of the first call."""
    files = []

    class Watched(Greedy):
        def search(self, *args, **kwargs):
            files.extend(frame.filename for frame in inspect.stack(0))
            return super().search(*args, **kwargs)

    model = make()
    model.compile(sampler=Watched())
    assert isinstance(model.generate("cow"), str)
    assert files and not [name for name in files if "autograph_generated" in name]
