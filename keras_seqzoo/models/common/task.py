"""Base class of the zoo's tasks."""

import math
import warnings

import keras
import numpy as np
import tensorflow as tf

from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.preset_folders import preset_address


def _rows(data):
    """Return a dataset of the rows of `(x, y, sample_weight)`.

    `None` if a part is no list, array or dict of them, or a list of lists of different lengths.
    """
    parts = keras.utils.unpack_x_y_sample_weight(data)
    if not all(map(_is_array, parts)):
        return None
    try:
        packed = keras.utils.pack_x_y_sample_weight(*map(_as_array, parts))
        return tf.data.Dataset.from_tensor_slices(packed)
    except (TypeError, ValueError):
        return None


def _is_array(part):
    if isinstance(part, dict):
        return all(map(_is_array, part.values()))
    return part is None or isinstance(part, (list, tuple)) or hasattr(part, "__array__")


def _as_array(part):
    """Return what TensorFlow slices: tuples as lists, arrays of other libraries as NumPy's."""
    if isinstance(part, dict):
        return {name: _as_array(field) for name, field in part.items()}
    if isinstance(part, tuple):
        return list(part)
    is_foreign = hasattr(part, "__array__") and not isinstance(part, (tf.Tensor, tf.RaggedTensor))
    return np.asarray(part) if is_foreign else part


def _check_lengths(**parts):
    """Raise `ValueError` if parts, lists, arrays or dicts of them, have other numbers of rows."""
    sizes = {}
    for name, part in parts.items():
        fields = part if isinstance(part, dict) else {"": part}
        for field, rows in fields.items():
            if hasattr(rows, "__len__") and not isinstance(rows, (str, bytes)):
                sizes[f"`{name}`" + (f"[{field!r}]" if field else "")] = len(rows)
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ValueError(f"the parts of the data must have the same number of rows, got {got}.")


def _split(rows, fraction):
    """Return the first rows, and the last ones, which are the fraction to validate on."""
    count = math.floor(len(rows) * (1.0 - fraction))
    if not 0 < count < len(rows):
        raise ValueError(
            f"`validation_split` must leave rows to train and to validate on, got {fraction!r} of "
            f"{len(rows)} rows."
        )
    return rows.take(count), rows.skip(count)


class SequenceTask(ReloadableModel):
    """Mixin, before the KerasHub task: presets by name, and inputs as strings or ids.

    With a preprocessor, `fit`, `evaluate` and `predict` take strings, which the preprocessor turns
    into ids. They also take batches that already hold the inputs of the backbone, such as those of
    `keras_seqzoo.data.translation_batches`, `labelled_batches`, `tagged_batches` and
    `stream_batches`; these are used as they are, with their labels and weights.
    """

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a model from a preset. No code in the preset's files is run.

        Args:
            preset: a name (see `keras_seqzoo.list_presets`), the path of a preset's folder, or any
                address that KerasHub takes, such as `hf://...`.
            load_weights: bool, whether to load the weights or leave the model untrained.
            **kwargs: arguments of the constructor that replace the saved ones, and `dtype`.

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
        """Load the weights outside of the backbone from a `.weights.h5` file."""
        with warnings.catch_warnings():
            # Keras looks for the optimizer's state too; presets have none.
            warnings.filterwarnings("ignore", "Skipping variable loading for optimizer")
            super().load_task_weights(filepath)

    def fit(self, x=None, y=None, batch_size=None, sample_weight=None, *, shuffle=True, **kwargs):
        """Train the model; see `keras.Model.fit`. Distributed datasets must hold ids.

        Rows are shuffled anew in each epoch, unless `shuffle` is false. A dataset keeps its order.
        """
        if isinstance(x, tf.distribute.DistributedDataset):  # KerasHub cannot map them
            kwargs["sample_weight"] = sample_weight
            return keras.Model.fit(self, x, y, batch_size, shuffle=False, **kwargs)
        if self.preprocessor is not None and not isinstance(x, tf.data.Dataset):
            _check_lengths(x=x, y=y, sample_weight=sample_weight)
            if y is None and sample_weight is not None:
                raise ValueError("`sample_weight` must be None without `y`, got weights.")
            # KerasHub would keep the order of the rows.
            rows = _rows((x, y, sample_weight))
            if rows is not None:
                size, split = batch_size or 32, kwargs.pop("validation_split", None)
                validation = kwargs.get("validation_data")
                if validation is None and split:
                    rows, held_out = _split(rows, split)
                    kwargs["validation_data"] = held_out.batch(size)
                elif validation is not None and (other := _rows(validation)) is not None:
                    kwargs["validation_data"] = other.batch(size)
                x = (rows.shuffle(len(rows)) if shuffle else rows).batch(size)
                y = batch_size = sample_weight = None
        if isinstance(x, tf.data.Dataset):
            x, shuffle = self._training_batches(x), False
        return super().fit(x, y, batch_size, sample_weight, shuffle=shuffle, **kwargs)

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
