from pathlib import Path

import pytest
from elt_llm_core.errors import UsageError
from elt_llm_query.evaluate.datasets import read_dataset

CORPUS = '{"_id": "d1", "title": "Cards", "text": "Yellow and red."}\n{"_id": "d2", "text": "No title."}\n'
QUERIES = '{"_id": "q1", "text": "Which colours?"}\n{"_id": "q2", "text": "Unjudged?"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"


def write(folder: Path, corpus: str = CORPUS, queries: str = QUERIES, qrels: str = QRELS) -> Path:
    (folder / "corpus.jsonl").write_text(corpus, encoding="utf-8")
    (folder / "queries.jsonl").write_text(queries, encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_a_dataset_is_read_from_its_folder(tmp_path: Path) -> None:
    dataset = read_dataset(write(tmp_path))
    assert dataset.name == tmp_path.name
    assert [(one.title, one.text) for one in dataset.documents] == [("Cards", "Yellow and red."), ("", "No title.")]
    assert [judged[1:] for judged in dataset.identified()] == [("Which colours?", {"d1": 2})]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus": CORPUS + "{broken\n"}, r"corpus\.jsonl:3: the line is not JSON"),
        ({"corpus": CORPUS + "[" * 100_000 + "\n"}, r"corpus\.jsonl:3: the line is not JSON"),
        ({"corpus": CORPUS + "[1]\n"}, r"corpus\.jsonl:3: the line is not a JSON object"),
        ({"corpus": CORPUS + '{"_id": "d1", "text": ""}\n'}, r"corpus\.jsonl:3: document 'd1' occurs twice"),
        ({"corpus": '{"_id": 7, "text": "x"}\n'}, r"corpus\.jsonl:1: '_id'"),
        ({"queries": '{"_id": "q1"}\n'}, r"queries\.jsonl:1: 'text'"),
        ({"qrels": QRELS + "q1 d1 1\n"}, r"qrels\.tsv:4: the line has"),
        ({"qrels": QRELS + "q9\td1\t1\n"}, r"qrels\.tsv:4: question 'q9' is not in queries\.jsonl"),
        ({"qrels": QRELS + "q1\td9\t1\n"}, r"qrels\.tsv:4: document 'd9' is not in corpus\.jsonl"),
        ({"qrels": QRELS + "q1\td1\tyes\n"}, r"qrels\.tsv:4: the score is 'yes'"),
        ({"queries": '{"_id": "q1", "text": "  "}\n'}, r"queries\.jsonl:1: question 'q1' cannot be asked.*empty"),
        (
            {"queries": QUERIES + '{"_id": "q3", "text": "' + "x" * 5000 + '"}\n'},
            r"queries\.jsonl:3: .*5000 characters",
        ),
        ({"queries": '{"_id": "q1", "text": "\\ud800"}\n'}, r"queries\.jsonl:1: 'text' contains half of a character"),
        ({"qrels": QRELS + "q1\td1\t" + "9" * 400 + "\n"}, r"qrels\.tsv:4: the score is 9{40}; 1000 is the highest"),
        ({"qrels": "q1\td1\t0\n"}, r"marks no document as relevant"),
    ],
)
def test_an_error_in_a_dataset_names_the_file_and_the_line(
    tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_dataset(write(tmp_path, **changed))


def test_the_error_for_a_missing_file_names_the_file(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "qrels.tsv").unlink()
    with pytest.raises(UsageError, match=r"qrels\.tsv cannot be read"):
        read_dataset(tmp_path)


def test_the_error_for_a_file_that_is_not_utf_8_names_the_file(tmp_path: Path) -> None:
    (write(tmp_path) / "queries.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"queries\.jsonl is not UTF-8"):
        read_dataset(tmp_path)


def test_the_real_datasets_can_be_read(datasets: Path) -> None:
    folders = [path for path in (datasets / "eval").iterdir() if path.is_dir()]
    sizes = {path.name: len(read_dataset(path).documents) for path in folders}
    assert sizes["scifact"] == 5183
    assert sizes["xquad-de"] == 240
