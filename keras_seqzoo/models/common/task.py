"""Base class of the zoo's tasks."""

import warnings

import keras
import tensorflow as tf

from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.models.common.rows import (
    check_lengths,
    rows_of,
    split_rows,
    spread_strings,
    validation_batches,
)
from keras_seqzoo.preset_folders import preset_address


class SequenceTask(ReloadableModel):
    """Mixin, before the KerasHub task: presets by name, and inputs as strings or ids.

    With a preprocessor, `fit`, `evaluate` and `predict` take strings, which the preprocessor turns
    into ids. They also take batches that already hold the inputs of the backbone, such as those of
    `keras_seqzoo.data.translation_batches`, `labelled_batches`, `tagged_batches` and
    `stream_batches`. These are used unchanged, with their labels and weights.
    """

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a model from a preset. No code in the preset's files is run.

        Args:
            preset: a name (see `keras_seqzoo.list_presets`), the path of a preset's folder, or any
                address that KerasHub takes, such as `hf://...`.
            load_weights: bool, whether to load the weights or leave the model untrained.
            **kwargs: arguments of the constructor that replace the saved ones, and `dtype`. Use
                `backbone` for a backbone with other arguments, such as `dropout`.

        Returns:
            The model.

        Raises:
            ValueError: if there is no such preset (the error lists similar names), or it holds
                another kind of model.
        """
        address = preset_address(preset)
        try:
            return super().from_preset(address, load_weights=load_weights, **kwargs)
        except ValueError as error:
            if "Unable to find a subclass" not in str(error):  # KerasHub's words
                raise
            raise ValueError(
                f"`preset` must hold a {cls.__name__} or its backbone, got {preset!r}."
            ) from error

    def load_task_weights(self, filepath):
        """Load the weights outside the backbone from a `.weights.h5` file."""
        with warnings.catch_warnings():
            # Keras also looks for the optimizer's state; presets have none.
            warnings.filterwarnings("ignore", "Skipping variable loading for optimizer")
            super().load_task_weights(filepath)

    def fit(self, x=None, y=None, batch_size=None, sample_weight=None, *, shuffle=True, **kwargs):
        """Train the model; see `keras.Model.fit`. Distributed datasets must hold ids.

        Rows are shuffled anew in each epoch, unless `shuffle` is false. A dataset keeps its order.
        """
        if isinstance(x, tf.distribute.DistributedDataset):  # KerasHub cannot map them
            kwargs["sample_weight"] = sample_weight
            return keras.Model.fit(self, x, y, batch_size, shuffle=False, **kwargs)
        if self._preprocesses(x):
            x = _checked_rows(x, y, sample_weight)
            # KerasHub would keep the order of the rows.
            rows = rows_of((x, y, sample_weight))
            if rows is not None:
                size, split = batch_size or 32, kwargs.pop("validation_split", None)
                if kwargs.get("validation_data") is not None:
                    kwargs["validation_data"] = validation_batches(kwargs["validation_data"], size)
                elif split:
                    rows, held_out = split_rows(rows, split)
                    kwargs["validation_data"] = held_out.batch(size)
                x = (rows.shuffle(len(rows)) if shuffle else rows).batch(size)
                y = batch_size = sample_weight = None
        if isinstance(x, tf.data.Dataset):
            x, shuffle = self._training_batches(x), False
        return super().fit(x, y, batch_size, sample_weight, shuffle=shuffle, **kwargs)

    def evaluate(self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs):
        """Compute the loss and metrics; see `keras.Model.evaluate`. The data are as for `fit`."""
        if self._preprocesses(x):
            x = _checked_rows(x, y, sample_weight)
        return super().evaluate(x, y, batch_size, sample_weight, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Compute the outputs of the model; see `keras.Model.predict`."""
        if self._preprocesses(x):
            x = _checked_rows(x)
        return super().predict(x, *args, **kwargs)

    def _preprocesses(self, x):
        """Return whether `x` are rows that a preprocessor turns into ids."""
        return self.preprocessor is not None and not isinstance(x, tf.data.Dataset)

    def _training_batches(self, batches):
        """Return a dataset of batches as `fit` preprocesses it."""
        return batches

    # AutoGraph has nothing to convert here and would hide the plain error.
    @tf.autograph.experimental.do_not_convert
    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Turn a batch of strings into ids; see `keras_hub.models.Task.preprocess_samples`."""
        if isinstance(x, dict) and not self.backbone.input.keys().isdisjoint(x):
            if tf.is_tensor(y) and y.dtype == tf.string:
                raise ValueError("`y` must hold ids where `x` does, got strings.")
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)


def check_vocabulary(backbone, name, tokenizer):
    """Raise `ValueError` if a tokenizer has more tokens than a backbone.

    Args:
        backbone: the backbone.
        name: string, its attribute with the number of tokens, which a user's own need not have.
        tokenizer: the tokenizer. One that is being loaded from a file gets its tokens later.
    """
    size = getattr(backbone, name, None)
    if size is None or not tokenizer.has_vocabulary:
        return
    if (tokens := tokenizer.vocabulary_size()) > size:
        raise ValueError(
            f"`backbone` must have a `{name}` of at least {tokens}, the number of tokens of the "
            f"preprocessor's tokenizer, got {size}."
        )


def _checked_rows(x, y=None, sample_weight=None):
    """Return `x` with a value in each row, or raise `ValueError` if the parts do not fit."""
    check_lengths(x=x, y=y, sample_weight=sample_weight)
    if y is None and sample_weight is not None:
        raise ValueError("`sample_weight` must be None without `y`, got weights.")
    return spread_strings(x)
