"""The zoo: pretrained presets by name, and functions that list, save and average presets."""

from keras_seqzoo.preset_folders import list_presets, preset_path
from keras_seqzoo.zoo.averaging import average_presets
from keras_seqzoo.zoo.registration import register_presets, register_tokenizers
from keras_seqzoo.zoo.saving import save_preset

__all__ = [
    "average_presets",
    "list_presets",
    "preset_path",
    "register_presets",
    "register_tokenizers",
    "save_preset",
]
