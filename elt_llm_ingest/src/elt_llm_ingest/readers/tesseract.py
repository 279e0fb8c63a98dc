"""Run tesseract: find the installed program and its languages, and recognise text in page images."""

import os
import re
import shutil
import subprocess

_VERSION = re.compile(r"^tesseract v?([0-9][0-9A-Za-z.\-]{0,30})")
_SECONDS_TO_ANSWER = 20.0
_SECONDS_FOR_A_PAGE = 90.0
OCR_IS_OFF = "for OCR, set ingest.ocr: true and install tesseract-ocr"
NOT_INSTALLED = "tesseract is not installed (install tesseract-ocr)"


class TesseractFailed(Exception):
    """Tesseract is not installed, lacks data for a language, or takes too long. The ingest report has the message."""


def installed_version() -> str:
    """Return the installed version, such as "tesseract 5.3.0"; "" if tesseract is not installed or does not run."""
    match = _VERSION.match(_ask("--version"))
    return f"tesseract {match.group(1)}" if match else ""


def installed_languages() -> frozenset[str]:
    """Return the installed languages, such as "eng", and "osd" if the data that detects rotated pages is installed."""
    return frozenset(line.strip() for line in _ask("--list-langs").splitlines()[1:] if line.strip())


def recognise(picture: bytes, languages: str, dots_per_inch: int) -> str:
    """Return tesseract's table (TSV) of the words in a picture. Rotated pictures need the language data "osd".

    Raises:
        TesseractFailed: tesseract is not installed, has no data for a language, fails or takes too long.
    """
    if shutil.which("tesseract") is None:
        raise TesseractFailed(NOT_INSTALLED)
    installed = installed_languages()
    if missing := [language for language in languages.split("+") if language not in installed]:
        packages = " ".join(f"tesseract-ocr-{language.replace('_', '-')}" for language in missing)
        raise TesseractFailed(f"tesseract has no data for {', '.join(missing)} (install {packages})")
    layout = "1" if "osd" in installed else "3"
    options = ["stdin", "stdout", "-l", languages, "--dpi", str(dots_per_inch), "--psm", layout, "tsv"]
    done = _run(options, _SECONDS_FOR_A_PAGE, picture)
    if done.returncode:
        raise TesseractFailed(f"tesseract failed (exit code {done.returncode})")
    return done.stdout.decode("utf-8", "replace")


def _ask(option: str) -> str:
    try:
        done = _run([option], _SECONDS_TO_ANSWER)
    except TesseractFailed:
        return ""
    return (done.stdout or done.stderr).decode("utf-8", "replace")


def _run(options: list[str], seconds: float, picture: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("tesseract")
    if program is None:
        raise TesseractFailed(NOT_INSTALLED)
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    command = [program, *options]
    try:
        return subprocess.run(  # noqa: S603 - the languages are checked against the installed ones
            command, input=picture, capture_output=True, timeout=seconds, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise TesseractFailed(f"tesseract took more than {seconds:g} s") from error
    except OSError as error:
        raise TesseractFailed(f"tesseract cannot be started: {error.strerror or error}") from error
