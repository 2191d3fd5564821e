"""Subword regularization as an option of translation training."""

import functools

from keras_seqzoo.tokenizers import BytePairTokenizer, UnigramTokenizer
from keras_seqzoo.training.objectives import ObjectiveOptions
from keras_seqzoo.training.options import option, options, rate_option

TOKENIZERS = {"subword_dropout": BytePairTokenizer, "subword_alpha": UnigramTokenizer}


@options
class SubwordOptions(ObjectiveOptions):
    """Options of trainings that may draw segmentations."""

    subword_dropout: float = rate_option(
        0.0,
        "With byte-pair tokenizers: probability of skipping a merge (BPE-dropout). Each text is "
        "then segmented anew in each epoch, in training only; 0 always gives one segmentation.",
        recorded=True,
        panel="Training",
    )
    subword_alpha: float | None = option(
        None,
        "With unigram tokenizers: draw new segmentations in each epoch, in training only, in "
        "proportion to their probability to this power, such as 0.2. By default the best one is "
        "taken.",
        above=0,
        recorded=True,
        panel="Training",
    )


def make_redraw(run):
    """Return the `redraw` of `bucketed_batches` for a run that has `SubwordOptions`, or `None`.

    Raises:
        ValueError: if an option is given that a tokenizer of the model does not take.
    """
    preprocessor = run.model.preprocessor
    for name, tokenizer_class in TOKENIZERS.items():
        rate = getattr(run, name)
        if not rate:
            continue
        for tokenizer in (preprocessor.encoder_tokenizer, preprocessor.tokenizer):
            if not isinstance(tokenizer, tokenizer_class):
                raise ValueError(
                    f"`{name}` must only be given with a {tokenizer_class.__name__} on both sides, "
                    f"got a {type(tokenizer).__name__}."
                )
        return functools.partial(preprocessor.redraw_pairs, rate=rate)
    return None
