"""Base class and building blocks of the zoo's backbones."""

import keras
import keras_hub

from keras_seqzoo.layers import GRU, LSTM, Elman
from keras_seqzoo.models.common.low_rank_adaptation import LowRankAdaptation
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.preset_folders import preset_address

CELLS = {"elman": Elman, "gru": GRU, "lstm": LSTM}


def check_layer_normalization(layer_normalization, *cells):
    """Raise a `ValueError` for layer normalization of a cell that does not have it.

    Args:
        layer_normalization: bool.
        *cells: names of cells.
    """
    if layer_normalization and "elman" in cells:
        raise ValueError('`layer_normalization` must be False with the cell "elman", got True.')


def make_recurrent_layer(cell, units, *, layer_normalization=False, **kwargs):
    """Return the recurrent layer of a name.

    Args:
        cell: a name of `CELLS`.
        units: int.
        layer_normalization: bool, see `LSTMCell`; only for a cell that has it.
        **kwargs: arguments of `Recurrent`.
    """
    if layer_normalization:
        kwargs["layer_normalization"] = True
    return CELLS[cell](units, **kwargs)


class SequenceBackbone(LowRankAdaptation, ReloadableModel, keras_hub.models.Backbone):
    """Base class for backbones: presets by name, LoRA, quantization and configuration."""

    def _set_arguments(self, **arguments):
        """Set constructor arguments as attributes that `get_config` returns."""
        self._argument_names = tuple(arguments)
        for name, value in arguments.items():
            setattr(self, name, value)

    def get_config(self):
        """Return every constructor argument."""
        arguments = {name: getattr(self, name) for name in self._argument_names}
        return {**super().get_config(), **arguments}

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a backbone from a preset; see `SequenceTask.from_preset`."""
        return super().from_preset(preset_address(preset), load_weights=load_weights, **kwargs)


def token_embedding(vocabulary_size, dim, dtype, name="token_embedding"):
    """Create a token embedding with small initial values, so that a softmax can share its matrix.

    Layers that read the embedded tokens may scale them up.
    """
    initializer = keras.initializers.RandomNormal(stddev=dim**-0.5)
    return keras.layers.Embedding(vocabulary_size, dim, initializer, dtype=dtype, name=name)


def token_inputs(prefix=""):
    """Create inputs for token ids and their mask, a dict, each `(batch, length)`."""
    return {
        f"{prefix}{name}": keras.Input((None,), dtype=dtype, name=f"{prefix}{name}")
        for name, dtype in (("token_ids", "int32"), ("padding_mask", "bool"))
    }
