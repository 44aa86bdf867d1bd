"""pipefill gives the idle time of pipeline-parallel training to other work.

A training run reports where its device idles:

    job = pipefill.attach("gpt", rank=rank, ranks=ranks, stage=stage, stages=stages)
    job.watch(pipeline, optimizer)

A fill job asks for that time:

    for batch in pipefill.fill(loader):
        process(batch)

or, where the work comes in pieces, for as many of them as fit:

    for begin, end in pipefill.elastic(len(samples), 1, 64):
        process(samples[begin:end])

or is an ordinary PyTorch training script, of which every layer waits:

    import pipefill.torch
    pipefill.torch.attach(model, optimizer)

All run unchanged, and with the same results, where there is no pipefill.
"""

from ._config import task_config
from ._fill import AttachError, Elastic, Fill, FillTask, TaskStats, default_task, elastic, fill
from ._main_job import MainJob, attach
from ._version import __version__

__all__ = [
    "AttachError",
    "Elastic",
    "Fill",
    "FillTask",
    "MainJob",
    "TaskStats",
    "__version__",
    "attach",
    "default_task",
    "elastic",
    "fill",
    "task_config",
]
