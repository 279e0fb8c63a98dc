#!/usr/bin/env python3
"""Try an installed elt-llm in an empty folder: the demo, a configuration, a job, and the server with its page.

Usage: smoke.py PATH_OF_ELT_LLM. The program must be installed with the extras ui and mcp, and the current folder must
be empty.
"""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

QUESTION = "How much does it cost to register a senior player?"
START_SECONDS, PAGE_SECONDS = 60, 60


def run(program: str, *arguments: str) -> str:
    """Run the command and return what it prints. Raises CalledProcessError if it fails."""
    sys.stdout.write(f"+ elt-llm {' '.join(arguments)}\n")
    sys.stdout.flush()
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True, timeout=600).stdout


def fetch(address: str, body: dict[str, object] | None = None) -> str:
    """Return the body of a response. Raises URLError if the server does not answer or reports an error."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"content-type": "application/json"})  # noqa: S310 - http on loopback
    with urllib.request.urlopen(request, timeout=PAGE_SECONDS) as response:  # noqa: S310 - http on loopback
        return response.read().decode()


def wait_until_it_answers(server: subprocess.Popen[bytes], address: str) -> None:
    """Wait for the server's first response. Raises SystemExit if the server ends or does not answer in time."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            sys.exit(f"elt-llm serve ended with status {server.returncode}.")
        try:
            fetch(f"{address}/health")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.3)
        else:
            return
    sys.exit(f"elt-llm serve did not answer within {START_SECONDS} seconds.")


def wait_for_the_page(address: str) -> None:
    """Wait until the browser page is built. Raises SystemExit if another page is still shown after PAGE_SECONDS."""
    until = time.monotonic() + PAGE_SECONDS
    while "gradio" not in fetch(address).lower():
        if time.monotonic() > until:
            sys.exit(f"{address} does not show the browser page.")
        time.sleep(0.5)


def check_server(program: str) -> None:
    """Start the server; check its health, an answer with a citation, and the page."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    sys.stdout.write(f"+ elt-llm serve --port {port}\n")
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen([program, "serve", "--port", str(port)]) as server:
        try:
            wait_until_it_answers(server, address)
            answer = json.loads(fetch(f"{address}/v1/ask", {"question": QUESTION, "collections": ["demo"]}))
            assert answer["citations"], answer
            wait_for_the_page(address)
            assert "openapi" in fetch(f"{address}/openapi.json")[:200]
            assert json.loads(fetch(f"{address}/v1"))["documentation"] == "/docs"
            for file in ("", "/docs.js", "/swagger-ui-bundle.js", "/swagger-ui.css"):
                assert fetch(f"{address}/docs{file}"), file
        finally:
            server.terminate()


def main(program: str) -> None:
    """Try each part in turn; the first failure ends the program with an error."""
    assert not list(Path().iterdir()), f"{Path.cwd()} is not empty."
    sys.stdout.write(run(program, "--version"))
    assert json.loads(run(program, "demo", "--jobs", "--json"))["result"]["citations"]
    run(program, "init", "--examples")
    assert Path("config/rag_config.yaml").is_file()
    assert json.loads(run(program, "ask", QUESTION, "-c", "demo", "--json"))["citations"]
    assert "register" in run(program, "search", "register a player", "-c", "demo").lower()
    run(program, "glossary", "--job", "glossary")
    # Outside a clone, the commands in messages are those for packages.
    assert 'pip install "elt-llm[otel]"' in run(program, "doctor")
    check_server(program)
    sys.stdout.write("The installed program works.\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
