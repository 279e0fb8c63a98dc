"""The former entry point `python -m elt_llm_consumer.runner`. It only names the commands that replaced it."""

import sys

from elt_llm_core.utilities import exit_with_replacement

if __name__ == "__main__":
    job = sys.argv[sys.argv.index("--cfg") + 1] if "--cfg" in sys.argv[:-1] else "NAME"
    commands = " or ".join(f"elt-llm {kind} --job {job}" for kind in ("glossary", "catalog", "coverage", "handbook"))
    exit_with_replacement("python -m elt_llm_consumer.runner", commands)
