"""Uploads are stored completely or not at all, within their limits, and are cited under their names."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from elt_llm_core.store.database import UPLOADS_FOLDER
from elt_llm_core.store.records import OWNER_FIELDS
from elt_llm_core.store.uploads import INCOMING
from served.documents import TOKEN, documents, ended, key, upload, uploaded
from served.server import RunningServer, served

pytestmark = pytest.mark.network
MEGABYTE = 1 << 20
BOUNDARY = "a-boundary-of-a-form"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Start a server without data. The first document creates the first collection."""
    folder = tmp_path_factory.mktemp("uploads")
    with served(folder, token=TOKEN, upload_quota_mb="1", max_upload_mb="2", requests_per_minute="100000") as server:
        yield server


@pytest.fixture
def client(server: RunningServer) -> httpx.Client:
    return server.client


@pytest.fixture(scope="module")
def shelf(server: RunningServer) -> str:
    """Return the name of a collection with three uploads, to which tests add."""
    files = {
        "bridge.md": "# Bridge\n\nThe bridge was opened in May 1931.\n",
        "plan.md": "# Plan\n\nThe tower has nine floors.\n",
        "note.md": "# Note\n\nHerons nest in March.\n",
    }
    job = uploaded(server.client, "shelf", {"../Große Brücke.md": files.pop("bridge.md"), **files})
    assert job["status"] == "done"
    return "shelf"


def cancelled(client: httpx.Client, answer: httpx.Response) -> None:
    """Require that an upload was accepted, and cancel its job before it starts."""
    assert answer.status_code == 202, answer.text
    assert client.post(f"/v1/jobs/{answer.json()['job']['id']}/cancel").json()["status"] == "cancelled"


def kept(server: RunningServer) -> set[str]:
    """Return every file below the folder of uploads, as a path relative to the folder."""
    folder = server.data_dir / UPLOADS_FOLDER
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def form(*parts: str, end: str = "--") -> bytes:
    """Return a multipart body. Each part has headers, an empty line and its content."""
    return "".join(f"--{BOUNDARY}\r\n{part}\r\n" for part in (*parts,)).encode() + f"--{BOUNDARY}{end}\r\n".encode()


def sent(client: httpx.Client, body: bytes, kind: str = f"multipart/form-data; boundary={BOUNDARY}") -> httpx.Response:
    return client.post("/v1/documents", content=body, headers={"content-type": kind})


FILE = 'Content-Disposition: form-data; name="files"; filename="a.md"\r\n\r\n# A\n\nWords.'
FIELD = 'Content-Disposition: form-data; name="collection"\r\n\r\nforms'


def test_an_upload_is_cited_under_its_name(client: httpx.Client, shelf: str) -> None:
    answer = client.post("/v1/ask", json={"question": "When was the bridge opened?", "collections": [shelf]}).json()
    assert [citation["source"] for citation in answer["citations"]] == ["Große Brücke.md"]
    assert "1931" in answer["answer"]


def test_an_uploaded_file_replaces_an_earlier_file_of_the_same_name(client: httpx.Client, shelf: str) -> None:
    second = uploaded(client, shelf, {"plan.md": "# Plan\n\nThe tower has twelve floors.\n"})
    assert second["status"] == "done"
    document = documents(client, shelf)["plan.md"]
    text = client.get(f"/v1/documents/{shelf}/{document['id']}/text").json()["text"]
    assert "twelve" in text
    assert "nine" not in text


def test_the_answer_to_an_upload_names_the_stored_files_that_it_replaced(client: httpx.Client) -> None:
    first = upload(client, "replaced", {"same.md": "# Same\n\nWords.\n", "old.md": "# Old\n\nWords.\n"})
    assert (first.status_code, first.json()["replaced"]) == (202, [])
    assert ended(client, first.json()["job"]["id"])["status"] == "done"
    second = upload(client, "replaced", {"same.md": "# Same\n\nWords.\n", "b/old.md": "# New\n\nOther words.\n"})
    assert (second.json()["names"], second.json()["replaced"]) == (["same.md", "old.md"], ["old.md"])
    identity = second.json()["job"]["id"]
    assert ended(client, identity)["status"] == "done"
    [note] = client.get(f"/v1/jobs/{identity}/result").json()["notes"]
    assert note == "Uploads replaced files with other content: old.md."


