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
and, to go on where it was after a crash or on another device:

    pipefill.checkpoint(save=lambda: state_as_bytes(), load=restore)

All run unchanged, and with the same results, where there is no pipefill.
"""

from ._checkpoint import CheckpointError
from ._config import task_config
from ._coverage import DataCursor, OutputFile, elastic_range
from ._fill import (AttachError, CheckpointStats, Elastic, Fill, FillTask, TaskStats, checkpoint,
                    default_task, elastic, fill)
from ._main_job import MainJob, attach
from ._version import __version__

__all__ = [
    "AttachError",
    "CheckpointError",
    "CheckpointStats",
    "DataCursor",
    "Elastic",
    "Fill",
    "FillTask",
    "MainJob",
    "OutputFile",
    "TaskStats",
    "__version__",
    "attach",
    "checkpoint",
    "default_task",
    "elastic",
    "elastic_range",
    "fill",
    "task_config",
]
