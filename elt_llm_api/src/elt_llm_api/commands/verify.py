"""`elt-llm verify`: compare collections with their record, and rebuild what is damaged, without embedding."""

from typing import TYPE_CHECKING

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import named, plain, print_json

if TYPE_CHECKING:
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_core.verification import Damage


@click.command()
@click.option("-c", "--collection", "names", multiple=True, metavar="NAME", help="Collections to verify; else all.")
@click.option("--check-only", is_flag=True, help="Name the damage and leave it.")
@click.option("--deep", is_flag=True, help="Look at every row, every kept generation and every backup too.")
@json_option
@pass_command_context
def command(context: CommandContext, names: tuple[str, ...], check_only: bool, deep: bool, as_json: bool) -> int:
    """Check every byte of the generations in use; rebuild damaged ones from the store.

    A store that an older version wrote is backed up and migrated first. Exit code 1 if damage is left.
    """
    from elt_llm_core.store.store import open_store
    from elt_llm_core.verification import examine, store_damage

    loaded = context.load()
    if not check_only:
        _migrate(loaded)
    with open_store(loaded.data_dir) as store:
        chosen = list(names) or [record.name for record in store.collections.all()]
        broken = store_damage(store, deep=deep)
        findings = [examine(store, name, deep=deep) for name in chosen]
    damage = [fault for found in findings for fault in found.damage]
    unchecked = [sentence for found in findings for sentence in found.unchecked]
    healed = [] if check_only or broken or not damage else _heal(loaded, chosen, deep=deep, quiet=as_json)
    left = bool(broken) or (bool(damage) and not healed)
    if as_json:
        faults = [{"collection": it.collection, "generation": it.generation, "what": it.what} for it in damage]
        told = {"collections": chosen, "store": broken, "damage": faults, "unchecked": unchecked, "healed": healed}
        print_json({"ok": not left, **told})
    else:
        _print(chosen, broken, damage, healed)
        for sentence in unchecked:
            click.echo(f"{click.style('unchecked', fg='yellow')} {plain(sentence)}")
    return int(left)


def _migrate(loaded: "LoadedSettings") -> None:
    """Bring an older store up to date; one that is up to date, or missing, is left for the check to look at."""
    from elt_llm_core.errors import OutdatedStore
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store

    if not loaded.data_dir.is_dir():
        return
    try:
        open_store(loaded.data_dir).close()
    except OutdatedStore:
        with writer_lock(loaded.data_dir, "elt-llm verify"):
            open_store(loaded.data_dir, for_writing=True).close()


def _heal(loaded: "LoadedSettings", names: list[str], *, deep: bool, quiet: bool) -> list[tuple[int, int]]:
    """Look again under the lock, for an ingest may have come between, and rebuild what is still damaged."""
    from elt_llm_core.collection import collect_garbage
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store
    from elt_llm_core.verification import examine, heal

    with (
        writer_lock(loaded.data_dir, "elt-llm verify"),
        open_store(loaded.data_dir, for_writing=True) as store,
        progress_display(quiet=quiet) as progress,
    ):
        damage = [fault for name in names for fault in examine(store, name, deep=deep).damage]
        healed = heal(store, damage, progress)
        collect_garbage(store, loaded.settings.storage.keep_generations)
    return healed


def _print(chosen: list[str], broken: list[str], damage: list["Damage"], healed: list[tuple[int, int]]) -> None:
    for fault in broken:
        click.echo(f"{click.style('damaged', fg='red')} store.sqlite3: {plain(fault)}")
    for it in damage:
        click.echo(f"{click.style('damaged', fg='red')} {it.collection} generation {it.generation}: {plain(it.what)}")
    for old, new in healed:
        click.echo(f"{click.style('healed', fg='green')}  generation {old} was built anew as {new}, nothing embedded")
    if not broken and not damage:
        told = named(chosen, "collection") if chosen else "no collections"
        click.echo(f"{click.style('ok', fg='green')} {told}: every byte is as published")
    elif broken:
        click.echo("The store itself is damaged: restore the data directory from a backup, or ingest anew elsewhere.")
