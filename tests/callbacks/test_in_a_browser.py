"""TensorBoard, on the loopback address, and a browser that looks at what the callback wrote."""

import contextlib
import re
import subprocess
import sys

import keras
import pytest

from keras_seqzoo.callbacks import SequenceBoard
from keras_seqzoo.training import TokenVectorsReport, TranslationReport
from tests import browser
from tests.made_up import parallel_text, tiny_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.PROGRAM is None, reason="there is no Chromium"),
]

IMAGE = "individualImage"  # in the address of a picture


@contextlib.contextmanager
def serve(folder):
    """Start TensorBoard; yield its address."""
    command = ["-m", "tensorboard.main", "--logdir", str(folder), "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, *command, "--port", "0", "--load_fast", "false"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield found[0]
                break
        else:
            pytest.fail("TensorBoard has ended")
    finally:
        process.terminate()
        process.communicate()


def test_curves_pictures_texts_and_projector(tmp_path):
    keras.utils.set_random_seed(0)
    sources, references = parallel_text(8)
    model = tiny_model()
    report = TranslationReport(sources, references, samples=2)
    board = SequenceBoard(tmp_path, [report, TokenVectorsReport()], hyperparameters={"cell": "gru"})
    model.compile()
    model.fit({"encoder_text": sources, "decoder_text": references}, verbose=0, callbacks=[board])

    with serve(tmp_path) as address, browser.Browser() as page:
        page.wait_for(f"{address}/#scalars", lambda shown: "train/learning_rate" in shown["text"])
        found = page.wait_for(
            f"{address}/#images",
            lambda shown: any(width for source, width, _ in shown["pictures"] if IMAGE in source),
        )
        assert "alignments" in found["text"]
        found = page.wait_for(f"{address}/#text", lambda shown: "hypotheses" in shown["text"])
        assert sources[0] in found["text"] and references[1] in found["text"]
        tokens = model.preprocessor.tokenizer.vocabulary_size()
        page.wait_for(
            f"{address}/#projector",
            lambda shown: re.search(rf"Points: ?{tokens}\b", shown["text"]),
        )
        page.wait_for(f"{address}/#hparams", lambda shown: "gru" in shown["text"])
