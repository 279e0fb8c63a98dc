"""`elt-llm verify`: check collections for damage and rebuild them without embedding."""

from typing import TYPE_CHECKING

import click

from elt_llm_api.cli.options import CommandContext, json_command
from elt_llm_api.cli.render.messages import message_lines
from elt_llm_api.display.progress import progress_display
from elt_llm_api.display.text import names_or_count, print_result

if TYPE_CHECKING:
    from elt_llm_core.settings.loader import LoadedSettings


@json_command
@click.option("-c", "--collection", "names", multiple=True, metavar="NAME", help="Collections to verify; else all.")
@click.option("--check-only", is_flag=True, help="Report damage without repairing it.")
@click.option("--deep", is_flag=True, help="Also check every row, every kept generation and every backup.")
def command(context: CommandContext, names: tuple[str, ...], check_only: bool, deep: bool, as_json: bool) -> int:
    """Check every byte of the published generations; rebuild damaged ones from the store.

    A store of an older version is backed up and migrated first. Exit code 1 if damage remains.
    """
    from elt_llm_core.collection.lifecycle import has_leftovers
    from elt_llm_core.collection.verification import verify_collection
    from elt_llm_core.store.backups import backup_faults
    from elt_llm_core.store.database import find_damage
    from elt_llm_core.store.lock import lock_holder
    from elt_llm_core.store.store import open_store

    loaded = context.load()
    if not check_only:
        _migrate(loaded)
    with open_store(loaded.workspace) as store:
        chosen = list(names) or [record.name for record in store.collections.all()]
        broken = find_damage(store.database)
        findings = [] if broken else [verify_collection(store, name, deep=deep) for name in chosen]
        leftovers = not broken and has_leftovers(store) and lock_holder(loaded.workspace) is None
    copies = backup_faults(loaded.data_dir) if deep else []
    damage = [fault for finding in findings for fault in finding.damage]
    unchecked = [sentence for finding in findings for sentence in finding.unchecked]
    empty = [] if broken else [name for name, it in zip(chosen, findings, strict=True) if not it.published]
    healed: list[tuple[int, int]] = []
    if not check_only and not broken and (damage or leftovers):
        healed = _rebuild(context, chosen, deep=deep, quiet=as_json)
    left = bool(broken or copies) or (bool(damage) and not healed)
    faults = [{"collection": it.collection, "generation": it.generation, "what": it.what} for it in damage]
    shared = {"damage": faults, "unchecked": unchecked, "healed": healed, "empty": empty}
    whole = [name for name in chosen if name not in empty]
    lines = message_lines(
        "verify", broken=broken, copies=copies, names=whole and names_or_count(whole, "collection"), **shared
    )
    print_result({"ok": not left, "collections": chosen, "store": broken + copies, **shared}, lines, as_json=as_json)
    return int(left)


def _migrate(loaded: "LoadedSettings") -> None:
    """Migrate the store if it has an older version. Other problems are left for the check to report."""
    from elt_llm_core.errors import OutdatedStore
    from elt_llm_core.store.lock import writer_lock
    from elt_llm_core.store.store import open_store

    if not loaded.data_dir.is_dir():
        return
    try:
        open_store(loaded.workspace).close()
    except OutdatedStore:
        with writer_lock(loaded.workspace, "elt-llm verify"):
            open_store(loaded.workspace, for_writing=True).close()


def _rebuild(context: CommandContext, names: list[str], *, deep: bool, quiet: bool) -> list[tuple[int, int]]:
    """Rebuild damaged generations. Return the old and the new number of each.

    Damage is searched for again under the writer lock, because an ingest may have run since the first search.
    """
    from elt_llm_core.collection.lifecycle import collect_garbage
    from elt_llm_core.collection.verification import repair, verify_collection

    with context.open_store("elt-llm verify") as store, progress_display(quiet=quiet) as progress:
        damage = [fault for name in names for fault in verify_collection(store, name, deep=deep).damage]
        healed = repair(store, damage, progress)
        collect_garbage(store, context.load().settings.storage.keep_generations)
    return healed
