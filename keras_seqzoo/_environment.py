"""Check of the backend; at the command line, what is set before TensorFlow is imported.

Importing this module checks the backend. The package imports it before anything else.
"""

import contextlib
import importlib
import json
import logging
import os
import pathlib
import signal
import sys
import tempfile

PACKAGE = "keras_seqzoo"
COMMAND = "seqzoo"
BACKEND = "tensorflow"


def is_command_line():
    """Return whether this process is `seqzoo` or `python -m keras_seqzoo`."""
    arguments = getattr(sys, "argv", None) or [""]
    if arguments[0] == "-m":  # until Python has imported the package
        module = sys.orig_argv[len(sys.orig_argv) - len(arguments)]
        return module.removeprefix("-m") == PACKAGE
    program = pathlib.Path(arguments[0])
    if _is_child():
        return False
    if program.name == "__main__.py":
        return program.parent.name == PACKAGE
    if program.name not in (COMMAND, f"{COMMAND}.exe"):
        return False
    with contextlib.suppress(OSError):  # the script that pip writes, not another of this name
        return f"{PACKAGE}.cli".encode() in program.read_bytes()
    return False


def _is_child():
    """Return whether `multiprocessing` started this process, with the arguments of its parent."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def keras_backend():
    """Return the backend of Keras and where it was chosen.

    Keras itself is not imported: that fails if the backend is not installed.
    """
    keras = sys.modules.get("keras")
    if hasattr(keras, "config") and hasattr(keras.config, "backend"):
        return keras.config.backend(), "the Keras that is already imported"
    if backend := os.environ.get("KERAS_BACKEND"):
        return backend, "the environment variable KERAS_BACKEND"
    home = os.path.expanduser("~")
    home = os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
    config_path = os.path.join(os.environ.get("KERAS_HOME", home), "keras.json")
    with contextlib.suppress(OSError, ValueError), open(config_path, encoding="utf-8") as file:
        return json.load(file).get("backend", BACKEND), config_path
    return BACKEND, "Keras' default"


def check_backend():
    """Check that Keras runs on TensorFlow.

    Raises:
        ImportError: if it does not; the message names the backend and where it was chosen.
    """
    backend, source = keras_backend()
    if backend != BACKEND:
        raise ImportError(
            f"{PACKAGE} runs on Keras' TensorFlow backend only, got {backend!r} from {source}. "
            "Set KERAS_BACKEND=tensorflow before Keras is first imported.",
            name=PACKAGE,
        )


def import_quietly(*modules):
    """Import modules without the messages of TensorFlow's libraries.

    The libraries write before they read their log levels, so standard error is redirected to a
    file. It is shown if an import fails. `TF_CPP_MIN_LOG_LEVEL=0` shows everything.
    """
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "0":
        return
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    try:
        standard_error = os.dup(2)
    except OSError:  # standard error is closed
        return
    with tempfile.TemporaryFile() as captured:
        failed = True
        try:
            os.dup2(captured.fileno(), 2)
            for module in modules:
                importlib.import_module(module)
            failed = False
        finally:
            os.dup2(standard_error, 2)
            os.close(standard_error)
            if failed:
                captured.seek(0)
                os.write(2, captured.read())


def keep_freed_memory():
    """Have TensorFlow keep the memory of large tensors, for the next ones.

    The C library gives it back to the operating system, which then clears each page of a new
    tensor. A process that trains makes tensors of the same sizes at every step. The user's own
    settings come first. It has no effect once TensorFlow has made a tensor, and none is needed with
    oneDNN, whose allocator keeps such memory anyway.
    """
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")
    # No limit but that of the machine: TensorFlow's own is 64 GiB.
    os.environ.setdefault("TF_CPU_BFC_MEM_LIMIT_IN_MB", str(2**30))


def _prepare():
    if not is_command_line():
        check_backend()
        return
    try:
        check_backend()
    except ImportError as error:
        print(f"{COMMAND}: error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    # Ctrl-C before the command runs ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


_prepare()
