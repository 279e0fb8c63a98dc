"""`elt-llm models`: list, pull, add and remove the models that run in this process."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.cli.options import CommandContext, LazyGroup, json_command, pass_command_context
from elt_llm_api.display.text import align_columns, print_json, print_result

if TYPE_CHECKING:
    from elt_llm_core.settings.tree import Settings

command = LazyGroup.of_module(__name__, help="Manage cross-encoders, which rank chunks on this machine.")


def _open(context: CommandContext) -> "tuple[Settings, Path]":
    """Return the settings, and the folder in which models are installed."""
    from elt_llm_core.models.model_files import DEFAULT_FOLDER

    loaded = context.load()
    return loaded.settings, loaded.settings.storage.models_dir or loaded.data_dir / DEFAULT_FOLDER


@json_command
def list_command(context: CommandContext, as_json: bool) -> None:
    """List the installed models and those that can be pulled. The network is not used."""
    from elt_llm_core.models.hub import installed_models, known_models

    _, models_dir = _open(context)
    installed, known = installed_models(models_dir), known_models()
    rows = [["model", "installed", "kind", "size", "licence", "languages"]]
    for one in known:
        is_installed = "yes" if one.name in installed else "no"
        rows.append([one.name, is_installed, one.kind, f"{one.size_mb} MB", one.licence, ", ".join(one.languages)])
    names = {one.name for one in known}
    rows.extend([name, "yes", "-", "-", "-", "-"] for name in installed if name not in names)
    document = {"folder": str(models_dir), "installed": installed, "known": [one.model_dump() for one in known]}
    print_result(document, align_columns(rows), as_json=as_json)


@json_command
@click.argument("name", metavar="NAME")
def pull_command(context: CommandContext, name: str, as_json: bool) -> None:
    """Download a known model and install it in the folder of models.

    The setting network.allow_model_downloads must be true. The variable HF_ENDPOINT can name a hub other than Hugging
    Face. Afterwards the model is used without a network.
    """
    from elt_llm_core.models.hub import PUBLIC_HUB, find_known_model, pull_model

    settings, models_dir = _open(context)
    hub = (context.environment.get("HF_ENDPOINT") or PUBLIC_HUB).rstrip("/")
    allowed = settings.network.allow_model_downloads
    record = pull_model(find_known_model(name), models_dir, hub, allowed=allowed)
    if as_json:
        print_json({"folder": str(models_dir / record.name), **record.model_dump()})
        return
    click.echo(f"Installed {record.name} from {record.origin} in {models_dir / record.name}")
    if record.first_seen:
        click.echo("No checksum is known for these files; they were trusted, and a later pull must match:", err=True)
        for file in record.first_seen:
            click.echo(f"  {file}  sha256 {record.sha256[file]}", err=True)
    click.echo(f"Use it: set query.reranker_strategy to cross-encoder and query.reranker_model to {record.name}")


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the model; else the name of the folder.")
@pass_command_context
def add_command(context: CommandContext, folder: Path, name: str | None) -> None:
    """Copy a cross-encoder from FOLDER into the folder of models.

    FOLDER contains model.onnx (or onnx/model.onnx), tokenizer.json and possibly config.json. A folder with code or
    pickled data is refused.
    """
    from elt_llm_core.models.hub import add_model

    _, models_dir = _open(context)
    source = context.working_directory / folder
    record = add_model(source, name or source.resolve().name, models_dir)
    click.echo(f"Installed {record.name} in {models_dir / record.name}")


@click.command()
@click.argument("name", metavar="NAME")
@click.option("--force", is_flag=True, help="Delete the model even if query.reranker_model names it.")
@pass_command_context
def remove_command(context: CommandContext, name: str, force: bool) -> None:
    """Delete an installed model. The recorded checksums are kept for a later pull."""
    from elt_llm_core.models.hub import remove_model

    settings, models_dir = _open(context)
    used = settings.query.reranker_model
    if not force and used is not None and Path(used).name == name:
        hint = f"Change query.reranker_model first, or run: elt-llm models remove {name} --force"
        raise UsageError(f"The settings use '{name}' as query.reranker_model, so it was not deleted.", hint=hint)
    remove_model(name, models_dir)
    click.echo(f"Removed {name} from {models_dir}")
