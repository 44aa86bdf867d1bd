"""What schedulerd has chosen for this task."""

import json
import logging
import os

_VARIABLE = "PIPEFILL_CONFIG"


def task_config():
    """The configuration chosen out of the job's profile, as a dict; {} if none was, as when running alone.

    name: of the configuration. batch_size: what the task should do at a time; 0 or absent = its own default.
    memory_saving: "plain", "checkpointing" or "offload".
    """
    text = os.environ.get(_VARIABLE, "")
    if not text:
        return {}
    try:
        config = json.loads(text)
    except ValueError:
        config = None
    if not isinstance(config, dict):
        logging.getLogger("pipefill").warning(
            "%s is no JSON object, so the task's own defaults hold: %s", _VARIABLE, text)
        return {}
    return config
