"""Checks which shared libraries pipefill is started with: libraries_test.py pipefill"""

import re
import subprocess
import sys

# Those of which Debian has no archive, and those of every program.
LIBRARIES = {
    "libspdlog.so.1.10", "libfmt.so.9", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
    "ld-linux-x86-64.so.2",
}


def find_mistakes(program):
    needed = set(re.findall(r"NEEDED.*\[(.*)\]",
                            subprocess.run(["readelf", "-d", program], check=True, stdout=subprocess.PIPE,
                                           text=True).stdout))
    if not needed:
        yield "no library found in %s" % program
    if not needed <= LIBRARIES:
        yield "needs libraries that make its start longer: %s" % sorted(needed - LIBRARIES)


if __name__ == "__main__":
    mistakes = list(find_mistakes(*sys.argv[1:]))
    print("\n".join(mistakes) or "ok")
    sys.exit(1 if mistakes else 0)
