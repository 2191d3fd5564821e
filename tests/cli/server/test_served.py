"""`translate`, `classify`, `tag`, `score`, `generate` and `similar` with --server."""

import pytest

from keras_seqzoo.cli import lines
from keras_seqzoo.serving.client import retries
from tests.serving.client import toy
from tests.serving.client.fake_server import Fault, running

LONG = "a line that is longer than it may be"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(retries, "LAST_DELAY", 0.01)


@pytest.fixture(scope="module")
def servers():
    toys = {
        "translate": toy.SIGNATURES,
        "multilingual": toy.MULTILINGUAL,
        "classify": toy.CLASSIFIER,
        "tag": toy.TAGGER,
        "generate": toy.LANGUAGE_MODEL,
        "score": toy.LANGUAGE_MODEL,
    }
    with running(toys) as servers:
        yield servers


@pytest.fixture(params=["grpc", "rest"])
def ask(request, seqzoo, servers):
    """Run a command with its server, or another one's."""

    def ask(command, *arguments, server=None, stdin=b""):
        address = servers[server or command].address(request.param)
        rest = ["--rest"] if request.param == "rest" else []
        to = ["--server", address, "--model", "toy", *rest]
        return seqzoo(command, *to, *arguments, stdin=stdin)

    return ask


def test_translate(ask):
    assert ask("translate", "a dog", "") == (0, "A DOG\n\n", "")
    assert ask("translate", "--scores", "a dog") == (0, "A DOG\t-2.5000\n", "")
    ranked = ask("translate", "--n-best", 2, "--scores", "a dog", "")
    assert ranked == (0, "1\t1\tA DOG\t-1.0000\n1\t2\tA Dog\t-2.0000\n2\t1\t\t0.0000\n", "")
    consensus = ask("translate", "--n-best", 2, "--minimum-bayes-risk", "chrf", "a dog", "")
    assert (consensus.status, len(consensus.output.split("\n"))) == (0, 3)


def test_translate_into_a_language(ask):
    found = ask("translate", "--to", "de", "a dog", "cat", server="multilingual")
    assert found == (0, "a dog de\ncat de\n", "")
    wrong = ask("translate", "--to", "en", "a dog", server="multilingual")
    assert wrong.status == 2 and wrong.errors.endswith("INVALID_ARGUMENT: no en\n")
    refused = ask("translate", "--to", "de", "a dog")
    assert refused.status == 2 and "has one target language" in refused.errors


def test_classify(ask):
    assert ask("classify", "a good one", "one") == (0, "good\t0.7500\nbad\t0.7500\n", "")
    assert ask("classify", "--all", "one") == (0, "bad\t0.7500\tgood\t0.2500\n", "")


def test_tag(ask):
    assert ask("tag", "two words", "") == (0, "two/X words/X\n\n", "")
    assert ask("tag", "--format", "columns", "two words") == (0, "two\tX\nwords\tX\n\n", "")
    found = ask("tag", "--format", "conllu", "--column", "xpos", "one")
    assert found.output == "# text = one\n1\tone\t_\t_\tX\t_\t_\t_\t_\t_\n\n"


def test_score(ask):
    result = ask("score", stdin=b"a b\nc\n")
    assert (result.status, result.output) == (0, "-3.0000\t3\n-1.0000\t2\n")
    assert result.errors == (
        "perplexity 2.22554 of 5 tokens, counting the ends of lines; 0.9618 bits per character\n"
    )
    assert "standard input must have at least one line" in ask("score").errors
    # The server reads a part of a line that it cuts, so characters and tokens are not of one text.
    result = ask("score", stdin=f"a b\n{LONG}\n".encode())
    assert "1 line was longer" in result.errors
    assert "perplexity " in result.errors and "bits per character" not in result.errors


def test_generate(ask):
    assert ask("generate", "The") == (0, "The one\nThe two\n", "")
    assert ask("generate", "--paragraphs", "The") == (0, "The one\n\nThe two\n\n", "")


def test_similar(ask):
    found = ask("similar", "dog", server="translate")
    assert found == (0, "dog\tdogs\t0.5000\ndog\tdogly\t0.5000\n", "")
    found = ask("similar", "dog", "unknown", server="translate")
    assert found == (2, "", "seqzoo: error: no vector for 'unknown'\n")


def test_phrases(ask, tmp_path):
    file = tmp_path / "phrases.txt"
    file.write_text("one\ttwo\n\n")
    result = ask("translate", "--phrase", "three", "--phrases", file, "a", "b")
    assert result == (0, "A three one two\nB three\n", "")
    result = ask("translate", "--phrases", file, "a")
    assert (
        result.status == 2 and "--phrases must have one line for each of the 1 l" in result.errors
    )


