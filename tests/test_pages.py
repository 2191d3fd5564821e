"""The manual: its Python runs, its commands and options are there, and its links lead somewhere."""

import gzip
import re
import shlex
from pathlib import Path

import pytest
import trustme

from keras_seqzoo.cli.presets import DEFAULT_PRESET
from keras_seqzoo.models import RecurrentSeq2SeqLM
from keras_seqzoo.serving import export
from tests.command_tree import all_commands, flags
from tests.made_up import parallel_text, tiny_model
from tests.serving.model_server.process import ServerProcess

ROOT = Path(__file__).parent.parent
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
PAGES["README"] = (ROOT / "README.md").read_text(encoding="utf-8")
# Their blocks go on from files, models and servers that the reader has.
BY_THEMSELVES = {"training", "large_corpora", "objectives", "serving", "README"}
# What would take too long in a block, by the page and its number.
TINY = {"attention_units=256": "embedding_dim=8, encoder_units=8, decoder_units=8"}
SHORTER = {
    ("translation", 3): {"epochs=24": "epochs=1"} | TINY,
    ("training", 1): TINY,
    ("training", 2): {"batch_size=128": "batch_size=128, epochs=1"} | TINY,
    ("large_corpora", 0): {
        "steps_per_epoch=20_000": "steps_per_epoch=2, epochs=1",
        "units=200": "units=4, embedding_dim=4",
    },
    ("large_corpora", 1): {"range(10)": "range(1)"},
    ("objectives", 0): TINY,
}
# What the reader has before it.
BEFORE = {
    ("training", 3): """
with gzip.open("lines.gz", "wt") as file:
    file.write("\\n".join(english))
files = ["lines.gz"]
""",
    ("large_corpora", 0): """
with gzip.open("news/part-0.txt.gz", "wt") as file:
    file.write("\\n".join(english))
with open("valid.txt", "w") as file:
    file.write("\\n".join(english[:4]))
""",
    ("large_corpora", 1): """
with gzip.open("pairs.tsv.gz", "wt") as file:
    file.write("\\n".join("\\t".join(pair) for pair in zip(english, french)))
model = tiny_model()
model.compile()
english_tokenizer = model.preprocessor.encode_source
french_tokenizer = model.preprocessor.encode_target
""",
}
# What its blocks write.
WRITTEN = {
    "training": ("logs/*", "my-preset/task.json"),
    "large_corpora": ("my-lm/task.json",),
    "objectives": (),
}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], flags=re.DOTALL)


def shortened(page, number, block):
    for long, replacement in SHORTER.get((page, number), {}).items():
        assert long in block
        block = block.replace(long, replacement)
    return compile(block, f"{page}.md block {number}", "exec")


def command_lines():
    """Yield the page and each line that calls `seqzoo`, of all pages and of the commands' help."""
    shells = {page: "".join(blocks(page, "bash")) for page in sorted(PAGES)}
    shells |= {
        f"{name} --help": command.epilog or "" for name, command in sorted(all_commands().items())
    }
    for page, shell in shells.items():
        shell = shell.replace("\\\n", " ")
        for line in shell.splitlines():
            line = re.split(r"#| [|<>] |$", line.strip())[0]
            if line.startswith("seqzoo "):
                yield page, line


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(set(PAGES) - BY_THEMSELVES))
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    """The blocks of a page go on from each other, and print what comments say they print."""
    monkeypatch.chdir(tmp_path)
    english, french = parallel_text(16)
    monkeypatch.setattr("keras_seqzoo.data.load_multi30k", lambda *_, **__: (english, french))
    links = ["".join(f"{place}-{place} " for place in range(len(line.split()))) for line in english]
    Path("train.align").write_text("".join(f"{line.strip()}\n" for line in links))
    names = {}
    for number, block in enumerate(blocks(page, "python")):
        exec(shortened(page, number, block), names)
    if page == "translation":
        lines = capsys.readouterr().out.splitlines()
        assert any(line.startswith("['Two', 'dogs', 'run', 'through',") for line in lines)
        assert f"# {lines[-1]}" in PAGES[page]


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(WRITTEN))
def test_blocks_on_training_run(page, tmp_path, monkeypatch):
    """With fewer epochs and smaller models than the page has."""
    monkeypatch.chdir(tmp_path)
    Path("news").mkdir()
    english, french = parallel_text(16)
    monkeypatch.setattr("keras_seqzoo.data.load_multi30k", lambda *_, **__: (english, french))
    names = {"english": english, "french": french, "gzip": gzip, "tiny_model": tiny_model}
    for number, block in enumerate(blocks(page, "python")):
        exec(BEFORE.get((page, number), ""), names)
        exec(shortened(page, number, re.sub(r"epochs=\d+", "epochs=1", block)), names)
    assert all(list(Path().glob(pattern)) for pattern in WRITTEN[page])


@pytest.mark.slow
def test_blocks_on_serving_run(tmp_path, monkeypatch, capsys):
    """A double stands for the server."""
    monkeypatch.chdir(tmp_path)
    authority = trustme.CA()
    authority.cert_pem.write_to_path("roots.pem")
    own = authority.issue_cert("client.example.org")
    own.private_key_pem.write_to_path("client.key")
    own.cert_chain_pems[0].write_to_path("client.pem")
    export(RecurrentSeq2SeqLM.from_preset("gru_attention_multi30k_en_fr"), "models/en_fr")
    ask, connect, load = blocks("serving", "python")
    names = {}
    with ServerProcess({"en_fr": tmp_path / "models" / "en_fr"}) as server:
        exec(ask.replace("localhost:8500", server.grpc), names)
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert names["arrays"]["translations"].shape == (1, 5)
    exec(connect, names)
    names["client"].close()
    exec(load, names)
    assert capsys.readouterr().out == "Deux chiens courent.\n"


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_commands_are_there(page, line):
    _, *words = shlex.split(line)
    name = " ".join(words[: 2 if words[0] == "train" else 1])
    command = all_commands()["" if name.startswith("-") else name]
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= flags(command)
    [preset] = [option.default for option in command.params if option.name == "preset"] or [None]
    if DEFAULT_PRESET in (preset or ()):
        assert given & {"--to", "--preset", "--server", "--config"}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_within_the_repository(page):
    folder = ROOT if page == "README" else ROOT / "docs"
    targets = re.findall(r"\]\((?!https?:|#|reference/)([^)#\s]+)", PAGES[page])
    assert [target for target in targets if not (folder / target).exists()] == []
