"""Low-rank adaptation (LoRA) of backbones."""

import io

import h5py
import keras
import numpy as np

from keras_seqzoo._compat import flatten_layers
from keras_seqzoo.checks import check_integer
from keras_seqzoo.data.output_files import replacing

ENDING = ".lora.h5"


class LowRankAdaptation:
    """Mixin, before the KerasHub class, for low-rank updates of a backbone's matrices (LoRA).

        W' = W + (alpha / rank) A B

    (Hu et al. 2022, LoRA: Low-rank adaptation of large language models). A and B are trained
    instead of W. Only Keras' own layers can have updates: embeddings (and with them a tied output
    layer), dense layers and convolutions. Kernels of recurrent cells are frozen.
    """

    def default_lora_layer_names(self):
        """Return the names of all layers that can have low-rank updates."""
        layers = flatten_layers(self, include_self=False)
        return sorted({x.name for x in layers if hasattr(x, "enable_lora") and x.weights})

    def enable_lora(self, rank, target_layer_names=None):
        """Freeze all weights and add low-rank updates to layers, initially zero.

        The kernels of recurrent cells get no update. Compile the model of the backbone again before
        training, even if it was fitted before. `.keras` files, `save_weights` and presets store the
        sums W'. `load_weights` into a model with updates loads the sums into W and initializes the
        updates again, A at random and B to zero. A resumed `keras_seqzoo.training.TrainingRun`
        restores W, A and B.

        Args:
            rank: int, number of columns of A and rows of B.
            target_layer_names: list of strings, or `None` for `default_lora_layer_names()`.

        Raises:
            ValueError: if `rank` is below 1, a name does not belong to a layer that can have an
                update, or updates exist already.
        """
        check_integer("rank", rank, minimum=1)
        names = self.default_lora_layer_names()
        targets = names if target_layer_names is None else list(target_layer_names)
        unknown = sorted(set(targets) - set(names))
        if unknown or not targets:
            raise ValueError(
                f"`target_layer_names` must be names of layers that can have a low-rank update, "
                f"{', '.join(names)}, got {', '.join(unknown) or 'none'}."
            )
        if adapted_layers(self):
            raise ValueError("`enable_lora` must be called once, got a second call.")
        super().enable_lora(rank, targets)
        for layer in adapted_layers(self):
            for weight in layer.weights:
                weight.trainable = weight.name.startswith("lora_")  # not the bias

    def save_lora_weights(self, filepath):
        """Write only the low-rank updates to a file. If this fails, an existing file is kept.

        Args:
            filepath: path that ends in `.lora.h5`.

        Raises:
            ValueError: if there are no updates, or `filepath` has another ending.
            OSError: if the file cannot be written.
        """
        layers = adapted_layers(self)
        if not layers:
            raise ValueError("`save_lora_weights` must be called after `enable_lora`.")
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
        """Load low-rank updates from a file of `save_lora_weights`; enable them first if needed.

        Args:
            filepath: path of the file.

        Raises:
            ValueError: if the updates in the file have other layers or another rank.
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
                    f"{', '.join(own)}, got rank {rank} of {', '.join(paths)} in "
                    f"{str(filepath)!r}."
                )
            for layer in layers:
                for weight in _low_rank_weights(layer):
                    weight.assign(file[f"{layer.path}/{weight.name}"][()])


def adapted_layers(model):
    """Return a list of the layers of a model that have low-rank updates."""
    return [layer for layer in flatten_layers(model) if getattr(layer, "lora_enabled", False)]


def reinitialize_updates(model):
    """Set A to random values where A and B are both zero: neither would have a gradient."""
    for layer in adapted_layers(model):
        weights = _low_rank_weights(layer)
        if not any(np.any(weight) for weight in weights):
            first = weights[0]
            first.assign(keras.initializers.HeUniform()(first.shape, first.dtype))


def _low_rank_weights(layer):
    return [weight for weight in layer.weights if weight.name.startswith("lora_")]
