"""Tesseract, which reads pictures of text: looked for on this machine, and run as a program of its own."""

import re
import shutil
import subprocess

_VERSION = re.compile(r"^tesseract v?([0-9][0-9A-Za-z.\-]{0,30})")
_SECONDS_TO_ANSWER = 20.0


def installed_version() -> str:
    """Such as "tesseract 5.3.0"; empty if it is not installed or does not run."""
    match = _VERSION.match(_ask("--version"))
    return f"tesseract {match.group(1)}" if match else ""


def installed_languages() -> frozenset[str]:
    """Names of the languages it has data for, such as "eng"; "osd" stands for finding which way is up."""
    return frozenset(line.strip() for line in _ask("--list-langs").splitlines()[1:] if line.strip())


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
