"""Registration of the presets with KerasHub."""

import logging

import keras
import keras_hub

from keras_seqzoo._compat import register_hub_presets
from keras_seqzoo.preset_folders import (
    CONFIG_FILE,
    preset_folders,
    read_json_object,
    read_metadata,
)


def register_tokenizers(backbone_classes):
    """Let `keras_hub.tokenizers.Tokenizer.from_preset` load the tokenizers of presets.

    KerasHub looks for a tokenizer class of the preset's backbone, but this package's tokenizers
    work with any backbone. So each backbone gets a class that is only there to be found: the
    tokenizer's own file names the class to create.

    Args:
        backbone_classes: list of KerasHub backbones.
    """
    for backbone_cls in backbone_classes:
        name = f"{backbone_cls.__name__}Tokenizer"
        stand_in = type(name, (keras_hub.tokenizers.Tokenizer,), {"backbone_cls": backbone_cls})
        keras.saving.register_keras_serializable("keras_seqzoo")(stand_in)


def register_presets():
    """Register the presets with KerasHub, so that KerasHub's own classes find them too.

    `keras_hub.models.Seq2SeqLM.from_preset(name)` and `RecurrentSeq2SeqLM.presets` then work. The
    backbone classes must have been imported.
    """
    for name, folder in preset_folders().items():
        try:
            config = read_json_object(folder / CONFIG_FILE)
            metadata = read_metadata(folder)
        except (OSError, ValueError) as error:
            # One damaged preset must not make the package unusable.
            logging.getLogger(__name__).warning("The preset %r is damaged: %s", name, error)
            continue
        backbone_cls = keras.saving.get_registered_object(config.get("registered_name"))
        if backbone_cls is not None:
            preset = {"metadata": metadata, "kaggle_handle": str(folder)}
            register_hub_presets({name: preset}, backbone_cls)
