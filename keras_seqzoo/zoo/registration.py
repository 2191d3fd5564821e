"""Making KerasHub know the presets by name."""

import json
import logging

import keras
import keras_hub

from keras_seqzoo.zoo.names import CONFIG_FILE, preset_folders, read_metadata


def register_tokenizers(backbone_classes):
    """Let `keras_hub.tokenizers.Tokenizer.from_preset` load the tokenizers of presets.

    It looks for a class of tokenizers by the backbone of the preset, and ours serve any backbone.
    Of the one that it finds it needs no more: it makes what the tokenizer's file describes.

    Args:
        backbone_classes: list of KerasHub backbones.
    """
    for backbone_cls in backbone_classes:
        name = f"{backbone_cls.__name__}Tokenizer"
        stand_in = type(name, (keras_hub.tokenizers.Tokenizer,), {"backbone_cls": backbone_cls})
        keras.saving.register_keras_serializable("keras_seqzoo")(stand_in)


def register_presets():
    """Tell KerasHub the names of the presets, so that its own classes find them too.

    `keras_hub.models.Seq2SeqLM.from_preset(name)` and `RecurrentSeq2SeqLM.presets` then work. The
    backbones' classes must have been imported. KerasHub's registry is private: where it has moved,
    nothing happens here, and the names work with our classes alone (see `preset_address`).
    """
    try:
        from keras_hub.src.utils.preset_utils import register_presets as register
    except ImportError:
        return
    for name, folder in preset_folders().items():
        try:
            config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
            metadata = read_metadata(folder)
        except (OSError, ValueError) as error:
            # One damaged preset must not make the package unusable.
            logging.getLogger(__name__).warning("The preset %r is damaged: %s", name, error)
            continue
        backbone_cls = keras.saving.get_registered_object(config.get("registered_name"))
        if backbone_cls is not None:
            preset = {"metadata": metadata, "kaggle_handle": str(folder)}
            register({name: preset}, backbone_cls)