def test_two_names_that_are_shortened_or_changed_are_stored_as_two_files(
    server: RunningServer, client: httpx.Client
) -> None:
    names = [*(f"{'report ' * 20}{year}.md" for year in (2023, 2024)), "a:b.md", "a_b.md"]
    for number, name in enumerate(names):
        answer = upload(client, "renamed", {name: f"# Note {number}\n\nWords.\n"})
        assert answer.json()["replaced"] == []
        cancelled(client, answer)
    assert len([path for path in kept(server) if path.startswith("renamed/")]) == len(names)


@pytest.mark.parametrize(
    "wrong",
    [
        FIELD.replace("collection", "tenant"),
        FILE.replace('"files"', '"file"').replace("a.md", "b.md"),
    ],
    ids=["misspelt text", "misspelt file"],
)
def test_unknown_form_fields_are_refused_with_the_known_ones(
    server: RunningServer, client: httpx.Client, wrong: str
) -> None:
    before = kept(server)
    answer = sent(client, form(FIELD, FILE, wrong))
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert wrong.split('"')[1] in error["message"]
    assert all(name in error["hint"] for name in ("files", "collection", "resume", *OWNER_FIELDS))
    assert kept(server) == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (FILE.replace('"files"', '"tenant_id"'), "The field tenant_id contains a file instead of text."),
        (FILE.replace('"files"', '"collection"'), "The field collection contains a file instead of text."),
        (FIELD.replace("collection", "files"), "The field files contains text instead of a file."),
        (FIELD.replace("collection", "resume").replace("forms", "ture"), "The field resume has the value 'ture'."),
    ],
)
def test_form_fields_with_the_wrong_content_are_refused(
    server: RunningServer, client: httpx.Client, wrong: str, message: str
) -> None:
    before = kept(server)
    answer = sent(client, form(FIELD, FILE, wrong))
    assert (answer.status_code, answer.json()["error"]["message"]) == (422, message)
    assert answer.json()["error"]["hint"]
    assert kept(server) == before


def test_two_files_with_the_same_name_in_one_upload_are_refused_and_neither_is_kept(
    server: RunningServer, client: httpx.Client
) -> None:
    refused = sent(client, form(FIELD.replace("forms", "twins"), FILE, FILE.replace("# A", "# B")))
    assert refused.status_code == 400
    assert "would be called 'a.md'" in refused.json()["error"]["message"]
    assert not [path for path in kept(server) if path.startswith("twins/")]


def test_a_forgotten_document_can_be_uploaded_again(server: RunningServer, client: httpx.Client, shelf: str) -> None:
    listed = documents(client, shelf)
    gone = client.delete(f"/v1/documents/{shelf}/{listed['note.md']['id']}")
    assert gone.status_code == 202
    assert ended(client, gone.json()["id"])["status"] == "done"
    assert documents(client, shelf).keys() == listed.keys() - {"note.md"}
    assert f"{shelf}/note.md" not in kept(server)
    uploaded(client, shelf, {"note.md": "# Note\n\nHerons nest in March.\n"})
    assert documents(client, shelf).keys() == listed.keys()


def test_a_collection_with_an_empty_file_is_healthy(client: httpx.Client) -> None:
    uploaded(client, "sparse", {"good.md": "# Good\n\nWords.\n", "empty.md": "\n"})
    served = client.get("/v1/collections/sparse").json()
    assert [file["outcome"] for file in served["status"]["files_in_trouble"]] == ["empty"]
    assert served["health"] == "ok"


def test_an_uploaded_file_that_cannot_be_read_is_listed_with_the_reason(client: httpx.Client) -> None:
    job = uploaded(client, "mixed", {"good.md": "# Good\n\nWords.\n", "broken.pdf": b"%PDF-1.7\nnothing else"})
    assert job["status"] == "done"
    listed = documents(client, "mixed")
    assert {name: one["outcome"] for name, one in listed.items()} == {"good.md": "ok", "broken.pdf": "failed"}
    assert listed["broken.pdf"]["reason"]
    forgotten = client.delete(f"/v1/documents/mixed/{listed['broken.pdf']['id']}")
    assert ended(client, forgotten.json()["id"])["status"] == "done"
    assert documents(client, "mixed").keys() == {"good.md"}


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"a.exe": "MZ"}, 415),
        ({"a.pdf": "no such thing"}, 415),
        ({"good.md": "# Good", "a.docx": "no such thing"}, 415),
        ({"big.md": os.urandom(MEGABYTE).hex()}, 413),
        ({"some.md": "a" * (MEGABYTE + 1)}, 507),
        ({}, 415),
    ],
    ids=["no reader", "not what it says", "one of two", "too large", "beyond the quota", "no form"],
)
def test_refused_uploads_leave_no_file(
    server: RunningServer, client: httpx.Client, files: dict[str, str], status: int
) -> None:
    before = kept(server)
    answer = upload(client, "refused", files)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
    assert kept(server) == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (form(FIELD), 400),
        (form(FILE), 422),
        (form(FIELD.replace("forms", "../forms"), FILE), 400),
        (form(FIELD, FILE, end=""), 400),
        (form(FIELD, FILE)[:-40], 400),
        (b"no form at all", 400),
        (form(FIELD.replace("forms", "x" * 5000), FILE), 413),
        (form(*[FIELD.replace("collection", f"field{number}") for number in range(30)], FILE), 413),
        (form(FIELD, *[FILE.replace("a.md", f"{number}.md") for number in range(101)]), 413),
        (form(FIELD, FILE.replace("a.md", "a" * 9000 + ".md")), 400),
    ],
    ids=[
        *("no file", "no collection", "no name", "no end", "cut off", "nothing", "long field", "many fields"),
        *("many files", "long name"),
    ],
)
def test_malformed_upload_forms_are_refused_and_leave_no_file(
    server: RunningServer, client: httpx.Client, body: bytes, status: int
) -> None:
    before = kept(server)
    answer = sent(client, body)
    assert answer.status_code == status, answer.text
    assert kept(server) == before


