"""The former entry point `python -m elt_llm_api.app`. It only prints the name of the command to use instead."""

from elt_llm_core.utilities import exit_with_replacement

if __name__ == "__main__":
    exit_with_replacement("python -m elt_llm_api.app", "elt-llm serve")
