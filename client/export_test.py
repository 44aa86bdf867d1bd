"""Checks what libpipefill.so shows and needs: export_test.py libpipefill.so"""

import re
import subprocess
import sys

# glibc of 2012; older systems run no Python 3.9 worth mentioning.
GLIBC_MAX = (2, 17)
LIBRARIES = {"libc.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libm.so.6", "libpthread.so.0"}


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def find_mistakes(library, header):
    exported = {line.split()[-1] for line in output_of("nm", "-D", "--defined-only", library).splitlines()}
    with open(header, encoding="utf-8") as file:
        declared = set(re.findall(r"PF_EXPORT[^;(]*?\b(pf_\w+)\(", file.read()))
    if not declared:
        yield "no declaration found in %s" % header
    if exported != declared:
        yield "exported and declared symbols differ: %s" % sorted(exported ^ declared)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", library)))
    if not needed <= LIBRARIES:
        yield "needs libraries that a process may not have: %s" % sorted(needed - LIBRARIES)
    for version in set(re.findall(r"GLIBC_([0-9.]+)", output_of("objdump", "-T", library))):
        if tuple(map(int, version.split("."))) > GLIBC_MAX:
            yield "needs a glibc newer than %s: GLIBC_%s" % (".".join(map(str, GLIBC_MAX)), version)


if __name__ == "__main__":
    mistakes = list(find_mistakes(*sys.argv[1:]))
    print("\n".join(mistakes) or "ok")
    sys.exit(1 if mistakes else 0)
