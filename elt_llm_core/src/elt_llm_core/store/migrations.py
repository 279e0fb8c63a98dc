"""Schema migrations: number the steps of a schema, and run those that a database lacks.

A step is a file `N.sql` in the folder `schema` of a package. For copying a workspace to PostgreSQL, see
`elt_llm_core.collection.migrating`.
"""

from importlib import resources

from elt_llm_core.errors import StoreError
from elt_llm_core.store.backups import back_up
from elt_llm_core.store.database import (
    STORE_VERSION,
    Database,
    SqliteDatabase,
    check_truth,
    fill_checksums,
    keep_checksums,
)
from elt_llm_core.utilities import Failpoint, failpoint


def migrate(database: SqliteDatabase) -> None:
    """Check the store for damage, migrate it to the current schema, and keep checksums of rows from now on.

    An outdated store is backed up first, then each schema step is one transaction. Raises StoreError if the store is
    newer or damaged, or if there is no space for the backup.
    """
    check_not_newer(database)
    present = database.schema_version()
    if present:
        check_truth(database)
    if 0 < present < STORE_VERSION:
        back_up(database, present)
    for version in range(present + 1, STORE_VERSION + 1):
        with failpoint(Failpoint.MIGRATE), database.transaction():
            apply_schema_step(database, "elt_llm_core.store", version)
            if version == STORE_VERSION:
                fill_checksums(database)
    keep_checksums(database)


def migrate_server(database: Database, package: str) -> None:
    """Run a package's missing schema steps in one transaction. Raises StoreError if the database's schema is newer.

    No backup is made, because backing up a server is its operator's task.
    """
    with failpoint(Failpoint.MIGRATE), database.transaction():
        check_not_newer(database, package)
        for version in range(database.schema_version() + 1, schema_steps(database, package) + 1):
            apply_schema_step(database, package, version)


def schema_steps(database: Database, package: str) -> int:
    """Return the number of schema steps in a package for this kind of database."""
    names = [path.name for path in (resources.files(package) / database.schema_folder).iterdir()]
    return sum(name.endswith(".sql") for name in names)


def apply_schema_step(database: Database, package: str, version: int) -> None:
    """Run the file `<version>.sql` of a package and set the schema version. The caller opens the transaction."""
    step = (resources.files(package) / database.schema_folder / f"{version}.sql").read_text(encoding="utf-8")
    for statement in filter(None, map(str.strip, step.split(";\n"))):
        database.execute(statement)
    database.set_schema_version(version)


def check_not_newer(database: Database, package: str = "elt_llm_core.store") -> None:
    """Raise StoreError if the database has more schema steps than the package, so a newer program wrote it."""
    present, latest = database.schema_version(), schema_steps(database, package)
    if present > latest:
        raise StoreError(
            f"{database.name} has schema {present}, but this program supports schemas up to {latest}.",
            hint="Use the newer version of elt-llm that wrote the store.",
        )
