"""Training on real text, to a score."""

import keras
import pytest

from keras_seqzoo.data import load_multi30k
from keras_seqzoo.training import TranslationTraining, make_translation_model


@pytest.mark.slow
def test_two_epochs_of_multi30k(data_directory, tmp_path):
    train = load_multi30k("train", directory=data_directory)
    validation = load_multi30k("val", directory=data_directory)
    keras.utils.set_random_seed(1)
    sizes = {"embedding_dim": 128, "encoder_units": 128, "decoder_units": 256}
    model = make_translation_model(*train, **sizes, attention_units=128)
    training = TranslationTraining(model, tmp_path / "preset", epochs=2, measure="chrf", seed=1)
    assert training.run(train, validation, verbose=0)
    # Runs of benchmarks/attention_study.py stood at 54 to 55 here, and at 63 after six epochs.
    assert training.state.best > 50
