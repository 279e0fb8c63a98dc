"""Documents are listed, read by span and by page, rendered as images, and forgotten."""

import io
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from elt_llm_core.store.store import uploads_folder
from optional import needs
from processes.command_line import FAKE, SAMPLES
from served.documents import TOKEN, documents, ended, key, uploaded
from served.server import RunningServer, served

pytestmark = pytest.mark.network
HANDBOOK = "handbook.pdf"


@pytest.fixture(scope="module")
def server(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Serve the samples, ingested from their folder, and some of them again as uploads."""
    folder = tmp_path_factory.mktemp("documents") / "project"
    shutil.copytree(sample_folder, folder)
    with served(folder, token=TOKEN, requests_per_minute="100000") as server:
        names = (HANDBOOK, "data-protection-policy.md")
        assert uploaded(server.client, "mine", {name: (SAMPLES / name).read_bytes() for name in names})["error"] == ""
        yield server


@pytest.fixture
def client(server: RunningServer) -> httpx.Client:
    return server.client


@pytest.fixture
def handbook(client: httpx.Client) -> dict[str, Any]:
    return documents(client, "mine")[HANDBOOK]


def dots(png: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of different bytes of a PNG image, and check its checksums."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, content, header = 8, b"", b""
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        kind, data = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        assert struct.unpack(">I", png[place + 8 + length : place + 12 + length])[0] == zlib.crc32(kind + data)
        content += data if kind == b"IDAT" else b""
        header = data if kind == b"IHDR" else header
        place += 12 + length
    width, height = struct.unpack(">II", header[:8])
    return width, height, len(set(zlib.decompress(content)))


def pixels(png: bytes) -> list[tuple[int, ...]]:
    """Return the colours (RGB) of an image, row by row."""
    needs("PIL")
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        return list(zip(*(channel.tobytes() for channel in image.convert("RGB").split()), strict=True))


def test_documents_are_listed_with_their_metadata(client: httpx.Client) -> None:
    answer = client.get("/v1/documents", params={"collection": "samples"}).json()
    assert answer["total"] == len(answer["documents"]) == len(list(SAMPLES.iterdir()))
    [handbook] = [one for one in answer["documents"] if one["source"] == HANDBOOK]
    assert handbook["pages"] == 49
    assert handbook["chunks"] > 100
    assert handbook["ingested_at"].startswith("20")
    assert (handbook["outcome"], handbook["uploaded"]) == ("ok", False)


def test_a_list_of_documents_is_returned_in_pages(client: httpx.Client) -> None:
    path = "/v1/documents?collection=samples&limit=2"
    parts = [client.get(f"{path}&offset={offset}").json() for offset in (0, 2, 4)]
    sources = [one["source"] for part in parts for one in part["documents"]]
    assert sources == sorted(sources)
    assert len(sources) == parts[0]["total"]


def test_the_text_of_a_document_can_be_requested_completely_or_by_span_or_by_page(
    client: httpx.Client, handbook: dict[str, Any]
) -> None:
    path = f"/v1/documents/mine/{handbook['id']}/text"
    whole = client.get(path).json()
    assert (whole["start"], whole["end"], whole["length"]) == (0, len(whole["text"]), len(whole["text"]))
    assert whole["pages"] == len(whole["page_starts"]) == 49
    span = client.get(path, params={"start": 100, "end": 200}).json()
    assert span["text"] == whole["text"][100:200]
    page = client.get(path, params={"page": 3}).json()
    assert page["text"] == whole["text"][whole["page_starts"][2] : whole["page_starts"][3]]
    last = client.get(path, params={"page": 49}).json()
    assert whole["text"].endswith(last["text"])


@pytest.mark.parametrize(
    ("asked", "status"),
    [({"page": 50}, 400), ({"page": 0}, 422), ({"start": 5, "end": 2}, 400), ({"start": 10**9}, 400)],
)
def test_an_unknown_span_or_page_is_refused(
    client: httpx.Client, handbook: dict[str, Any], asked: dict[str, int], status: int
) -> None:
    answer = client.get(f"/v1/documents/mine/{handbook['id']}/text", params=asked)
    assert answer.status_code == status, answer.text


def test_a_page_of_an_uploaded_pdf_is_rendered_as_a_picture(client: httpx.Client, handbook: dict[str, Any]) -> None:
    answer = client.get(f"/v1/documents/mine/{handbook['id']}/page/3.png")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    width, height, different = dots(answer.content)
    assert 800 < width < height <= 1600
    assert different > 10


def test_the_quoted_words_are_marked_in_the_picture_of_their_page(
    client: httpx.Client, handbook: dict[str, Any]
) -> None:
    path = f"/v1/documents/mine/{handbook['id']}"
    text = client.get(f"{path}/text").json()
    start, end = text["page_starts"][2:4]
    quote = max(text["text"][start:end].splitlines(), key=len)
    span = {"start": text["text"].index(quote, start), "end": text["text"].index(quote, start) + len(quote)}
    plain, marked = (pixels(client.get(f"{path}/page/3.png", params=one).content) for one in ({}, span))
    changed = [place for place, (one, other) in enumerate(zip(plain, marked, strict=True)) if one != other]
    assert (253, 230, 138) in {marked[place] for place in changed}, "white paper has the colour of a marker"
    assert all(sum(marked[place]) < sum(plain[place]) or marked[place] == (180, 83, 9) for place in changed)
    lines = -(-len(quote) // 60)
    assert len(changed) < len(plain) * lines / 20, "only these words are marked"
    elsewhere = [client.get(f"{path}/page/4.png", params=one).content for one in ({}, span)]
    assert elsewhere[0] == elsewhere[1], "a page without the words is unchanged"


def test_a_page_that_does_not_exist_or_is_not_in_a_pdf_is_not_rendered(client: httpx.Client) -> None:
    listed = documents(client, "mine")
    note, handbook = listed["data-protection-policy.md"], listed[HANDBOOK]
    assert client.get(f"/v1/documents/mine/{note['id']}/page/1.png").status_code == 404
    assert client.get(f"/v1/documents/mine/{handbook['id']}/page/50.png").status_code == 404
    assert client.get(f"/v1/documents/mine/{'0' * 32}/page/1.png").status_code == 404


def test_no_page_of_a_file_outside_the_allowed_folders_is_rendered(client: httpx.Client) -> None:
    handbook = documents(client, "samples")[HANDBOOK]
    answer = client.get(f"/v1/documents/samples/{handbook['id']}/page/1.png")
    assert answer.status_code == 404
    assert str(SAMPLES) not in answer.text


def test_a_page_of_a_file_in_an_allowed_folder_is_rendered(sample_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_folder, tmp_path / "project")
    environment = {**FAKE, "ELT_LLM_INGEST__ROOTS": f"['{SAMPLES}']"}
    with served(tmp_path / "project", environment=environment) as server:
        handbook = documents(server.client, "samples")[HANDBOOK]
        assert server.client.get(f"/v1/documents/samples/{handbook['id']}/page/1.png").status_code == 200


def test_no_page_of_a_file_that_changed_after_ingestion_is_rendered(
    server: RunningServer, client: httpx.Client, handbook: dict[str, Any]
) -> None:
    path = f"/v1/documents/mine/{handbook['id']}/page/1.png"
    file = uploads_folder(server.data_dir, "mine") / HANDBOOK
    content = file.read_bytes()
    try:
        file.write_bytes(content + b"\n")
        changed = client.get(path)
        assert (changed.status_code, "changed" in changed.json()["error"]["message"]) == (404, True)
        file.unlink()
        file.symlink_to(SAMPLES / HANDBOOK)
        assert client.get(path).status_code == 404
    finally:
        file.unlink()
        file.write_bytes(content)


def test_a_forgotten_document_is_removed_from_lists_answers_and_the_upload_folder(
    server: RunningServer, client: httpx.Client
) -> None:
    uploaded(client, "short", {"a.md": "# A\n\nHerons nest in March.\n", "b.md": "# B\n\nStorks nest in April.\n"})
    identity = documents(client, "short")["a.md"]["id"]
    job = client.delete(f"/v1/documents/short/{identity}").json()
    assert ended(client, job["id"])["status"] == "done"
    assert documents(client, "short").keys() == {"b.md"}
    assert client.get(f"/v1/documents/short/{identity}/text").status_code == 404
    found = client.post("/v1/search", json={"question": "When do herons nest?", "collections": ["short"]}).json()
    assert not any("Herons" in chunk["text"] for chunk in found["chunks"])
    assert {path.name for path in uploads_folder(server.data_dir, "short").iterdir()} == {"b.md"}
    assert "a.md" not in client.get(f"/v1/jobs/{job['id']}/result").text
    assert client.delete(f"/v1/documents/short/{identity}").status_code == 404


def test_the_result_of_forgetting_counts_the_documents_with_the_same_bytes(client: httpx.Client) -> None:
    note = "# Note\n\nHerons nest in March.\n"
    uploaded(client, "copies", {"a.md": note, "copy.md": note, "b.md": "# B\n\nStorks nest in April.\n"})
    job = client.delete(f"/v1/documents/copies/{documents(client, 'copies')['a.md']['id']}").json()
    assert ended(client, job["id"])["status"] == "done"
    assert documents(client, "copies").keys() == {"b.md"}
    assert client.get(f"/v1/jobs/{job['id']}/result").json()["documents"] == 2


def test_a_key_reads_and_forgets_documents_only_within_its_scopes(
    server: RunningServer, client: httpx.Client, handbook: dict[str, Any]
) -> None:
    reader, stranger = key(server, "reads-mine", ["mine"], []), key(server, "elsewhere", ["other"], ["other"])
    path = f"/v1/documents/mine/{handbook['id']}"
    for way in (f"{path}/text", f"{path}/page/1.png", "/v1/documents?collection=mine"):
        assert client.get(way, headers=reader).status_code == 200
        assert client.get(way, headers=stranger).status_code == 403
    assert client.delete(path, headers=reader).status_code == 403
    assert client.delete(path, headers=stranger).status_code == 403
    assert HANDBOOK in documents(client, "mine")
