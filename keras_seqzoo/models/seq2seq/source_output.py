"""How the source changes the output distribution: names for an option of a backbone."""

from keras_seqzoo.checks import check_choice
from keras_seqzoo.layers import (
    CopyDistribution,
    LexiconDistribution,
    SourceSoftmax,
)
from keras_seqzoo.layers.source_distribution.lexicon import check_selectors

SOURCE_OUTPUTS = {"copy": "mixture", "lexicon": "mixture", "lexicon-bias": "bias"}
LEXICONS = ("lexicon", "lexicon-bias")


def check_source_output(name, attention, share_embeddings, encoder, lexicon_selectors, size):
    """Raise a `ValueError` if a `source_output` is unknown or contradicts other arguments.

    Args:
        name: see the backbone, as for the following arguments.
        attention: a string or `None`.
        share_embeddings: bool.
        encoder: a string or `None`.
        lexicon_selectors: list of ints.
        size: int, the number of source tokens.
    """
    check_selectors("lexicon_selectors", lexicon_selectors, size)
    if len(lexicon_selectors) and name not in LEXICONS:
        raise ValueError(
            f"`lexicon_selectors` must be empty with `source_output={name!r}`, got "
            f"{list(lexicon_selectors)}."
        )
    if name is None:
        return
    check_choice("source_output", name, tuple(SOURCE_OUTPUTS))
    if attention is None:
        raise ValueError(f'`attention` must not be None with `source_output="{name}"`, got None.')
    if encoder == "tree":
        raise ValueError(
            f'`encoder` must not be "tree" with `source_output="{name}"`: its source ids are not '
            "those of words alone."
        )
    if name == "copy" and not share_embeddings:
        raise ValueError(
            '`share_embeddings` must be True with `source_output="copy"`: tokens are copied within '
            "a joint vocabulary, got False."
        )


def refuse_mixture(model, what):
    """Raise a `ValueError` if the output of a task is a mixture: its logits are not linear.

    Args:
        model: the task.
        what: string, the beginning of the error message.
    """
    name = model.backbone.source_output
    if SOURCE_OUTPUTS.get(name) == "mixture":
        raise ValueError(f'{what} a model with the `source_output` "{name}".')


def make_source_distribution(name, source_size, target_size, lexicon_selectors, dtype):
    """Create a `SourceDistribution`, or return `None` for `name=None`.

    Args:
        name: a key of `SOURCE_OUTPUTS`, or `None`.
        source_size: int, the number of source tokens.
        target_size: int, the number of target tokens.
        lexicon_selectors: list of ints, see `LexiconDistribution`.
        dtype: dtype policy.
    """
    if name is None:
        return None
    options = {"dtype": dtype, "name": "source_distribution"}
    if name == "copy":
        return CopyDistribution(target_size, **options)
    return LexiconDistribution(target_size, source_size, selectors=lexicon_selectors, **options)


def with_source(output_layer, name, dtype):
    """Return an output layer that also reads the source distribution, if there is one."""
    if name is None:
        return output_layer
    return SourceSoftmax(output_layer, SOURCE_OUTPUTS[name], dtype=dtype, name="source_softmax")
