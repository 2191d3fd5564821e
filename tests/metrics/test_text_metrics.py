import json

import keras
import pytest
import tensorflow as tf

from keras_seqzoo.metrics import BLEU, ChrF, score_translations

REFERENCES = ["a black dog runs home", "Two men sit on a wall", "nobody is here today"]
HYPOTHESES = ["a black dog runs away", "two men sit on the wall", "nobody is here"]
every_metric = pytest.mark.parametrize("metric, name", [(BLEU, "bleu"), (ChrF, "chrf")])


@every_metric
@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_of_the_corpus(metric, name, lowercase):
    subject = metric(lowercase=lowercase)
    assert float(subject.result()) == 0.0
    subject.update_state(REFERENCES[:1], HYPOTHESES[:1])
    subject.update_state(tf.constant(REFERENCES[1:]), tf.constant(HYPOTHESES[1:]))
    expected = getattr(score_translations(HYPOTHESES, REFERENCES, lowercase), name)
    assert float(subject.result()) == pytest.approx(expected)
    subject.reset_state()
    assert float(subject(REFERENCES, REFERENCES)) == pytest.approx(100.0)


@every_metric
def test_configuration(metric, name):
    stored = json.dumps(keras.saving.serialize_keras_object(metric(lowercase=True)))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert type(twin) is metric and twin.lowercase and twin.name == name


def test_errors():
    metric = BLEU()
    with pytest.raises(ValueError, match="same length, got 1 and 2"):
        metric.update_state(["a"], ["b", "c"])
    with pytest.raises(ValueError, match="`y_pred` must be a list of strings"):
        metric.update_state(["a"], "b")
    with pytest.raises(ValueError, match="`sample_weight`"):
        metric.update_state(["a"], ["b"], sample_weight=[1.0])
    with pytest.raises(ValueError, match="outside of `tf.function`"):
        tf.function(metric.update_state, autograph=False)(tf.constant(["a"]), tf.constant(["b"]))
    assert float(metric.result()) == 0.0
