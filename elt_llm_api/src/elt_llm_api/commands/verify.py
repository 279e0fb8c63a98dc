"""`elt-llm verify`: compare collections with their record, and rebuild what is damaged, without embedding."""

from typing import TYPE_CHECKING

import click

from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.progress_display import progress_display
from elt_llm_api.render import plain, print_json

if TYPE_CHECKING:
    from elt_llm_core.settings_loader import LoadedSettings
    from elt_llm_core.verification import Damage


@click.command()
@click.option("-c", "--collection", "names", multiple=True, metavar="NAME", help="Collections to verify; else all.")
@click.option("--check-only", is_flag=True, help="Name the damage and leave it.")
@json_option
@pass_command_context
def command(context: CommandContext, names: tuple[str, ...], check_only: bool, as_json: bool) -> int:
    """Check every byte of every kept generation; rebuild damaged ones from the store.

    Exit code 1 if damage is left.
    """
    from elt_llm_core.store.store import open_store
    from elt_llm_core.verification import find_damage, store_damage

    loaded = context.load()
    with open_store(loaded.data_dir) as store:
        chosen = list(names) or [record.name for record in store.collections.all()]
        broken = store_damage(store)
        damage = [fault for name in chosen for fault in find_damage(store, name)]
    healed = [] if check_only or broken or not damage else _heal(loaded, chosen, quiet=as_json)
    left = bool(broken) or (bool(damage) and not healed)
    if as_json:
        faults = [{"collection": it.collection, "generation": it.generation, "what": it.what} for it in damage]
        print_json({"ok": not left, "collections": chosen, "store": broken, "damage": faults, "healed": healed})
    else:
        _print(chosen, broken, damage, healed)
    return int(left)


def _heal(loaded: "LoadedSettings", names: list[str], *, quiet: bool) -> list[tuple[int, int]]:
    """Look again under the lock, for an ingest may have come between, and rebuild what is still damaged."""
    from elt_llm_core.collection import collect_garbage
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store
    from elt_llm_core.verification import find_damage, heal

    with (
        writer_lock(loaded.data_dir, "elt-llm verify"),
        open_store(loaded.data_dir, for_writing=True) as store,
        progress_display(quiet=quiet) as progress,
    ):
        healed = heal(store, [fault for name in names for fault in find_damage(store, name)], progress)
        collect_garbage(store, loaded.settings.storage.keep_generations)
    return healed


def _print(chosen: list[str], broken: list[str], damage: list["Damage"], healed: list[tuple[int, int]]) -> None:
    for fault in broken:
        click.echo(plain(f"{click.style('damaged', fg='red')} store.sqlite3: {fault}"))
    for it in damage:
        click.echo(f"{click.style('damaged', fg='red')} {it.collection} generation {it.generation}: {plain(it.what)}")
    for old, new in healed:
        click.echo(f"{click.style('healed', fg='green')}  generation {old} was built anew as {new}, nothing embedded")
    if not broken and not damage:
        click.echo(
            f"{click.style('ok', fg='green')} {', '.join(chosen) or 'no collections'}: every byte is as published"
        )
    elif broken:
        click.echo("The store itself is damaged: restore the data directory from a backup, or ingest anew elsewhere.")
