"""The type of the file system of a folder is found from the list of mounts."""

from pathlib import Path

import pytest
from elt_llm_core.store.disk import file_system_of, refuse_network_file_system

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:30 / /home rw shared:2 - xfs /dev/sdb rw
31 30 0:31 / /home/shared rw - nfs4 server:/export rw
32 30 0:32 / /home/with\\040space rw - cifs //server/share rw
33 22 0:33 / /mnt/key rw master:1 propagate_from:2 - fuse.sshfs host: rw
34 22 0:34 / /proc rw - proc proc rw
a line that is no mount
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/data", "ext4"),
        ("/home/me/.elt_llm", "xfs"),
        ("/home/shared", "nfs4"),
        ("/home/shared/team/.elt_llm", "nfs4"),
        ("/home/shared-not", "xfs"),
        ("/home/with space/data", "cifs"),
        ("/mnt/key/x", "fuse.sshfs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_innermost_mount(path: str, kind: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == kind


def test_if_two_file_systems_are_mounted_on_one_folder_the_later_mount_is_returned() -> None:
    assert file_system_of(Path("/home/x"), MOUNTS + "40 30 0:40 / /home rw - nfs server:/ rw\n") == "nfs"


def test_the_file_system_is_unknown_if_the_system_lists_no_mounts() -> None:
    assert not file_system_of(Path("/home"), "")


def test_a_folder_on_a_local_file_system_is_accepted(tmp_path: Path) -> None:
    refuse_network_file_system(tmp_path)
