"""Preset names in `from_preset`."""

import os
import warnings

from keras_seqzoo.zoo.names import preset_path


class NamedPresets:
    """Mixin for KerasHub backbones: `from_preset` finds the presets of this package.

    It stands before the KerasHub class among the bases. An unknown name is an error that gives the
    names that are near, before KerasHub looks anywhere else; addresses such as `hf://...` are left
    to KerasHub.
    """

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a model from a preset. No code in the preset's files is run.

        Args:
            preset: a name (see `keras_seqzoo.list_presets`), the path of a preset's folder, or any
                address that KerasHub takes.
            load_weights: bool, whether to load the weights or leave the model untrained.
            **kwargs: arguments of the constructor that replace the saved ones, and `dtype`.

        Returns:
            The model.

        Raises:
            ValueError: if there is no such preset, or it holds another kind of model.
        """
        preset = os.fspath(preset) if isinstance(preset, os.PathLike) else preset
        if not (isinstance(preset, str) and "://" in preset):
            preset = str(preset_path(preset))
        return super().from_preset(preset, load_weights=load_weights, **kwargs)


class NamedTaskPresets(NamedPresets):
    """Mixin for KerasHub tasks: `NamedPresets`, and no complaint about a preset's optimizer."""

    def load_task_weights(self, filepath):
        """Load the weights that are not in the backbone, from a `.weights.h5` file."""
        with warnings.catch_warnings():
            # Keras would load an optimizer's state too; presets have none.
            warnings.filterwarnings("ignore", "Skipping variable loading for optimizer")
            super().load_task_weights(filepath)
