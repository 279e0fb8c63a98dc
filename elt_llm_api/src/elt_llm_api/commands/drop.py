"""`elt-llm drop`: delete collections with everything that only they hold."""

import click
from elt_llm_core.errors import UsageError

from elt_llm_api.confirmation import confirm
from elt_llm_api.options import CommandContext, json_option, pass_command_context
from elt_llm_api.render import named, print_json


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--prefix", metavar="P", help="Every collection whose name begins so.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_command_context
def command(context: CommandContext, names: tuple[str, ...], prefix: str | None, yes: bool, as_json: bool) -> int:
    """Delete collections: their indexes, their texts, and vectors that no other collection uses. Asks first."""
    if not names and not prefix:
        raise UsageError("Nothing is named.", hint="Run: elt-llm drop NAME, or elt-llm drop --prefix P")
    from elt_llm_core.store.store import open_store

    data_dir = context.load().data_dir
    with open_store(data_dir) as store:
        matching = [record.name for record in store.collections.all() if prefix and record.name.startswith(prefix)]
        known = [name if store.is_half_dropped(name) else store.collections.get(name).name for name in names]
        chosen = list(dict.fromkeys([*known, *matching]))
    if not chosen:
        raise UsageError(f"No collection begins with '{prefix}'.", hint="Run: elt-llm collections")
    if not yes:
        _ask(chosen, as_json=as_json)
    from elt_llm_core.store.lock import writer_lock

    with writer_lock(data_dir, "elt-llm drop"):
        from elt_llm_core.collection import drop

        with open_store(data_dir, for_writing=True) as store:
            for name in chosen:
                drop(store, name)
    if as_json:
        print_json({"dropped": chosen})
    else:
        click.echo(f"Deleted {named(chosen, 'collection')}.")
    return 0


def _ask(names: list[str], *, as_json: bool) -> None:
    """Every name is shown before it is gone: many of them a line each."""
    short = named(names, "collection")
    if short != ", ".join(names) and not as_json:
        click.echo("\n".join(names), err=True)
    confirm(f"Delete {short} for good?", as_json=as_json)
