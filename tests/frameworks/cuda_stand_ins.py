"""Lets the PyTorch of the Python registry load on a machine without a GPU.

Its wheel is linked with 3 GB of CUDA libraries, of which a machine without a GPU never runs a line but the
run time's registration of kernels. For each of the others this makes a small library with its name and
with all symbols that torch wants from it. A call of one ends the process.
"""

import collections
import pathlib
import re
import subprocess

_LIBRARY = re.compile(r"lib(cu|nccl|nv)\S*\.so\S*")
_SYMBOL = re.compile(r"_*(cu|CU|nccl|nv|p?nccl)[A-Za-z]")


def make(site):
    """Into the folder torch/lib below `site`. Returns the names of the libraries made."""
    folder = pathlib.Path(site) / "torch" / "lib"
    torch_libraries = sorted(folder.glob("*.so*"))
    installed = [*torch_libraries, *pathlib.Path(site).glob("nvidia/**/*.so*")]
    present = {library.name for library in installed}
    missing = sorted({name for library in torch_libraries for name in _needed(library)} - present)
    if not missing:
        return []
    wanted = {}
    for library in torch_libraries:
        wanted.update(_symbols(library, is_defined=False))
    for library in installed:
        for name in _symbols(library, is_defined=True):
            wanted.pop(name, None)
    for name in missing:
        _link(folder, name, {s: v for s, v in wanted.items() if _SYMBOL.match(s)})
    return missing


def _run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _needed(library):
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", _run("readelf", "-d", library))
    return [name for name in names if _LIBRARY.fullmatch(name)]


def _symbols(library, is_defined):
    """{name: version, "" if it has none} of all dynamic symbols."""
    symbols = {}
    for line in _run("readelf", "-W", "--dyn-syms", library).splitlines():
        words = line.split()
        if len(words) >= 8 and words[0][:-1].isdigit() and (words[6] != "UND") == is_defined:
            name, _, version = words[7].replace("@@", "@").partition("@")
            symbols[name] = version
    return symbols


def _link(folder, library, symbols):
    """All symbols lie at one address in memory that cannot run: good for data, and a call ends the process."""
    labels = "".join(f".globl {name}\n{name}:\n" for name in sorted(symbols))
    source = f".data\n.balign 4096\n{labels}.zero 65536\n.section .note.GNU-stack,\"\",@progbits\n"
    by_version = collections.defaultdict(list)
    for name, version in sorted(symbols.items()):
        by_version[version].append(name)
    versions = "".join(f"{version} {{ global: {'; '.join(names)}; }};\n"
                       for version, names in by_version.items() if version)
    source_file, version_file = folder / "stand_in.s", folder / "stand_in.map"
    source_file.write_text(source, encoding="ascii")
    version_file.write_text(versions, encoding="ascii")
    _run("gcc", "-shared", "-nostdlib", "-o", folder / library, source_file,
         f"-Wl,-soname,{library}", f"-Wl,--version-script={version_file}")
    source_file.unlink()
    version_file.unlink()
