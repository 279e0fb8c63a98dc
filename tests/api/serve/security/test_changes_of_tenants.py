"""Two tenants share a collection: uploads and deletions of one leave the documents of the other as they are."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from elt_llm_core.store.lock import writer_lock
from sampling import FULL
from served.tenants import (
    COLLECTION,
    FOREIGN,
    OWN,
    SAME,
    Tenants,
    document,
    finished,
    in_postgres,
    shared_library,
    upload,
)

pytestmark = pytest.mark.network


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"] if FULL else ["SQLite"])
def changing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    folder, settings = tmp_path_factory.mktemp("changing") / "project", {}
    if request.param != "SQLite":
        settings = in_postgres(request.getfixturevalue("postgres"), folder)
    with shared_library(folder, settings) as library:
        yield library


def test_an_upload_belongs_to_its_tenant_and_replaces_no_file_of_another_tenant(changing: Tenants) -> None:
    assert upload(changing.own, "x.md", "# x", tenant_id=FOREIGN).status_code == 403
    name = "zbetaupload.md"  # the name of an upload of the other tenant
    before = _uploaded(changing.foreign)
    job = upload(changing.own, name, document(OWN, 7)).json()["job"]
    ended = finished(changing.own, job)
    assert ended["status"] == "done", ended
    assert ended["progress"].keys() <= {"stage"}
    result = changing.own.get(f"/v1/jobs/{job['id']}/result").json()
    assert not {"documents", "chunks", "collection_hash"} & result.keys()
    both = [
        {one["title"] for one in client.get("/v1/documents", params={"collection": COLLECTION}).json()["documents"]}
        for client in (changing.own, changing.foreign)
    ]
    assert "zacmetitle7 guideline" in both[0]
    assert "zacmetitle7 guideline" not in both[1]
    assert "zbetatitle9 guideline" in both[1]
    again = changing.own.get("/v1/documents", params={"collection": COLLECTION}).json()["documents"]
    [uploaded] = [one["id"] for one in again if one["title"] == "zacmetitle7 guideline"]
    deleted = finished(changing.own, changing.own.delete(f"/v1/documents/{COLLECTION}/{uploaded}").json())
    assert deleted["status"] == "done", deleted
    assert before
    assert _uploaded(changing.foreign) == before


def _uploaded(client: httpx.Client) -> list[str]:
    listed = client.get("/v1/documents", params={"collection": COLLECTION}).json()["documents"]
    return [one["id"] for one in listed if one["uploaded"]]


def _listing(client: httpx.Client) -> dict[str, Any]:
    listing: dict[str, Any] = client.get("/v1/documents", params={"collection": COLLECTION}).json()
    return listing


def test_documents_are_listed_with_the_fields_of_their_tenant(changing: Tenants) -> None:
    operators, own = (_listing(client)["documents"] for client in (changing.server.client, changing.own))
    assert {one["owner_fields"]["tenant_id"] for one in operators} == {OWN, FOREIGN}
    assert {one["owner_fields"]["tenant_id"] for one in own} == {OWN}


def test_an_unread_upload_is_listed_only_for_its_own_tenant_and_the_operator(changing: Tenants) -> None:
    with writer_lock(changing.server.workspace, "somebody else"):
        job = upload(changing.own, "late.md", document(OWN, 8)).json()["job"]
        assert changing.own.post(f"/v1/jobs/{job['id']}/cancel").json()["status"] == "cancelled"
    clients = (changing.own, changing.foreign, changing.server.client)
    own, foreign, operators = (_listing(client)["unread_uploads"] for client in clients)
    assert own == operators == [f"tenant_id={OWN}/late.md"]
    assert foreign == []


def test_a_failed_upload_is_listed_only_in_the_status_of_its_own_tenant(changing: Tenants) -> None:
    job = upload(changing.own, "broken.pdf", "%PDF-1.4\nbroken").json()["job"]
    assert finished(changing.own, job)["status"] == "failed"
    own, foreign = (client.get(f"/v1/collections/{COLLECTION}").json() for client in (changing.own, changing.foreign))
    assert [own["health"], foreign["health"]] == ["files failed", "ok"]
    [file] = own["status"]["files_in_trouble"]
    assert file["path"].endswith("broken.pdf")
    assert foreign["status"]["files_in_trouble"] == []


def test_forgetting_a_document_of_one_tenant_keeps_the_identical_document_of_another_tenant(changing: Tenants) -> None:
    calendars = {}
    for client in (changing.own, changing.foreign):
        documents = client.get("/v1/documents", params={"collection": COLLECTION}).json()["documents"]
        [calendars[client]] = [one["id"] for one in documents if one["title"] == "Holiday calendar"]
    assert (
        finished(changing.own, changing.own.delete(f"/v1/documents/{COLLECTION}/{calendars[changing.own]}").json())[
            "status"
        ]
        == "done"
    )
    kept = changing.foreign.get(f"/v1/documents/{COLLECTION}/{calendars[changing.foreign]}/text")
    assert kept.json()["text"] == SAME
    answered = changing.foreign.post("/v1/search", json={"question": "calendar office"}).json()
    assert any(chunk["source_title"] == "Holiday calendar" for chunk in answered["chunks"])
    gone = changing.own.get("/v1/documents", params={"collection": COLLECTION}).json()["documents"]
    assert all(one["title"] != "Holiday calendar" for one in gone)
