"""What a log folder holds, as TensorBoard reads it."""

import io

import matplotlib.image
import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def read(folder):
    """Read a folder; return a dict from names to lists of steps and values, in order of writing."""
    events = EventAccumulator(str(folder), {"tensors": 0}).Reload()
    found = {}
    for name in events.Tags()["tensors"]:
        kind = events.SummaryMetadata(name).plugin_data.plugin_name
        found[name] = [
            (event.step, _value(kind, tf.make_ndarray(event.tensor_proto)))
            for event in sorted(events.Tensors(name), key=lambda event: event.wall_time)
        ]
    return found


def values(folder, name):
    """Return the values of one name."""
    return [value for _, value in read(folder)[name]]


def _value(kind, array):
    if kind == "scalars":
        return float(array)
    if kind == "text":
        return np.vectorize(bytes.decode, otypes=[object])(array)
    if kind == "images":  # width, height and PNGs
        return [matplotlib.image.imread(io.BytesIO(png), "png") for png in array[2:]]
    return array