def test_chunks_and_their_cut_lines(ask, monkeypatch, servers):
    monkeypatch.setattr(lines, "CHUNK", 3)
    texts = ["a", "b", "c", "d", LONG, "e", "f"]
    result = ask("translate", "--batch-size", 2, stdin="\n".join(texts).encode())
    assert result.output == "".join(f"{text.upper()}\n" for text in texts)
    assert result.errors == (
        "seqzoo: warning: 1 line was longer than the limit of the export and cut: line 5\n"
    )
    result = ask("translate", "--no-truncate", stdin="\n".join(texts).encode())
    assert (result.status, result.output) == (2, "A\nB\nC\n")
    error = "seqzoo: error: line 5 must not be longer than the limit of the export.\n"
    assert result.errors == error
    monkeypatch.setattr(lines, "CHUNK", 20)
    result = ask("classify", *[LONG] * 12)
    assert "12 lines were longer" in result.errors and result.errors.endswith(" 9, 10, …\n")


def test_headers_version_and_batches(ask, servers):
    server = servers["translate"]
    server.seen.clear()
    options = ("--header", "X-Key=a=b", "--model-version", "7", "--batch-size", 1)
    ask("translate", *options, "--deadline", 30, "--concurrency", 1, "a", "bb")
    ask("translate", "--model-version", "stable", "a")
    headers = {name.lower(): value for name, value in server.seen[0].headers.items()}
    assert headers["x-key"] == "a=b"
    assert [str(seen.version).split("/")[-1] for seen in server.seen] == ["7", "7", "stable"]
    assert [seen.inputs["text"].tolist() for seen in server.seen[:2]] == [[b"bb"], [b"a"]]


def test_errors_are_one_line(ask, servers):
    for result, words in [
        (ask("translate", "a", server="classify"), "the model has no output translation, score b"),
        (ask("translate", "--n-best", 2, "a", server="classify"), "signature n_best: INVALID_ARG"),
        (ask("translate", "--n-best", 4, "a"), "--n-best must be at most that of the export (3), "),
        (ask("translate", "--model", "other", "a"), "model other, latest version, signature servi"),
    ]:
        assert result.status == 2 and result.errors.startswith("seqzoo: error: ")
        assert words in result.errors and result.errors.count("\n") == 1
    servers["generate"].gate.clear()
    assert ": DEADLINE_EXCEEDED: " in ask("generate", "--deadline", 0.3, "a").errors
    servers["generate"].gate.set()
    servers["tag"].faults = [Fault("INTERNAL", "of two\nlines")]
    assert "INTERNAL: of two lines\n" in ask("tag", "a").errors


@pytest.mark.parametrize("protocol", [[], ["--rest"]])
def test_a_server_that_is_down(seqzoo, protocol):
    result = seqzoo("classify", "--server", "localhost:1", "--model", "toy", *protocol, "a")
    assert result.status == 2 and result.errors.count("\n") == 1
    assert result.errors.startswith(
        "seqzoo: error: localhost:1, model toy, latest version, signature serving_default: UNAVAIL"
    )


SERVER = ("--server", "localhost:1", "--model", "toy")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score",), "--preset or --server must be given."),
        (("classify", "--model", "a", "b"), "--model can only be used with --server."),
        (("translate", "--rest", "b"), "--rest can only be used with --server."),
        (("translate", "--preset", "a", *SERVER), "--preset cannot be used with --server."),
        (("translate", "--server", "localhost:1"), "--model must be given with --server."),
        (("translate", *SERVER, "--beam", "5"), "--beam cannot be used with --server: it is"),
        (("translate", *SERVER, "--samples", "2"), "--samples cannot be used with --server"),
        (("translate", *SERVER, "--lexicon", "a"), "--lexicon cannot be used with --server"),
        (("translate", *SERVER, "--word-alignment"), "--word-alignment cannot be used with --s"),
        (("generate", *SERVER, "--top-k", "2"), "--top-k cannot be used with --server"),
        (("generate", *SERVER, "--max-length", "9"), "--max-length cannot be used with --server"),
        (("score", *SERVER, "--source", "a"), "--source cannot be used with --server"),
        (("score", *SERVER, "--running-text"), "--running-text cannot be used with --server"),
        (("tag", *SERVER, "--conllu", "a"), "--conllu cannot be used with --server, which splits"),
        (("tag", "--server", "a", "--model", "b"), "--server must be HOST:PORT, without a scheme"),
        (("tag", *SERVER, "--header", "a"), "--header must be NAME=VALUE, got a."),
        (("tag", *SERVER, "--client-key", "a"), "--client-key and --client-certificate must be"),
        (("tag", *SERVER, "--root-certificates", "/no/file"), "--root-certificates /no/file: No"),
    ],
)
def test_command_lines_that_are_refused(seqzoo, arguments, message):
    result = seqzoo(*arguments)
    assert result.status == 2 and result.output == ""
    assert result.errors.startswith(f"seqzoo: error: {message}")
    assert result.errors.count("\n") == 1
