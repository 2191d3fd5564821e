"""Training of a few weights beside those of a backbone, which stay as they are."""

import io

import h5py
import keras
import numpy as np

from keras_seqzoo.data.output_files import replacing

ENDING = ".lora.h5"


class LowRankAdaptation:
    """Mixin, before the KerasHub class, of backbones: low-rank updates of matrices (LoRA).

        W' = W + (alpha / rank) A B

    (Hu et al. 2022, LoRA: Low-rank adaptation of large language models), with A and B trained in
    place of W. The layers that can have it are Keras' own: embeddings, so an output layer tied to
    one too, dense layers and convolutions. Kernels of recurrent cells can not, and are frozen.
    """

    def default_lora_layer_names(self):
        """Return the names of the layers that `enable_lora` changes by default: all that can."""
        return sorted({layer.name for layer in self._adaptable_layers()})

    def enable_lora(self, rank, target_layer_names=None):
        """Freeze all weights and give layers low-rank updates, which are zero at first.

        A model that has the backbone is to be compiled anew before it is trained. Files of the
        whole model, those of `save_weights` and presets hold the sums W'. Where weights are loaded
        into a model with updates, `load_weights` takes the sums for W and begins the updates anew:
        A random, B zero. A resumed `keras_seqzoo.training.TrainingRun` has W, A and B as they were.

        Args:
            rank: int, columns of A and rows of B.
            target_layer_names: list of strings, or `None` for `default_lora_layer_names()`.

        Raises:
            ValueError: if there is no such layer, or one has an update already.
        """
        names = self.default_lora_layer_names()
        wanted = names if target_layer_names is None else list(target_layer_names)
        unknown = sorted(set(wanted) - set(names))
        if unknown or not wanted:
            raise ValueError(
                f"`target_layer_names` must be names of layers that can have a low-rank update, "
                f"{', '.join(names)}, got {', '.join(unknown) or 'none'}."
            )
        if adapted_layers(self):
            raise ValueError("`enable_lora` must be called once, but there are updates already.")
        super().enable_lora(rank, wanted)
        for layer in adapted_layers(self):
            for weight in layer.weights:
                weight.trainable = weight.name.startswith("lora_")  # not the bias

    def save_lora_weights(self, filepath):
        """Write the low-rank updates alone to a file. Where that fails, an old file stays.

        Args:
            filepath: path that ends in `.lora.h5`.

        Raises:
            ValueError: if there are none, or for another ending.
            OSError: if the file cannot be written.
        """
        layers = adapted_layers(self)
        if not layers:
            raise ValueError("`save_lora_weights` needs `enable_lora(rank)` before it.")
        if not str(filepath).endswith(ENDING):
            raise ValueError(f"`filepath` must end in {ENDING}, got {str(filepath)!r}.")
        updates = io.BytesIO()  # see `reserve` of `output_files`
        with h5py.File(updates, "w") as file:
            file.attrs["rank"] = layers[0].lora_rank
            file.attrs["layers"] = [layer.path for layer in layers]
            for layer in layers:
                for weight in _low_rank_weights(layer):
                    file[f"{layer.path}/{weight.name}"] = np.array(weight)
        with replacing(filepath) as path:
            path.write_bytes(updates.getvalue())

    def load_lora_weights(self, filepath):
        """Read low-rank updates from a file of `save_lora_weights`, and make them if need be.

        Args:
            filepath: path of the file.

        Raises:
            ValueError: if the file has updates of other layers, or of another rank.
        """
        with h5py.File(filepath) as file:
            rank, paths = int(file.attrs["rank"]), list(file.attrs["layers"])
            if not adapted_layers(self):
                self.enable_lora(rank, {path.split("/")[-1] for path in paths})
            layers = adapted_layers(self)
            own = [layer.path for layer in layers]
            if own != paths or layers[0].lora_rank != rank:
                raise ValueError(
                    f"`filepath` must have updates of rank {layers[0].lora_rank} of the layers "
                    f"{', '.join(own)}, but {str(filepath)!r} has those of rank {rank} of "
                    f"{', '.join(paths)}."
                )
            for layer in layers:
                for weight in _low_rank_weights(layer):
                    weight.assign(file[f"{layer.path}/{weight.name}"][()])

    def _adaptable_layers(self):
        layers = self._flatten_layers(include_self=False)
        return [layer for layer in layers if hasattr(layer, "enable_lora") and layer.weights]


def adapted_layers(model):
    """Return the layers of a model, a list, that have low-rank updates."""
    return [layer for layer in model._flatten_layers() if getattr(layer, "lora_enabled", False)]


def begin_updates_anew(model):
    """Make A random again where A and B are both zero: neither would have a gradient."""
    for layer in adapted_layers(model):
        weights = _low_rank_weights(layer)
        if not any(np.any(weight) for weight in weights):
            first = weights[0]
            first.assign(keras.initializers.HeUniform()(first.shape, first.dtype))


def _low_rank_weights(layer):
    return [weight for weight in layer.weights if weight.name.startswith("lora_")]
