"""Tesseract, which reads pictures of text: looked for on this machine, and run as a program of its own."""

import os
import re
import shutil
import subprocess

_VERSION = re.compile(r"^tesseract v?([0-9][0-9A-Za-z.\-]{0,30})")
_SECONDS_TO_ANSWER = 20.0
_SECONDS_FOR_A_PAGE = 90.0
NOT_INSTALLED = "tesseract is not installed (install tesseract-ocr)"


class TesseractFailed(Exception):
    """It is not there, does not know a language, or takes too long; the message is for a note."""


def installed_version() -> str:
    """Such as "tesseract 5.3.0"; empty if it is not installed or does not run."""
    match = _VERSION.match(_ask("--version"))
    return f"tesseract {match.group(1)}" if match else ""


def installed_languages() -> frozenset[str]:
    """Names of the languages it has data for, such as "eng"; "osd" stands for finding which way is up."""
    return frozenset(line.strip() for line in _ask("--list-langs").splitlines()[1:] if line.strip())


def recognise(picture: bytes, languages: str, dots_per_inch: int) -> str:
    """What it reads in a picture (PGM), as a table of words (TSV); it finds out which way is up where it can.

    One thread, so that the same picture gives the same words. Raises TesseractFailed.
    """
    program = shutil.which("tesseract")
    if program is None:
        raise TesseractFailed(NOT_INSTALLED)
    known = installed_languages()
    if missing := [language for language in languages.split("+") if language not in known]:
        packages = " ".join(f"tesseract-ocr-{language.replace('_', '-')}" for language in missing)
        raise TesseractFailed(f"tesseract has no data for {', '.join(missing)} (install {packages})")
    layout = "1" if "osd" in known else "3"
    command = [program, "stdin", "stdout", "-l", languages, "--dpi", str(dots_per_inch), "--psm", layout, "tsv"]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - the languages are checked against what it has
            command, input=picture, capture_output=True, timeout=_SECONDS_FOR_A_PAGE, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise TesseractFailed(f"tesseract took more than {_SECONDS_FOR_A_PAGE:g} s") from error
    except OSError as error:
        raise TesseractFailed(f"tesseract cannot be started: {error.strerror or error}") from error
    if done.returncode:
        raise TesseractFailed(f"tesseract failed (exit code {done.returncode})")
    return done.stdout.decode("utf-8", "replace")


def _ask(question: str) -> str:
    program = shutil.which("tesseract")
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - the program of that name, with a fixed argument
            [program, question], capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS_TO_ANSWER, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).decode("utf-8", "replace")