@pytest.mark.parametrize("parts", [(FIELD, FILE), (FILE, FIELD)])
def test_an_upload_form_may_name_the_collection_before_or_after_the_files(
    client: httpx.Client, parts: tuple[str, str]
) -> None:
    cancelled(client, sent(client, form(*parts)))


def test_an_upload_that_is_not_a_multipart_form_is_refused(client: httpx.Client) -> None:
    assert sent(client, b"{}", "application/json").status_code == 415
    assert sent(client, b"", "multipart/form-data").status_code == 415


def test_a_key_can_upload_only_to_collections_it_may_write(server: RunningServer, client: httpx.Client) -> None:
    note = {"note.md": "# Note\n\nWords.\n"}
    reader, writer = key(server, "reads", ["*"], []), key(server, "writes", [], ["team_*"])
    before = kept(server)
    assert upload(client, "team_a", note, reader).status_code == 403
    assert upload(client, "shelf", note, writer).status_code == 403
    assert kept(server) == before
    cancelled(client, upload(client, "team_a", note, writer))


def test_uploaded_files_that_cannot_be_read_create_no_collection_and_are_deleted(
    server: RunningServer, client: httpx.Client
) -> None:
    job = uploaded(client, "hopeless", {"broken.pdf": b"%PDF-1.7\nnothing else"})
    assert job["status"] == "failed"
    assert "broken.pdf" in job["error"]
    result = client.get(f"/v1/jobs/{job['id']}/result").json()
    [file] = result["files"]
    assert (file["path"], file["status"]) == ("broken.pdf", "failed")
    assert "the uploads were deleted" in result["notes"][-1]
    assert not [name for name in kept(server) if name.startswith("hopeless/")]


def test_an_upload_job_fails_if_all_of_its_files_failed_and_keeps_its_file_counts(
    client: httpx.Client, shelf: str
) -> None:
    job = uploaded(client, shelf, dict.fromkeys(("broken.pdf", "other.pdf"), b"%PDF-1.7\nnothing else"))
    assert job["status"] == "failed"
    result = client.get(f"/v1/jobs/{job['id']}/result").json()
    assert result["counts"] == {"failed": 2}
    first = result["files"][0]
    assert f"2 files. The first is {first['path']}: {first['reason'].rstrip('.')}." in job["error"]
    assert "plan.md" in documents(client, shelf)


def test_no_uploaded_file_is_left_in_the_incoming_folder(server: RunningServer) -> None:
    assert not [name for name in kept(server) if name.startswith(f"{INCOMING}/")]
    assert not Path(server.data_dir.parent / "forms").exists()


def test_concurrent_uploads_together_cannot_exceed_the_quota(client: httpx.Client, server: RunningServer) -> None:
    def brought(number: int) -> httpx.Response:
        words = f"# Note {number}\n\n{'Herons nest in March. ' * 19_000}"  # 0.4 MB of a quota of 1 MB
        files = {"files": (f"note-{number}.md", words.encode(), "text/markdown")}
        return client.post("/v1/documents", data={"collection": "crowded"}, files=files)

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(brought, range(4)), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [202, 202, 507, 507]
    assert len([path for path in kept(server) if path.startswith("crowded/")]) == 2
    for accepted in answers[:2]:
        cancelled(client, accepted)
