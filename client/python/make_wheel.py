"""Writes the wheel: make_wheel.py VERSION_FILE OUTPUT.whl FILE...

Every FILE goes into the package folder `pipefill`. The same input gives the same bytes: entries are
sorted, carry a fixed time, and are stored with fixed rights.
"""

import base64
import hashlib
import os
import sys
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold
TAG = "py3-none-linux_x86_64"

METADATA = """Metadata-Version: 2.1
Name: pipefill
Version: {version}
Summary: Gives the idle time of pipeline-parallel training to other work
Requires-Python: >=3.9
"""

WHEEL = """Wheel-Version: 1.0
Generator: pipefill
Root-Is-Purelib: false
Tag: {tag}
"""


def add(archive, name, content):
    """Stores one file and returns its line of RECORD."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(content))


def main(version_file, output, *files):
    with open(version_file, encoding="utf-8") as file:
        version = file.read().strip()
    name = "pipefill-%s-%s.whl" % (version, TAG)
    if os.path.basename(output) != name:
        sys.exit("wheel has the wrong name: output=%s; call it %s" % (output, name))
    info = "pipefill-%s.dist-info" % version
    contents = {
        info + "/METADATA": METADATA.format(version=version).encode(),
        info + "/WHEEL": WHEEL.format(tag=TAG).encode(),
    }
    for path in files:
        with open(path, "rb") as file:
            contents["pipefill/" + os.path.basename(path)] = file.read()
    with zipfile.ZipFile(output, "w") as archive:
        record = [add(archive, name, contents[name]) for name in sorted(contents)]
        record.append("%s/RECORD,,\n" % info)
        add(archive, info + "/RECORD", "".join(record).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
