"""Run `elt-llm` as `python -m elt_llm_api.cli`."""

from elt_llm_api.cli import main

if __name__ == "__main__":
    main()
