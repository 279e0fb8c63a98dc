"""The former entry point `python -m elt_llm_query.runner`, which names the commands that replaced it."""

import sys

from elt_llm_core.utilities import exit_with_replacement

if __name__ == "__main__":
    profile = sys.argv[sys.argv.index("--cfg") + 1] if "--cfg" in sys.argv[:-1] else "NAME"
    commands = f'elt-llm ask "QUESTION" --profile {profile} or elt-llm chat --profile {profile}'
    exit_with_replacement("python -m elt_llm_query.runner", commands)
