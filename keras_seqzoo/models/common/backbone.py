"""Base class of the zoo's backbones."""

from keras_seqzoo.models.common.low_rank_adaptation import LowRankAdaptation
from keras_seqzoo.models.common.reloadable_model import ReloadableModel
from keras_seqzoo.zoo.names import preset_address


class SequenceBackbone(LowRankAdaptation, ReloadableModel):
    """Mixin, before `keras_hub.models.Backbone`: presets by name, LoRA and quantization."""

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a backbone from a preset; see `SequenceTask.from_preset`."""
        return super().from_preset(preset_address(preset), load_weights=load_weights, **kwargs)
