"""Take the pictures of the page for the manual: `make pictures`. Needs Chromium."""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from browsing.browser import open_browser
from elt_llm_api.cli import run
from model_servers.backends import ScriptedBackend
from model_servers.faults import Fault
from model_servers.http_server import ModelHttpServer, running_model_server
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page
from processes.command_line import PROJECT, SAMPLES
from served.scripted_answers import written_by
from served.server import RunningServer, served
from stored.folders import write_files

QUOTING = {"ELT_LLM_LLM__PROVIDER": "extractive", "ELT_LLM_INGEST__ROOTS": f'["{SAMPLES}"]'}
SIGN = "#health-sign .badge"
QUESTION = "How many days does a club have to lodge an appeal, and what does it cost?"
UNANSWERABLE = "How many goals were scored in the 2023 final?"
LONG_QUESTION = "Explain how an appeal is lodged, heard and decided in Senior and in Youth football."
LONG_ANSWER = "\n".join(
    [
        "An appeal passes through these steps:",
        *(
            f"{number}. **{step}.** An appeal is lodged with the General Secretary within fourteen days of the date of"
            f" the written decision, together with the fee of £120 [{number}]. In Youth football it is lodged within"
            " twenty-one days, with a fee of £40 [2]."
            for number, step in enumerate(("Lodging", "Hearing", "Decision", "Costs", "Arbitration"), start=1)
        ),
        "",
        "| football | days | fee |\n|---|--:|--:|\n| Senior [1] | 14 | £120 |\n| Youth [2] | 21 | £40 |",
    ]
)

_JOB = "description: Terms of the handbook.\nsources: {handbook: [demo]}\noutputs: {formats: [json, xlsx, html]}\n"


@dataclass(frozen=True)
class Look:
    """A language, a size and a colour scheme; `suffix` ends the names of its pictures."""

    suffix: str
    language: str
    width: int
    dark: bool


LOOKS = (
    Look("", "en-GB", 1440, dark=False),
    Look("-phone", "en-GB", 390, dark=True),
    Look("-de", "de-DE", 1440, dark=True),
    Look("-de-phone", "de-DE", 390, dark=False),
)


@dataclass(frozen=True)
class Photographer:
    """Opens pages in one look (language, size and colour scheme), and stores their pictures in a folder."""

    browser: Browser
    folder: Path
    look: Look

    @contextmanager
    def visit(self, server: RunningServer, ready: str = SIGN) -> Iterator[Page]:
        """Open the page and wait until it shows this element."""
        context = self.browser.new_context(
            viewport={"width": self.look.width, "height": 900 if self.look.width > 640 else 844},
            color_scheme="dark" if self.look.dark else "light",
            locale=self.look.language,
            reduced_motion="reduce",
        )
        context.set_default_timeout(180_000)
        page = context.new_page()
        try:
            page.goto(server.address, wait_until="commit")
            page.wait_for_selector(ready)
            yield page
        finally:
            context.close()

    def take(self, page: Page, name: str) -> None:
        """Store what the window shows. 256 colours halve the file, and nobody sees the difference."""
        page.wait_for_timeout(900)
        picture = Image.open(BytesIO(page.screenshot()))
        path = self.folder / f"ui-{name}{self.look.suffix}.png"
        picture.convert("RGB").quantize(256).save(path, optimize=True)


def ask(page: Page, question: str) -> None:
    """Ask a question and wait until the answer is complete."""
    page.locator("#question textarea").fill(question)
    page.locator("#question textarea").press("Enter")
    page.wait_for_selector('#ask-actions [name="again"]')


def open_tab(page: Page, name: str) -> None:
    """Open a tab by the name that it has in every language."""
    page.locator(f"#tab-{name}-button").click()
    page.wait_for_selector(f"#tab-{name}")


def choose(page: Page, identity: str, value: str) -> None:
    """Choose a value of a dropdown."""
    box = page.locator(f"#{identity} input")
    box.click()
    page.get_by_role("option", name=value, exact=True).click()
    page.wait_for_timeout(1500)


def take_ask(photographer: Photographer, server: RunningServer) -> None:
    """Take an empty conversation, an answer, its source, and a refusal."""
    with photographer.visit(server, "#conversation .example") as page:
        photographer.take(page, "start")
        ask(page, QUESTION)
        photographer.take(page, "ask")
        page.locator("#conversation button.chip").first.click()
        page.locator("#opened img").evaluate("(image) => image.decode()")
        photographer.take(page, "source")
        page.locator("#new-conversation").click()
        ask(page, UNANSWERABLE)
        photographer.take(page, "refused")


