"""The JSON of the double of the model server."""

import json

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tests.serving.model_server.errors import ServingError
from tests.serving.model_server.json_tensors import error_body, inputs_of, outputs_body, parsed


def signature(**dtypes):
    made = meta_graph_pb2.SignatureDef()
    for name, dtype in dtypes.items():
        made.inputs[name].dtype = tf.as_dtype(dtype).as_datatype_enum
    return made


def read(body, **dtypes):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    inputs, layout = inputs_of(parsed(body), signature(**dtypes))
    return {name: array.tolist() for name, array in inputs.items()}, layout


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"instances": ["a", "é"]}, [b"a", "é".encode()]),
        ({"instances": [{"b64": "/wA="}, "\0"]}, [b"\xff\0", b"\0"]),
        ({"instances": [{"b64": "/wA"}]}, [b"\xff\0"]),
        ({"instances": [{"text": "a"}, {"text": {"b64": ""}}]}, [b"a", b""]),
        ({"inputs": []}, []),
        ({"inputs": {"b64": "YQ=="}}, b"a"),
        ({"inputs": {"text": [["a"], ["b"]]}}, [[b"a"], [b"b"]]),
        (b'\xef\xbb\xbf {"inputs": ["\xff\xf0\x9f\x98\x80"]} trailing', [b"\xff\xf0\x9f\x98\x80"]),
        (b'{"inputs": ["\\ud83d\\ude00"]}', ["😀".encode()]),
    ],
)
def test_strings(body, expected):
    inputs, _ = read(body, text="string")
    assert inputs == {"text": expected}


def test_several_inputs():
    rows = {"instances": [{"ids": [1, 2], "lengths": 2}, {"ids": [3, 4], "lengths": 1}]}
    columns = {"inputs": {"ids": [[1, 2], [3, 4]], "lengths": [2, 1]}}
    expected = {"ids": [[1, 2], [3, 4]], "lengths": [2, 1]}
    assert read(rows, ids="int32", lengths="int32") == (expected, "instances")
    assert read(columns, ids="int32", lengths="int32") == (expected, "inputs")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The document is empty"),
        (b"{", "JSON Parse error"),
        (b"[" * 100_000, "JSON Parse error"),
        ([], "Is not object"),
        ({}, "Missing 'inputs' or 'instances' key"),
        ({"inputs": [], "instances": []}, "expecting only one of"),
        ({"instances": []}, "No values in 'instances' array"),
        ({"instances": "a"}, "Expecting 'instances' to be an list/array"),
        ({"instances": ["a", ["b"]]}, "Expecting shape [] but got: [1]"),
        ({"instances": [["a"], ["b", "c"]]}, "Expecting tensor size: 1 but got: 2"),
        ({"instances": ["a", 1]}, "element: 1 of 'instances' list. Error: INVALID_ARGUMENT: JSON"),
        ({"instances": [None]}, "Type: Null is not of expected type: string"),
        ({"instances": [{"words": "a"}]}, "does not have named input: words"),
        ({"instances": [{"text": "a"}, "b"]}, "Expecting object but got list at item 1"),
        ({"instances": [{"b64": "a*"}]}, "Unable to base64 decode"),
        ({"inputs": {}}, "Missing named input: text in 'inputs' object."),
        ({"inputs": [["a"], "b"]}, "found at incorrect level: 2"),
        ({"inputs": [["a"], ["b", "c"]]}, "list at unexpected size: 2 at level: 1"),
        ({"signature_name": 1, "inputs": []}, "'signature_name' key must be a string"),
        (b'{"inputs": ["\\ud83d"]}', "The surrogate pair in string is invalid"),
    ],
)
def test_errors(body, message):
    with pytest.raises(ServingError) as caught:
        read(body, text="string")
    assert caught.value.code.name == "INVALID_ARGUMENT"
    assert message in caught.value.message
    assert json.loads(error_body(caught.value.message))["error"] == caught.value.message


@pytest.mark.parametrize("value", [1.0, True, "1", 2**31, None])
def test_what_is_no_integer(value):
    with pytest.raises(ServingError, match="is not of expected type: int32"):
        read({"instances": [value]}, ids="int32")


def test_nested_too_deeply():
    deep = b'{"inputs": ' + b"[" * 900 + b"]" * 900 + b"}"
    with pytest.raises(ServingError):
        read(deep, text="string")


def written(layout="instances", **outputs):
    body = outputs_body({name: np.array(value) for name, value in outputs.items()}, layout)
    return json.loads(body.decode())


def test_one_output_is_bare():
    assert written(label=np.array([b"a", b"b\0"], object)) == {"predictions": ["a", "b\0"]}
    assert written("inputs", x=[[1, 2]]) == {"outputs": [[1, 2]]}
    assert written("inputs", x=np.empty((0, 3), "int32")) == {"outputs": []}


def test_several_outputs_are_objects():
    outputs = {"x": [[1, 2], [3, 4]], "known": [True, False]}
    assert written(**outputs) == {
        "predictions": [{"x": [1, 2], "known": True}, {"x": [3, 4], "known": False}]
    }
    assert written("inputs", **outputs) == {"outputs": outputs}


def test_bytes():
    named = np.array([b"\xff"], object)
    assert written(image_bytes=named) == {"predictions": [{"b64": "/w=="}]}
    assert outputs_body({"image": named}, "inputs") == b'{\n    "outputs": ["\xff"]\n}'


def test_decimals():
    values = np.array([0.1, 3, 1e6, 1 / 3, np.nan, np.inf, -np.inf, 1e-5], "float32")
    text = outputs_body({"x": values}, "inputs").decode()
    assert (
        text
        == '{\n    "outputs": [0.1, 3.0, 1e+06, 0.333333343, NaN, Infinity, -Infinity, 1e-05]\n}'
    )


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"x": 1}, "has no shape information"),
        ({"x": [1], "y": [1, 2]}, "Tensor name: y has inconsistent batch size: 2 expecting: 1"),
    ],
)
def test_outputs_that_are_no_rows(outputs, message):
    with pytest.raises(ServingError, match=message):
        written(**outputs)
