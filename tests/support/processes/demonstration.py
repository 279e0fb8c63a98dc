"""The demo that the journeys run, and the Internet connections recorded during its run."""

from dataclasses import dataclass
from pathlib import Path

from processes.command_line import CommandResult

WATCH = """
import os, sys

def tell(event, arguments) -> None:
    if event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        told = f"{event} {arguments[1]}"
    elif event == "socket.getaddrinfo":
        told = f"{event} {arguments[:2]}"
    else:
        return
    with open(os.environ["SOCKETS_SEEN"], "a") as file:
        file.write(told + "\\n")
    raise OSError("watched: " + told)

sys.addaudithook(tell)
"""
"""A sitecustomize that records, and refuses, every use of an Internet address, loopback included."""


@dataclass(frozen=True)
class Demo:
    """The demo's folder, what its first and second runs printed, and the Internet addresses they used."""

    folder: Path
    first: CommandResult
    second: CommandResult
    sockets: list[str]
