"""How torch computes here: on one thread, with the same kernels on every machine that has AVX2.

Every example calls `prepare` before torch is loaded. One thread: a device of pipefill is one core
here. The same kernels: OpenBLAS picks its slowest ones on processors that are newer than itself,
and a result may differ in its last bit between two kinds of kernel.
"""

import pathlib
from typing import MutableMapping

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_KERNEL_VARIABLE = "OPENBLAS_CORETYPE"


def prepare(environment: MutableMapping[str, str]) -> None:
    """`environment`: os.environ, or that of a process to be started. A kernel that the user has
    chosen is kept."""
    for variable in _THREAD_VARIABLES:
        environment[variable] = "1"
    if _has_avx2():
        environment.setdefault(_KERNEL_VARIABLE, "Haswell")


def _has_avx2() -> bool:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return any(line.startswith("flags") and "avx2" in line.split() for line in lines.splitlines())
