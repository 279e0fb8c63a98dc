"""Write into questions.jsonl the page on which each gold sentence stands, after the handbook was rendered anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pypdfium2

SAMPLES = Path(__file__).parent
QUESTIONS = SAMPLES / "questions.jsonl"
DOCUMENTS = SAMPLES / "documents"


def page_texts(pdf: Path) -> list[str]:
    """Return the text of each page of a PDF with its white space folded."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in document]
    finally:
        document.close()


def find_page(sentence: str, pages: list[str]) -> int:
    """Return the number of the first page that holds the sentence, counted from 1; raise ValueError without one."""
    folded = " ".join(sentence.split())
    for number, text in enumerate(pages, start=1):
        if folded in text:
            return number
    raise ValueError(f"no single page of the PDF holds: {sentence!r}")


def repage(question: dict[str, Any], pages: dict[str, list[str]]) -> dict[str, Any]:
    """Return the question with the page of each gold sentence that stands in a PDF brought up to date."""
    gold = [
        {**passage, "page": find_page(passage["sentence"], pages[passage["document"]])}
        if passage["document"] in pages
        else passage
        for passage in question["gold"]
    ]
    return {**question, "gold": gold}


def main() -> None:
    """Rewrite the page numbers of every question in place."""
    pages = {pdf.name: page_texts(pdf) for pdf in sorted(DOCUMENTS.glob("*.pdf"))}
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    questions = [repage(json.loads(line), pages) for line in lines]
    QUESTIONS.write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in questions), encoding="utf-8")
    sys.stdout.write(f"{QUESTIONS}: {len(questions)} questions\n")


if __name__ == "__main__":
    main()
