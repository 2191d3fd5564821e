"""Tensors of requests and responses: protos to arrays and back, as the server reads and writes."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from tests.serving.model_server.errors import invalid

MOST_BYTES = 2**30  # of a tensor that a proto describes; it may be long and say little
FIELDS = {
    types_pb2.DT_FLOAT: "float_val",
    types_pb2.DT_DOUBLE: "double_val",
    types_pb2.DT_INT64: "int64_val",
    types_pb2.DT_BOOL: "bool_val",
    types_pb2.DT_STRING: "string_val",
    types_pb2.DT_UINT32: "uint32_val",
    types_pb2.DT_UINT64: "uint64_val",
}
SMALL = (types_pb2.DT_INT32, types_pb2.DT_INT16, types_pb2.DT_INT8, types_pb2.DT_UINT8)
FIELDS.update(dict.fromkeys(SMALL, "int_val"))


def array_of(proto, alias):
    """Reads a tensor of a request."""
    sizes = [dimension.size for dimension in proto.tensor_shape.dim]
    try:
        width = tf.as_dtype(proto.dtype).size or 1
        known = not proto.tensor_shape.unknown_rank and min(sizes, default=0) >= 0
        if known and width * math.prod(sizes) <= MOST_BYTES:
            return tf.make_ndarray(proto)
    except (TypeError, ValueError):
        pass
    raise invalid(f"tensor parsing error: {alias}")


def proto_of(array):
    """Writes a tensor of a response into the field of its dtype."""
    dtype = tf.as_dtype(array.dtype).as_datatype_enum
    if dtype not in FIELDS:
        return tf.make_tensor_proto(array)
    proto = tensor_pb2.TensorProto(dtype=dtype, tensor_shape=tf.TensorShape(array.shape).as_proto())
    getattr(proto, FIELDS[dtype]).extend(np.ravel(array).tolist())
    return proto
