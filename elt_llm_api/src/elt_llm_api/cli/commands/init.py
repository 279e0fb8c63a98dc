"""`elt-llm init`: write a commented configuration."""

from pathlib import Path

import click

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.display.text import print_result


@json_command
@click.option("--ollama", is_flag=True, help="Use a local Ollama server for embeddings and answers.")
@click.option("--examples", is_flag=True, help="Also write an example job of each kind, for elt-llm demo --jobs.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
def command(context: CommandContext, folder: Path, ollama: bool, examples: bool, as_json: bool) -> None:
    """Write a commented configuration into FOLDER, by default here.

    It lists every setting with its default and allowed values. Existing files are never overwritten.
    """
    written = write_starting_files(context.working_directory / folder, ollama=ollama, examples=examples)
    lines = [f"wrote {path}" for path in written]
    lines.append(f"Next: {context.program} ingest PATH -c NAME, then {context.program} ask QUESTION -c NAME")
    print_result({"written": [str(path) for path in written]}, lines, as_json=as_json)


def write_starting_files(folder: Path, *, ollama: bool, examples: bool = False) -> list[Path]:
    """Write the configuration and return its paths. Raises UsageError, and writes nothing, if a file exists."""
    from elt_llm_core.errors import UsageError

    files = {folder / name: text for name, text in starting_files(ollama=ollama, examples=examples).items()}
    if existing := [str(path) for path in files if path.exists()]:
        raise UsageError(
            f"Existing files are never overwritten: {', '.join(existing)}.",
            hint="Name another folder: elt-llm init FOLDER",
        )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return list(files)


def starting_files(*, ollama: bool, examples: bool = False) -> dict[str, str]:
    """Return the text of each configuration file by its path. `examples` adds jobs for the collections of the demo."""
    from elt_llm_consumer.jobs.job_file import EXAMPLE_ALIASES
    from elt_llm_consumer.jobs.job_file import example_jobs as consumer_jobs
    from elt_llm_core.settings.profiles import built_in_profiles
    from elt_llm_core.settings.template import profile_as_yaml, settings_as_yaml
    from elt_llm_ingest.jobs.job_file import example_jobs
    from elt_llm_query.synthesis.prompts import PROMPT_NAMES, shipped_text
    from elt_llm_query.understanding.aliases import ALIASES_FILE, EXAMPLE

    from elt_llm_api.sample_files import ALIASES, sample

    changes = {"embedding": {"provider": "ollama"}, "llm": {"provider": "ollama"}} if ollama else {}
    profiles = {f"config/profiles/{name}.yaml": profile_as_yaml(it) for name, it in built_in_profiles().items()}
    jobs = {
        f"config/{name}": text for name, text in {**example_jobs(), **(consumer_jobs() if examples else {})}.items()
    }
    aliases = {f"config/{ALIASES_FILE}": EXAMPLE}
    if examples:
        aliases[f"config/{EXAMPLE_ALIASES}"] = sample(ALIASES).read_text(encoding="utf-8")
    prompts = {f"config/prompts/{name}.yaml": shipped_text(name) for name in PROMPT_NAMES}
    return {"config/rag_config.yaml": settings_as_yaml(changes), **aliases, **profiles, **prompts, **jobs}
