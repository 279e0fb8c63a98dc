"""`elt-llm bundle`: pack this installation into one file, and install such a file without a network."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from elt_llm_core.errors import EltError, UsageError

from elt_llm_api.cli.commands.init import starting_files
from elt_llm_api.cli.options import CommandContext, LazyGroup, json_command
from elt_llm_api.display.text import count_noun, print_result, strip_control_characters

if TYPE_CHECKING:
    from elt_llm_api.bundle.creation import BundleParts, BundleReport
    from elt_llm_api.bundle.installer import Say

command = LazyGroup.of_module(__name__, help="Make or install a bundle for a machine without a network.")


@json_command
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("-c", "--collection", "collections", multiple=True, metavar="NAME", help="Collection; may be repeated.")
@click.option("--extra", "extras", multiple=True, metavar="NAME", help="Extra such as ui or mcp; may be repeated.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def create_command(
    context: CommandContext,
    file: Path,
    collections: tuple[str, ...],
    extras: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write FILE, which installs elt-llm on a machine of the same kind, with the same Python, without a network.

    FILE contains the packages of uv.lock and of this clone, the models that the settings name, the configuration, and
    the collections named with -c. Packages are downloaded. Extras that the settings need are included. Install FILE
    with: python FILE install FOLDER
    """
    from elt_llm_api.bundle import creation

    target = context.working_directory / file
    if target.exists() and not force:
        raise UsageError(f"{target} exists already.", hint="Choose another file name, or add --force")
    loaded = context.load()
    if collections and (server := creation.collection_server(loaded.settings)):
        raise UsageError(
            f"The settings keep collections in {server}, which a bundle cannot fill.",
            hint="Leave out -c. Run here: elt-llm export NAME; and on the target, with its server: elt-llm import FILE",
        )
    parts = creation.BundleParts()
    if loaded.source is None:
        parts.files |= {name: text.encode() for name, text in starting_files(ollama=False).items()}
    creation.add_configuration(parts, loaded)
    creation.add_models(parts, loaded)
    say = _progress_printer(quiet=as_json)
    with creation.working_folder(target) as folder:
        if collections:
            _add_collections(parts, context, collections, folder)
        creation.collect_wheels({*extras, *creation.needed_extras(loaded.settings)}, folder, say)
        report = creation.write_bundle(parts, sorted(folder.glob("*.whl")), target)
    print_result(asdict(report), _report_lines(report), as_json=as_json)


def _add_collections(parts: "BundleParts", context: CommandContext, names: Sequence[str], folder: Path) -> None:
    """Export the collections with these names into `folder`, and add the files to the bundle."""
    from elt_llm_core.collection.exporting import export_collection

    with context.open_store() as store:
        for name in dict.fromkeys(store.collections.get(given).name for given in names):
            exported = folder / f"{name}.elt.zip"
            export_collection(store, name, exported)
            parts.files[f"collections/{exported.name}"] = exported


def _report_lines(report: "BundleReport") -> list[str]:
    held = [
        count_noun(report.packages, "package"),
        count_noun(len(report.models), "model"),
        count_noun(len(report.collections), "collection"),
    ]
    machine = report.machine
    needs = ", ".join(filter(None, (machine["python"], machine["system"], machine["machine"], machine["libc"])))
    return [
        f"{strip_control_characters(report.file)} ({report.size / 1e6:.1f} MB): {', '.join(held)}, for {needs}",
        f"sha256 {report.sha256}",
        *(strip_control_characters(note) for note in report.notes),
        f"On the target: python3 {Path(report.file).name} install FOLDER",
    ]


@json_command
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER")
def install_command(context: CommandContext, file: Path, folder: Path, as_json: bool) -> None:
    """Install the bundle FILE into the new FOLDER. The network is not used.

    All checksums are checked before anything is written. On a machine without elt-llm, the file installs itself:
    python FILE install FOLDER
    """
    from elt_llm_api.bundle.installer import LAUNCHER, BundleError, install_bundle

    target = context.working_directory / folder
    try:
        manifest = install_bundle(context.working_directory / file, target, _progress_printer(quiet=as_json))
    except BundleError as error:
        raise EltError(str(error), hint=error.hint) from error
    launcher = str(target / LAUNCHER)
    lines = [f"Installed. Try: {strip_control_characters(launcher)} demo"]
    print_result({"command": launcher, "machine": manifest["machine"]}, lines, as_json=as_json)


def _progress_printer(*, quiet: bool) -> "Say":
    """Return a function that prints a line of progress on stderr, or ignores it if `quiet`."""
    return (lambda _: None) if quiet else lambda line: click.echo(strip_control_characters(line), err=True)
