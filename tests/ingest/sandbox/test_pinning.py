"""A reader reads the file that was opened, even if another file takes its name afterwards."""

import os
import random
import threading
from pathlib import Path

import pytest
from elt_llm_core.errors import UnreadableDocument
from elt_llm_ingest.sandbox.guards import ParseLimits, pin_file
from elt_llm_ingest.sandbox.parser import ParseRequest
from elt_llm_ingest.sandbox.pool import ParsePool

RACES = 150


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder with a note, beside a secret file."""
    (tmp_path / "secret.txt").write_text("the canary sings")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a harmless note")
    return tmp_path / "notes"


def test_a_file_replaced_during_reading_keeps_its_content_and_name(folder: Path) -> None:
    with pin_file(folder / "a.txt", folder) as path:
        (folder / "a.txt").unlink()
        (folder / "a.txt").symlink_to(folder.parent / "secret.txt")
        assert (path.name, path.read_text()) == ("a.txt", "a harmless note")
    assert not path.exists()


def test_a_symbolic_link_that_leads_out_of_the_folder_is_refused_when_it_is_opened(folder: Path) -> None:
    (folder / "b.txt").symlink_to(folder.parent / "secret.txt")
    with pytest.raises(UnreadableDocument, match="leads out of its folder"), pin_file(folder / "b.txt", folder):
        pass
    with pytest.raises(UnreadableDocument, match="cannot be opened"), pin_file(folder / "b.txt", None):
        pass


def test_a_symbolic_link_that_replaces_a_file_between_check_and_reading_never_exposes_its_target(folder: Path) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=_alternate_link_and_note, args=(folder, stop))
    thread.start()
    try:
        with ParsePool(ParseLimits(), 1) as pool:
            requests = [ParseRequest(folder / "a.txt", within=folder)] * RACES
            texts = [getattr(answer, "text", "") for answer in pool.read_all(requests)]
    finally:
        stop.set()
        thread.join()
    assert not [text for text in texts if "canary" in text]
    assert "a harmless note" in texts


def _alternate_link_and_note(folder: Path, stop: threading.Event) -> None:
    """Replace the file a.txt again and again: by a link to the secret file, then by a harmless note."""
    chance, link, note = random.Random(1), folder / ".link", folder / ".note"  # noqa: S311 - repeatable, not secret
    while not stop.wait(chance.uniform(0, 0.002)):
        link.symlink_to(folder.parent / "secret.txt")
        os.replace(link, folder / "a.txt")
        note.write_text("a harmless note")
        stop.wait(chance.uniform(0, 0.001))
        os.replace(note, folder / "a.txt")
