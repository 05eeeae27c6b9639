"""Sweeps on Ray: an executor of ``concurrent.futures`` whose tasks run on its cluster. Needs ``ray``.

    ray.init()                              # or address="auto"
    lab.sweep("paths", executor=RayExecutor(), store="rows.csv")

The package has to be installed where the tasks run. Ray runs a task again whose worker was lost (``max_retries=3``).
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

import ray


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)


class RayExecutor(concurrent.futures.Executor):
    """Submits to the cluster that ``ray.init`` has connected. Options are those of a task, such as ``max_retries=0``."""

    def __init__(self, **options: Any) -> None:
        task = ray.remote(_call)
        self._task = task.options(**options) if options else task
        self._running: set[concurrent.futures.Future[Any]] = set()

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> concurrent.futures.Future[Any]:
        """A task of the cluster."""
        reference = self._task.remote(fn, args, kwargs)
        future: concurrent.futures.Future[Any] = reference.future()
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        # Ray's own future does not end the task.
        future.add_done_callback(
            lambda done: ray.cancel(reference) if done.cancelled() else None
        )
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits for what was submitted, or cancels it; the cluster stays."""
        running = set(self._running)
        for future in running if cancel_futures else ():
            future.cancel()
        if wait:
            concurrent.futures.wait(running)
