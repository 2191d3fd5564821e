"""A test double of TensorFlow Serving's model server: it is not that server.

The binary of TensorFlow Serving cannot be had where these tests run. This package speaks its
protocols, the protos of `tensorflow-serving-api` on gRPC and its REST API, over TensorFlow's own
runtime, with neither Keras nor this repository's package importable, so that what is served and
what asks can be tested against what the server does. Codes and messages are those of the server,
but for what is named below.

    python -m tests.serving.model_server --model en_fr=exported/en_fr

prints a line of JSON, `{"grpc": port, "rest": port}`, when every model is loaded, serves until
SIGTERM, then finishes what it has begun. It does:

- gRPC: Predict, GetModelMetadata, GetModelStatus, health checking. Deadlines stop what runs.
- REST: predict in rows and columns, metadata, status.
- Warm-up requests before a version is available; through the batching, as there.
- Batching of `--batching-parameters-file`: merge, pad, split, and what is refused.
- The version policy "latest": a new number is loaded beside the old one, which is dropped when its
  requests are done. A version that cannot be loaded is tried again a few times.

It does not: classify, regress, MultiInference, SessionRun and streams, reloading the configuration,
models.config, other version policies, labels (every label is unknown), in-graph and per-model
batching, splitting of large batches, allowed batch sizes, TLS, compression, chunked requests,
metrics, quotas, remote file systems. It ends where the first version of a model cannot be loaded.
Other differences:

- With batching, a request of no rows runs after the timeout; there it waits for one with rows.
- A request above the limit of gRPC's threads is refused with the message of gRPC in Python,
  "Concurrent RPC limit exceeded!", not "Server Threadpool Exhausted".
- REST: predictions have no limit of 30 s. PUT, DELETE and paths that are none of the API are
  answered in other words.
- SIGTERM lets requests end; there it cuts them. The health service is always on.
- Loading is tried again after 1 s, not 1 min, and each model has its own watcher, so that one that
  fails does not hold the others.
- The `method_name` of a signature is always checked.

Loading runs through TensorFlow's Python loader, requests through the C++ session. Its speed is that
of Python around the session: latencies have its overhead, and only ratios carry over.
"""
