"""Translation by searches that XLA compiles: the same results, and few programs."""

import numpy as np
import pytest

from keras_seqzoo.decoding import BeamSearch, LexicallyConstrainedBeamSearch, Sampling
from keras_seqzoo.models import (
    Ensemble,
    NGramLanguageModel,
    RecurrentBackbone,
    RecurrentLanguageModel,
    RecurrentSeq2SeqLM,
    ShallowFusion,
)
from tests.models import small
from tests.models.seq2seq.test_source_output import OPTIONS
from tests.models.seq2seq.test_source_output import make as with_source_output
from tests.tiers import slow

TEXTS = ["a bee hums", "", "no rain", "the moon is far"]
SEARCH = BeamSearch(3, n_best=2, max_source_ratio=3.0)


def check(subject, texts=TEXTS, **options):
    """Compare translations with and without XLA."""
    options = {"strategy": SEARCH, "max_length": 9, **options}
    expected = subject.translate(texts, **options)
    found = subject.translate(texts, **options, jit_compile=True)
    for own, others in zip(found, expected, strict=True):
        assert [best.text for best in own] == [best.text for best in others]
        for one, other in zip(own, others, strict=True):
            assert one[1:3] == pytest.approx(other[1:3], abs=1e-5)
            assert one.source_tokens == other.source_tokens
            assert one.target_tokens == other.target_tokens
            if other.alignment is None:
                assert one.alignment is None
            else:
                np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-5)


def shapes(subject):
    """The shapes of sources for which there is a program."""
    graphs = [graph for key, graph in subject._graphs.functions.items() if key[0] == "compiled"]
    return sorted(tuple(graph.input_signature[0].shape) for graph in graphs)


# Calls one after the other, each with the programs that there are after it.
CALLS = [
    (TEXTS, [(4, 16)]),  # three rows, padded to four
    (["no rain"], [(1, 8), (4, 16)]),
    (["a bee"], [(1, 8), (4, 16)]),
]


@pytest.mark.parametrize("calls", [1, slow(3)])
def test_results_are_those_of_translate(calls):
    subject = small.model(attention_units=5)
    subject.set_weights(small.shared_model().get_weights())
    for texts, expected in CALLS[:calls]:
        check(subject, texts, alignments=True)
        assert shapes(subject) == expected


@pytest.mark.slow
def test_long_sources_and_batches_have_programs_of_their_own():
    subject = small.model(attention_units=5)
    subject.set_weights(small.shared_model().get_weights())
    check(subject, [*TEXTS, "she paints a door in blue"], batch_size=3)
    assert shapes(subject) == [(1, 8), (3, 16)]  # not four rows: at most a batch
    check(subject, [], batch_size=3)


@pytest.mark.slow
def test_required_phrases():
    search = LexicallyConstrainedBeamSearch(8)
    phrases = [["old cars"], ["door"], [], ["rain", "she"]]
    check(small.shared_model(), strategy=search, max_length=14, required_phrases=phrases)


@pytest.mark.slow
def test_phrases_of_other_sizes_share_a_program():
    subject = small.model(attention_units=5)
    subject.set_weights(small.shared_model().get_weights())
    search = LexicallyConstrainedBeamSearch(4)
    for phrase in ("rain", "far", "old cars"):
        options = {"strategy": search, "max_length": 14, "required_phrases": [[phrase]]}
        [[best]] = subject.translate(["no rain"], **options, jit_compile=True)
        assert phrase in best.text
    assert len(shapes(subject)) <= 2


@pytest.mark.slow
def test_seeded_samples():
    check(small.shared_model(), strategy=Sampling(3, seed=4), texts=TEXTS * 2)


class OwnStep(RecurrentSeq2SeqLM):
    def step(self, tokens, state):
        scores, state = super().step(tokens, state)
        return 2.0 * scores, state


class OwnSearch(RecurrentSeq2SeqLM):
    def for_search(self, state):
        return super().for_search(state)


@pytest.mark.slow
def test_subclasses_that_override_the_steps():
    own = OwnStep(small.backbone(), small.preprocessor())
    check(own, ["no rain"])
    own = OwnSearch(small.backbone(), small.preprocessor())
    assert own.translate(["no rain"], max_length=3)
    assert Ensemble([own, own]).translate(["no rain"], max_length=3)


def test_parts_that_xla_cannot_compile():
    language_model = NGramLanguageModel.train(small.SENTENCES, 2, tokenizer=small.tokenizer())
    fused = ShallowFusion(small.shared_model(), language_model)
    for subject in (fused, Ensemble([fused, fused])):
        with pytest.raises(ValueError) as error:
            subject.translate(["no rain"], jit_compile=True)
        assert str(error.value) == (
            "`jit_compile` must not be given for a model with a NGramLookup, which XLA cannot "
            "compile, got True."
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_models_that_read_the_source(name):
    check(with_source_output(name))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"attention": None}, {"tie_softmax": False}])
def test_other_models(options):
    check(small.model(**options))


@pytest.mark.slow
def test_quantized_weights():
    subject = small.model(attention_units=5)
    subject.quantize("int8")
    check(subject)


@pytest.mark.slow
def test_combined_models():
    members = [small.shared_model(), with_source_output("lexicon-bias")]
    check(Ensemble(members))
    language_model = RecurrentLanguageModel(RecurrentBackbone(small.VOCABULARY, 3, 4))
    check(ShallowFusion(members[1], language_model))