def take_tabs(photographer: Photographer, server: RunningServer) -> None:
    """Take the other tabs, with 200 documents, a job with an open row, and the trace of a question."""
    with photographer.visit(server) as page:
        open_tab(page, "documents")
        choose(page, "documents-collection", "demo")
        photographer.take(page, "documents")
        choose(page, "documents-collection", "procedures")
        photographer.take(page, "200-documents")
    with photographer.visit(server) as page:
        open_tab(page, "jobs")
        choose(page, "jobs-job", "terms")
        page.locator("#rows button.cell").first.click()
        page.wait_for_selector("#row .source")
        photographer.take(page, "jobs")
    with photographer.visit(server) as page:
        open_tab(page, "inspect")
        page.locator("#inspected textarea, #inspected input").fill(QUESTION)
        page.keyboard.press("Enter")
        page.wait_for_selector("#trace-chunks tbody tr")
        photographer.take(page, "inspect")
    with photographer.visit(server) as page:
        open_tab(page, "health")
        page.wait_for_selector("#health-figures table")
        photographer.take(page, "health")


def take_written(photographer: Photographer, server: RunningServer, model: ModelHttpServer) -> None:
    """Take a long answer, and a question that fails because the model's server does."""
    with photographer.visit(server) as page:
        ask(page, LONG_QUESTION)
        photographer.take(page, "long-answer")
        page.locator("#new-conversation").click()
        model.faults.plan("/api/chat", Fault.FULL)
        ask(page, QUESTION)
        photographer.take(page, "failed")
        model.faults.clear()


def take_progress(photographer: Photographer, server: RunningServer) -> None:
    """Take the upload of many files into a new collection while they are read."""
    text = "\n\n".join(f"# Item {number}\n\nThe board approved item {number} of its agenda." for number in range(500))
    minutes: list[FilePayload] = [
        {"name": f"minutes-{number:02}.md", "mimeType": "text/markdown", "buffer": f"# {number}\n\n{text}".encode()}
        for number in range(1, 13)
    ]
    with photographer.visit(server) as page:
        open_tab(page, "documents")
        collection = f"minutes{photographer.look.suffix}"
        page.locator("#documents-collection input").fill(collection)
        page.keyboard.press("Enter")
        page.locator("#documents-files input[type=file]").set_input_files(minutes)
        page.locator("#documents-files .file").nth(len(minutes) - 1).wait_for()
        page.locator("#documents-upload-button").click()
        # The page may still show the upload of the look before.
        page.locator("#documents-status", has_text=re.compile(rf"\b{collection} ")).locator("progress").wait_for()
        photographer.take(page, "progress")


def take_waiting(photographer: Photographer, folder: Path) -> None:
    """Take pictures of a server that is still building its page, that has no documents, and that has stopped."""
    with ExitStack() as running:
        server = running.enter_context(served(folder, environment=QUOTING))
        with photographer.visit(server, "[role=status]") as page:
            photographer.take(page, "loading")
            page.wait_for_selector(SIGN)
            photographer.take(page, "empty")
            running.close()
            page.locator("#question textarea").fill(QUESTION)
            page.locator("#question textarea").press("Enter")
            page.wait_for_selector(".toast-body")
            photographer.take(page, "offline")


def prepare(folder: Path) -> None:
    """Ingest the samples and 200 short documents, and run a job."""
    texts = {
        f"procedure-{number:03}-{kind}.md": f"# Procedure {number}: {kind}\n\nThe {kind} is kept for {number} years.\n"
        for number in range(1, 201)
        for kind in [("retention", "access", "review", "incident")[number % 4]]
    }
    write_files(folder / "procedures", texts)
    write_files(folder, {"config/consumer/terms.yaml": _JOB})
    for command in (
        ["ingest", str(SAMPLES), "-c", "demo", "--json"],
        ["ingest", str(folder / "procedures"), "-c", "procedures", "--json"],
        ["glossary", "--job", "terms", "--json"],
    ):
        assert run(command, QUOTING, folder) == 0, command


def main(target: str = str(PROJECT / "docs" / "images")) -> None:
    """Take every picture in every look."""
    with tempfile.TemporaryDirectory() as name, open_browser() as browser:
        folder, empty = Path(name) / "project", Path(name) / "empty"
        folder.mkdir()
        empty.mkdir()
        prepare(folder)
        photographers = [Photographer(browser, Path(target), look) for look in LOOKS]
        for one in photographers:
            take_waiting(one, empty)
        with served(folder, environment=QUOTING) as server:
            for one in photographers:
                take_ask(one, server)
                take_tabs(one, server)
        with running_model_server(ScriptedBackend([LONG_ANSWER], context_length=16384)) as model:
            environment = written_by("ollama", model, OLLAMA__CONTEXT_WINDOW="16384", OLLAMA__NUM_PREDICT="2000")
            with served(folder, environment=environment) as server:
                for one in photographers:
                    take_written(one, server, model)
                for one in photographers:
                    take_progress(one, server)


if __name__ == "__main__":
    main(*sys.argv[1:])
