import json

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_seqzoo.decoding import (
    BeamSearch,
    ExhaustiveSearch,
    ForbiddenTokens,
    Greedy,
    LexicallyConstrainedBeamSearch,
    MinimumLength,
    NoRepeatedNGrams,
    Sampling,
    StrategySampler,
)

END, PAD = 4, 0


@pytest.fixture(scope="module")
def transformer():
    """A small GPT-2 of random weights: a cache of attention, no preprocessor."""
    keras.utils.set_random_seed(0)
    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=6,
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
        max_sequence_length=8,
    )
    model = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    random = np.random.default_rng(1)
    model.set_weights([random.normal(size=w.shape) for w in model.get_weights()])
    return model


PROMPTS = {
    "token_ids": np.array([[1, 2, 0, 0, 0, 0], [3, 5, 2, 0, 0, 0], [2, 0, 0, 0, 0, 0]], "int32"),
    "padding_mask": np.array([[1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]], bool),
}


def generate(model, sampler):
    model.compile(sampler=sampler)
    found = model.generate(PROMPTS, stop_token_ids=[END])
    return np.asarray(found["token_ids"] if isinstance(found, dict) else found)


def log_probability(model, ids, prompt):
    """What the model gives to the tokens after the prompt, up to the end token."""
    inputs = {"token_ids": ids[np.newaxis], "padding_mask": np.ones((1, len(ids)), bool)}
    log_probabilities = tf.nn.log_softmax(model(inputs))[0].numpy()
    total = 0.0
    for t in range(prompt, len(ids)):
        total += log_probabilities[t - 1, ids[t]]
        if ids[t] == END:
            break
    return total


def cut(ids, prompt):
    """The tokens up to the first end token that was generated."""
    rest = ids[prompt:].tolist()
    return ids[:prompt].tolist() + (rest[: rest.index(END) + 1] if END in rest else rest)


@pytest.mark.slow
def test_greedy_is_that_of_keras_hub(transformer):
    ours = generate(transformer, StrategySampler(Greedy()))
    theirs = generate(transformer, "greedy")
    for own, other, mask in zip(ours, theirs, PROMPTS["padding_mask"], strict=True):
        assert cut(own, mask.sum()) == cut(other, mask.sum())


@pytest.mark.slow
def test_prompts_are_kept_and_beams_are_no_worse_than_greedy(transformer):
    beam = generate(transformer, StrategySampler(BeamSearch(64, length_penalty=0.0)))
    greedy = generate(transformer, StrategySampler(Greedy()))
    for own, other, ids, mask in zip(
        beam, greedy, PROMPTS["token_ids"], PROMPTS["padding_mask"], strict=True
    ):
        prompt = mask.sum()
        assert own[:prompt].tolist() == ids[:prompt].tolist()
        best = log_probability(transformer, own, prompt)
        assert best >= log_probability(transformer, other, prompt) - 1e-4


@pytest.mark.slow
def test_wide_beam_finds_what_exhaustive_search_finds(transformer):
    wide = generate(transformer, StrategySampler(BeamSearch(300, length_penalty=0.0)))
    ids = tf.constant(PROMPTS["token_ids"][1:2])

    def step(tokens, state):
        here = tf.range(6) == state["position"][:, tf.newaxis]
        ids = tf.where(here, tokens[:, tf.newaxis], state["ids"])
        inputs = {"token_ids": ids, "padding_mask": tf.ones_like(ids, tf.bool)}
        logits = tf.gather(transformer(inputs), state["position"], batch_dims=1)
        return tf.nn.log_softmax(logits), {"ids": ids, "position": state["position"] + 1}

    state = {"ids": ids, "position": tf.constant([2])}
    found = ExhaustiveSearch(0.0)(step, state, ids[:, 2], END, 3)
    length = int(found.lengths[0, 0])
    assert wide[1, 3 : 3 + length].tolist() == found.tokens[0, 0, :length].numpy().tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    [BeamSearch(4, length_penalty=1.0), Greedy([MinimumLength(4), NoRepeatedNGrams(2)])],
)
def test_a_prompt_does_not_depend_on_the_others(transformer, strategy):
    transformer.compile(sampler=StrategySampler(strategy))
    together = transformer.generate(PROMPTS, stop_token_ids=[END])["token_ids"]
    for row in range(3):
        one = {name: values[row : row + 1] for name, values in PROMPTS.items()}
        alone = transformer.generate(one, stop_token_ids=[END])["token_ids"]
        np.testing.assert_array_equal(alone[0], together[row])


@pytest.mark.slow
def test_constraints_and_sampling(transformer):
    strategy = Sampling(seed=3, constraints=[ForbiddenTokens([1, 3])])
    found = generate(transformer, StrategySampler(strategy))
    for ids, mask in zip(found, PROMPTS["padding_mask"], strict=True):
        assert not {1, 3} & set(cut(ids, mask.sum())[mask.sum() :])


def test_configuration():
    sampler = StrategySampler(BeamSearch(3, 0.5))
    stored = json.dumps(keras.saving.serialize_keras_object(sampler))
    twin = keras.saving.deserialize_keras_object(json.loads(stored))
    assert twin.strategy.get_config() == sampler.strategy.get_config()


def test_stop_token_ids_may_be_an_array():
    logits = tf.one_hot([END], 6)
    found = StrategySampler(Greedy())(
        lambda prompt, cache, index: (logits, None, cache),
        tf.constant([[1, 2, PAD, PAD]]),
        index=2,
        mask=tf.constant([[True, True, False, False]]),
        stop_token_ids=np.array([3, END]),
    )
    assert found.numpy().tolist()[0][:3] == [1, 2, END]


def test_errors(transformer):
    with pytest.raises(ValueError, match="`strategy` must not take `required_phrases`"):
        StrategySampler(LexicallyConstrainedBeamSearch())
    with pytest.raises(ValueError, match="`strategy` must be a DecodingStrategy"):
        StrategySampler("beam")
    transformer.compile(sampler=StrategySampler(Greedy()))
    for none in (None, (), np.array([], int)):
        with pytest.raises(ValueError, match="`stop_token_ids` must be at least one id, got "):
            transformer.sampler(None, np.array([[1, 2]]), stop_token_ids=none)
