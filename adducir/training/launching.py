"""Several processes of one command on this machine, by torch's elastic launcher (torchrun's)."""

import logging
import signal
import sys
import uuid
from collections.abc import Sequence

from adducir.core.errors import MachineError


class ProcessFailedError(MachineError):
    """A process of a training stopped; its exit code is the command's, where it is one of ours."""


def launch(arguments: Sequence[str], count: int) -> None:
    """Run ``adducir`` with some arguments in so many processes, and wait for all of them.

    When one fails, the others are ended.

    Raises:
        ProcessFailedError: One failed; its own message is on stderr.
        KeyboardInterrupt: The user interrupted them.
    """
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # Its tables of failures say less than the processes' own messages.
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "adducir", *arguments)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise _failed(rank, count, failure.exitcode) from None


def _failed(rank: int, count: int, code: int) -> MachineError:
    who = f"process {rank} of {count}"
    if code < 0:
        return ProcessFailedError(
            f"{who} was killed ({signal.Signals(-code).name}), and the others were ended.",
            hint="Was there too little memory? The training goes on from its last snapshot when it "
            "is started again.",
        )
    error = ProcessFailedError(
        f"{who} stopped with exit code {code}, and the others were ended; its message is above."
    )
    error.exit_code = code
    return error
