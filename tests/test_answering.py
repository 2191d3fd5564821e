import pytest

from tests.answering import AnsweringProcess


def test_a_process_that_has_ended_says_why(tmp_path):
    script = tmp_path / "script.py"
    script.write_text('print(input().upper(), flush=True)\nraise ImportError("no such library")\n')
    process = AnsweringProcess(script)
    assert process.ask("question") == "QUESTION"
    for _ in range(2):
        with pytest.raises(AssertionError, match="ended with 1:\n(.*\n)*ImportError: no such"):
            process.ask("another")
