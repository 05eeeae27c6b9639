"""Sweeps on Dask and on Ray, each a local cluster of two processes, one of which is killed in the midst of it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from wetstring import lab

from conftest import module

SWEEP = """title = "small"
[base]
protocol = "kermit"
line = "9600,delay=250ms"
file = { made = "random", bytes = 4000 }
[[range]]
key = "both.window"
name = "window"
values = [1, 4]
[[range]]
key = "seed"
name = "seed"
values = [1, 2, 3, 4, 5, 6]
"""
#: The point whose worker dies, once the store has this many rows of the second sweep.
DEADLY, AFTER = 11, 3


def note(log: Path, line: str) -> None:
    with open(log, "a") as file:
        file.write(line + "\n")


def noted(folder: str, run: Callable[[Any, list[int]], Any], key: Any, points: list[int]) -> Any:
    """In a worker: notes what it begins. At the deadly point it kills itself, the first time, and notes what is stored."""
    log, store = Path(folder, "log"), Path(folder, "rows.csv")
    note(log, f"{os.getpid()} {' '.join(map(str, points))}")
    if DEADLY in points:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(Path(folder, "mark"), os.O_CREAT | os.O_EXCL))
            while len(rows := store.read_text().splitlines()) < 1 + 2 + AFTER:
                time.sleep(0.01)
            stored = [row.split(",")[1] for row in rows[1:]]
            note(log, f"dead {' '.join(stored)}")
            os.kill(os.getpid(), signal.SIGKILL)
    return run(key, points)


class Noting(concurrent.futures.Executor):
    """Another executor, whose tasks are noted."""

    def __init__(self, executor: concurrent.futures.Executor, folder: Path) -> None:
        self._executor, self._folder = executor, str(folder)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._executor.submit(noted, self._folder, fn, *args)


@contextlib.contextmanager
def dask() -> Iterator[concurrent.futures.Executor]:
    distributed = module("distributed")
    # The workers cannot import this file: its functions go to them whole.
    module("cloudpickle").register_pickle_by_value(sys.modules[__name__])
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@contextlib.contextmanager
def ray() -> Iterator[concurrent.futures.Executor]:
    # It is 245 MB: only who asks for it has to have it.
    cluster = module("ray") if os.environ.get("WETSTRING_RAY") == "1" else pytest.importorskip("ray")
    from wetstring.ray import RayExecutor

    cluster.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cluster.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield RayExecutor()
    finally:
        cluster.shutdown()


@pytest.mark.parametrize("cluster", [dask, ray])
def test_a_cluster_of_two_of_which_one_is_killed(
    cluster: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    path, store, log = tmp_path / "small.toml", tmp_path / "rows.csv", tmp_path / "log"
    path.write_text(SWEEP)
    here = lab.sweep(path)
    assert len(here) == 12
    with cluster() as executor:
        assert lab.sweep(path, executor=executor) == here
        noting = Noting(executor, tmp_path)
        lab.sweep(path, executor=noting, store=store, points=[0, 1])
        # Both systems give what the dead worker had to another one.
        assert lab.sweep(path, executor=noting, store=store, chunk=1) == here
    lines = log.read_text().splitlines()
    death = next(index for index, line in enumerate(lines) if line.startswith("dead"))
    stored = lines[death].split()[1:]
    assert len(stored) >= 2 + AFTER and str(DEADLY) not in stored
    begun = [point for line in lines for point in line.split()[1:] if not line.startswith("dead")]
    assert sorted(set(begun), key=int) == [str(point) for point in range(12)]
    # Of what was stored then nothing was begun again, and the point of the dead worker was.
    assert [begun.count(point) for point in stored] == [1] * len(stored)
    assert begun.count(str(DEADLY)) == 2
    assert len({line.split()[0] for line in lines}) >= 3
