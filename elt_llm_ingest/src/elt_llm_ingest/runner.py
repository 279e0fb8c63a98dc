"""The former entry point `python -m elt_llm_ingest.runner`. It only names the command that replaced it."""

import sys

from elt_llm_core.utilities import exit_with_replacement

if __name__ == "__main__":
    job = sys.argv[sys.argv.index("--cfg") + 1] if "--cfg" in sys.argv[:-1] else "NAME"
    exit_with_replacement("python -m elt_llm_ingest.runner", f"elt-llm ingest --job {job}")
