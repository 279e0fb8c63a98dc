"""The former entry point `python -m elt_llm_api.app`. It only names the command `elt-llm`, which replaces it."""

from elt_llm_core.utilities import exit_with_replacement

if __name__ == "__main__":
    exit_with_replacement("python -m elt_llm_api.app", "elt-llm serve")
