from keras_seqzoo.data import (
    ConlluSentence,
    read_tagged_sentences,
    write_columns,
    write_conllu,
)


def test_files(tmp_path):
    words, tags = [["Dogs", "run"], ["Yes"]], [["NOUN", "VERB"], ["INTJ"]]
    write_columns(tmp_path / "a.conll", words, tags)
    assert read_tagged_sentences(tmp_path / "a.conll") == (words, tags)
    rows = ["1 Dogs dog NOUN N _ 2 nsubj _ _", "2 run run VERB V _ 0 root _ _"]
    sentences = [ConlluSentence([], [row.split() for row in rows])]
    write_conllu(tmp_path / "a.conllu.gz", sentences)
    assert read_tagged_sentences(tmp_path / "a.conllu.gz") == ([words[0]], [["NOUN", "VERB"]])
    found = read_tagged_sentences(tmp_path / "a.conllu.gz", "deprels")
    assert found == ([words[0]], [["nsubj", "root"]])
