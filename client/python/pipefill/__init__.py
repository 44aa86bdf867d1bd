"""pipefill gives the idle time of pipeline-parallel training to other work.

A training run reports where its device idles:

    job = pipefill.attach("gpt", rank=rank, ranks=ranks, stage=stage, stages=stages)
    job.watch(pipeline, optimizer)

A fill job asks for that time:

    for batch in pipefill.fill(loader):
        process(batch)

Both run unchanged, and with the same results, where there is no pipefill.
"""

from ._fill import AttachError, Fill, FillTask, TaskStats, default_task, fill
from ._main_job import MainJob, attach
from ._version import __version__

__all__ = [
    "AttachError",
    "Fill",
    "FillTask",
    "MainJob",
    "TaskStats",
    "__version__",
    "attach",
    "default_task",
    "fill",
]
