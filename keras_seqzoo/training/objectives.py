"""Options of the objectives that train translation models."""

from typing import Literal

from keras_seqzoo.models import (
    InverseSigmoidDecay,
    MinimumRisk,
    RDrop,
    Reinforce,
    ReinforcedAttention,
    ScheduledSampling,
    SupervisedAttention,
)
from keras_seqzoo.models.seq2seq.objectives.reinforce import BASELINES
from keras_seqzoo.models.seq2seq.objectives.sampled_translations import MEASURES
from keras_seqzoo.training.optimization import AdamWOptions
from keras_seqzoo.training.options import option, options, size_option

# The options that belong to one objective only.
OWN_OPTIONS = {
    "likelihood": (),
    "r-drop": ("r_drop_weight",),
    "scheduled-sampling": ("sampling_decay",),
    "minimum-risk": (
        "risk_samples",
        "risk_alpha",
        "risk_temperature",
        "risk_measure",
        "risk_reference",
    ),
    "reinforce": ("reinforce_samples", "reinforce_baseline", "reinforce_measure"),
    "supervised-attention": ("alignment_weight",),
    "reinforced-attention": ("attention_entropy",),
}
# The objectives that continue from a model trained on the likelihood, and the options of their
# measures.
FROM_START = {"minimum-risk": "risk_measure", "reinforce": "reinforce_measure"}


@options
class ObjectiveOptions(AdamWOptions):
    """Options of trainings with a choice of objectives."""

    objective: Literal[tuple(OWN_OPTIONS)] = option(
        "likelihood",
        "What training optimizes. likelihood: of the references; r-drop: also the agreement of two "
        "passes with different dropout; scheduled-sampling: the likelihood, while the decoder "
        "reads more and more of its own samples; minimum-risk: the expected risk of sampled "
        "translations, for a trained model with a low `learning_rate`, such as 0.0001; reinforce: "
        "the same by policy gradient; supervised-attention: the likelihood, with attention that "
        "follows given word alignments; reinforced-attention: the likelihood, with hard attention "
        "that learns by policy gradient.",
        recorded=True,
        panel="Training",
    )
    r_drop_weight: float = option(
        5.0,
        "With r-drop: weight of the divergence between the two passes.",
        minimum=0,
        recorded=True,
        panel="Training",
    )
    sampling_decay: float = option(
        1000.0,
        "With scheduled-sampling: k in k / (k + exp(step / k)), the share of tokens that the "
        "decoder reads from the reference.",
        minimum=1.0,
        recorded=True,
        panel="Training",
    )
    risk_samples: int = size_option(
        10,
        "With minimum-risk: number of translations drawn for each source.",
        recorded=True,
        panel="Training",
    )
    risk_alpha: float = option(
        0.005,
        "With minimum-risk: sharpness of the distribution over the drawn translations.",
        above=0,
        recorded=True,
        panel="Training",
    )
    risk_temperature: float = option(
        0.5,
        "With minimum-risk: temperature at which translations are drawn.",
        above=0,
        recorded=True,
        panel="Training",
    )
    risk_measure: Literal[MEASURES] = option(
        "bleu",
        "With minimum-risk: the risk is 1 minus this score of the sentence, BLEU over tokens or "
        "chrF.",
        recorded=True,
        panel="Training",
    )
    risk_reference: bool = option(
        True,
        "With minimum-risk: count the reference as a translation, with risk 0.",
        recorded=True,
        panel="Training",
    )
    reinforce_samples: int = size_option(
        5,
        "With reinforce: number of translations drawn for each source.",
        recorded=True,
        panel="Training",
    )
    reinforce_baseline: Literal[BASELINES] = option(
        "greedy",
        "With reinforce: baseline of the rewards: the reward of the greedy translation, the moving "
        "average, or the mean of the other samples of the source.",
        recorded=True,
        panel="Training",
    )
    reinforce_measure: Literal[MEASURES] = option(
        "bleu",
        "With reinforce: the reward is this score of the sentence, BLEU over tokens or chrF.",
        recorded=True,
        panel="Training",
    )
    attention_entropy: float = option(
        0.01,
        "With reinforced-attention: weight of the entropy of the attention.",
        minimum=0,
        recorded=True,
        panel="Training",
    )
    alignment_weight: float = option(
        1.0,
        "With supervised-attention: weight of the cross-entropy of the alignments.",
        minimum=0,
        recorded=True,
        panel="Training",
    )

    def __post_init__(self):
        """Check each option, and that the options fit together."""
        super().__post_init__()
        if self.reinforce_baseline == "samples" and self.reinforce_samples < 2:
            raise ValueError(
                '`reinforce_samples` must be at least 2 with `reinforce_baseline="samples"`, '
                f"got {self.reinforce_samples}."
            )
        if not self.risk_reference and self.risk_samples < 2:
            raise ValueError(
                "`risk_samples` must be at least 2 with `risk_reference=False`, got "
                f"{self.risk_samples}."
            )

    def unused(self):
        """Return a dict of the options that others leave unused; see `Options.unused`."""
        return {
            name: f"without the objective {objective}"
            for objective, names in OWN_OPTIONS.items()
            if objective != self.objective
            for name in names
        }


def make_objective(run):
    """Create the objective of a run that has `ObjectiveOptions`; `None` for the likelihood.

    Raises:
        ValueError: if the model has hard attention that the objective does not train, or the
            objective trains hard attention that the model does not have.
    """
    attention = run.model.decoder.attention
    estimator = getattr(getattr(attention, "weighting", None), "estimator", None)
    if estimator == "reinforce" and run.objective != "reinforced-attention":
        raise ValueError(
            "`objective` must be reinforced-attention for a model with the attention weighting "
            f"hard-reinforce, got {run.objective}."
        )
    if run.objective == "reinforced-attention" and attention and estimator != "reinforce":
        weighting = run.model.backbone.get_config()["attention_weighting"]
        raise ValueError(
            "`objective` must not be reinforced-attention for a model without the attention "
            f"weighting hard-reinforce, got the attention weighting {weighting}."
        )
    seed = run.seed % 2**31
    if run.objective == "r-drop":
        return RDrop(run.r_drop_weight)
    if run.objective == "scheduled-sampling":
        return ScheduledSampling(InverseSigmoidDecay(run.sampling_decay), seed)
    if run.objective == "minimum-risk":
        risk = run.risk_samples, run.risk_alpha, run.risk_temperature, run.risk_measure
        return MinimumRisk(*risk, seed, include_reference=run.risk_reference)
    if run.objective == "reinforce":
        own = run.reinforce_samples, run.reinforce_baseline, run.reinforce_measure
        return Reinforce(*own, seed=seed)
    if run.objective == "supervised-attention":
        return SupervisedAttention(run.alignment_weight)
    if run.objective == "reinforced-attention":
        return ReinforcedAttention(entropy=run.attention_entropy)
    return None
