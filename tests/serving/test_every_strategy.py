"""Each strategy exported, and what a process with TensorFlow alone gives: what the model gives.

Greedy search is among the exports of `test_export.py`.
"""

from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import (
    BeamSearch,
    DiverseBeamSearch,
    EndThreshold,
    ExhaustiveSearch,
    LengthPrior,
    LexicallyConstrainedBeamSearch,
    MinimumLength,
    NoRepeatedNGrams,
    Sampling,
    WordReward,
    WuLengthPenalty,
)
from keras_seqzoo.serving import export
from tests.serving.fresh_server import answers_of, hexadecimal
from tests.serving.test_export import SOURCE, make_model

TEXTS = SOURCE[:12]
PHRASES = [["chante."], ["voisin", "le"], []] * 4
STRATEGIES = {
    "beam": BeamSearch(
        4,
        WuLengthPenalty(0.7),
        constraints=[NoRepeatedNGrams(2)],
        coverage_penalty=0.2,
        max_source_ratio=1.0,
    ),
    "diverse": DiverseBeamSearch(
        6,
        groups=3,
        length_penalty=WordReward(0.5),
        constraints=[MinimumLength(2), EndThreshold()],
    ),
    "exhaustive": ExhaustiveSearch(n_best=2),
    "prior": BeamSearch(4, LengthPrior.from_lengths([2, 4, 6], [2, 3, 5])),  # infinite at length 0
    "phrases": LexicallyConstrainedBeamSearch(12),
    "sampling": Sampling(50, top_k=3, seed=5),
}
LENGTHS = {"exhaustive": 2, "sampling": 2, "phrases": 12}
ROWS = 40
LIMIT = 26.12  # the 99.9th percentile of chi squared with 8 degrees of freedom (9 sequences)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A model, and the answers of a fresh process by the name of the strategy."""
    model = make_model()
    folder = tmp_path_factory.mktemp("exported")
    requests = []
    for name, strategy in STRATEGIES.items():
        inputs = {"text": hexadecimal(TEXTS)}
        signature = "serving_default"
        if name == "phrases":
            inputs["required_phrases"] = hexadecimal(["\t".join(own) for own in PHRASES])
        if name == "sampling":
            inputs, signature = {"text": hexadecimal(TEXTS[:1] * ROWS)}, "n_best"
        path = export(
            model, folder / name, strategy=strategy, max_length=LENGTHS.get(name, 6), warmup=()
        )
        requests.append((path, [(signature, inputs)], "v2"))
    answers = answers_of(requests)
    return model, {
        name: answer["outputs"][0] for name, answer in zip(STRATEGIES, answers, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "sampling"])
def test_searches_find_the_same(exported, name):
    model, answers = exported
    expected = model.translate(
        TEXTS,
        STRATEGIES[name],
        max_length=LENGTHS.get(name, 6),
        required_phrases=PHRASES if name == "phrases" else None,
    )
    assert answers[name]["translation"] == [best.text for best, *_ in expected]
    scores = [best.score for best, *_ in expected]
    np.testing.assert_allclose(answers[name]["score"], scores, rtol=1e-4)
    assert len(set(scores)) > 1


@pytest.mark.slow
def test_samples_have_the_same_distribution(exported):
    model, answers = exported
    expected = distribution(model, TEXTS[0], top_k=3)
    drawn = Counter(text for row in answers["sampling"]["translations"] for text in row)
    total = sum(drawn.values())
    assert total == ROWS * 50
    assert set(drawn) <= set(expected)
    statistic = sum((drawn[t] - total * p) ** 2 / (total * p) for t, p in expected.items())
    assert statistic < LIMIT
    assert len(expected) > 4


def distribution(model, text, top_k):
    """The probabilities of all texts of at most two tokens, by the model's own steps."""
    tokenizer = model.preprocessor.tokenizer
    ids, mask = model.preprocessor.pad(model.preprocessor.encode_source(tf.constant([text])))

    def likeliest(tokens, state):
        log_probabilities, state = model.step(tf.constant([tokens]), state)
        values, chosen = tf.math.top_k(log_probabilities[0], top_k)
        weights = tf.nn.softmax(values).numpy()
        return dict(zip(chosen.numpy().tolist(), weights.tolist(), strict=True)), state

    found = Counter()
    first, state = likeliest(tokenizer.start_token_id, model.start(ids, mask))
    for token, probability in first.items():
        second = {None: 1.0}
        if token != tokenizer.end_token_id:
            second, _ = likeliest(token, state)
        for other, share in second.items():
            tokens = [token] if other is None else [token, other]
            [read] = tokenizer.detokenize(tf.ragged.constant([tokens], dtype=tf.int32))
            found[read] += probability * share
    return found
