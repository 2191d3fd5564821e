"""How many examples a property test runs."""

import hypothesis

FIXED = 20  # the same in each run of the quick tier; the random tier draws many others


def examples(number):
    """Settings of a property test of `number` random examples, and of at most 20 fixed ones."""
    if hypothesis.settings.get_current_profile_name() == "fixed":
        number = min(number, FIXED)
    return hypothesis.settings(max_examples=number)
