"""The text that every example works on: the licence texts that any Debian machine carries.

Pure but for reading the folder. Same machine, same texts, same order: results can be compared bit
for bit between two runs.
"""

import pathlib
from typing import List, NamedTuple

FOLDER = pathlib.Path("/usr/share/common-licenses")


class LicenceText(NamedTuple):
    name: str  # file name, "GPL-3"
    content: bytes


def read_texts(folder: pathlib.Path = FOLDER) -> List[LicenceText]:
    """All files of `folder` by name; links are left out, since they repeat a text.

    Raises SystemExit with one line if there is nothing to read.
    """
    files = sorted(p for p in folder.glob("*") if p.is_file() and not p.is_symlink())
    if not files:
        raise SystemExit(
            f"no licence texts: folder={folder}; install Debian's package base-files")
    return [LicenceText(p.name, p.read_bytes()) for p in files]
