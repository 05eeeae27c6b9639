"""The laboratory: transfers over models of lines, in virtual time.

    >>> from wetstring import lab
    >>> run = lab.run({"protocol": "zmodem", "line": ["9600,delay=250ms"], "file": {"bytes": 20000}, "seed": 1})
    >>> run["done"], run["bytes"]
    (True, 20000)
    >>> run == lab.run({"protocol": "zmodem", "line": ["9600,delay=250ms"], "file": {"bytes": 20000}, "seed": 1})
    True

A sweep is a scenario over ranges of its keys. Its rows do not depend on who computed them, or where.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path as _Path
from typing import Any, Union

from . import _native

Path = Union[str, "os.PathLike[str]"]
Row = dict[str, Any]

#: The scenarios that come with the laboratory.
scenarios = _native.scenario_names
#: The sweeps that come with it.
sweeps = _native.sweep_names


def _toml(table: Mapping[str, Any], prefix: str = "") -> str:
    """A table in TOML: as much of it as a scenario has."""
    plain, tables = [], []
    for key, value in table.items():
        if isinstance(value, Mapping):
            tables.append(f"[{prefix}{key}]\n" + _toml(value, f"{prefix}{key}."))
        else:
            plain.append(f"{key} = {_value(value)}\n")
    return "".join(plain + tables)


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _text(scenario: Path | Mapping[str, Any]) -> tuple[str, str, str | None]:
    """Name, text and directory of a scenario."""
    if isinstance(scenario, Mapping):
        return "scenario", _toml(scenario), None
    name = os.fspath(scenario)
    text = _native.scenario_text(name)
    if text is not None:
        return name, text, None
    path = _Path(name)
    if not path.exists() and path.suffix != ".toml":
        known = ", ".join(scenarios())
        raise KeyError(f"expected a scenario ({known}) or a TOML file, got {name}")
    return name, path.read_text(encoding="utf-8"), str(path.parent)


def run(
    scenario: Path | Mapping[str, Any], *, seed: int | None = None, **overrides: Any
) -> dict[str, Any]:
    """Runs a scenario: its name, a TOML file, or a dictionary with the keys of one.

    Keyword arguments override keys; in a name ``__`` stands for a dot (``file__bytes=1000``). Returns the fields of the
    event ``result`` of ``wst lab run --json``.
    """
    return _run(scenario, seed, overrides, False)[0]


def trace(
    scenario: Path | Mapping[str, Any], *, seed: int | None = None, **overrides: Any
) -> list[str]:
    """The lines of the trace of a run."""
    return _run(scenario, seed, overrides, True)[1]


def tables() -> dict[str, str]:
    """The published tables that the laboratory reproduces: names and titles.

    >>> tables()["rfc662"]
    'RFC 662: files from one Multics to another over the ARPANET, with small and with large output buffers'
    """
    return dict(_native.tables())


def _processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def table(name: str) -> list[Row]:
    """Runs a published table, on all processors: its cells, each with what was published and what comes out here.

    The fields are those of the event ``cell`` of ``wst lab table --json``: ``row``, ``col``, ``published``, ``ours``, ``unit``,
    ``ratio``, ``verdict``, ``reason``, ``fitted``. `frame` makes a DataFrame of them.
    """
    known = tables()
    if name not in known:
        raise KeyError(f"expected a table ({', '.join(known)}), got {name}")
    native = _native.Table(name)
    pool = concurrent.futures.ThreadPoolExecutor(_processors())
    try:
        outcomes = list(pool.map(native.run, range(len(native))))
    finally:
        # After Ctrl-C or a failure, only the runs that have begun are finished.
        pool.shutdown(cancel_futures=True)
    return [json.loads(cell) for cell in native.cells(outcomes)]


def _run(
    scenario: Path | Mapping[str, Any], seed: int | None, overrides: Mapping[str, Any], keep: bool
) -> tuple[dict[str, Any], list[str]]:
    name, text, directory = _text(scenario)
    sets = [f"{key.replace('__', '.')}={_set(value)}" for key, value in overrides.items()]
    if seed is not None:
        sets.append(f"seed={seed}")
    line, lines = _native.run_scenario(name, text, sets, directory, keep)
    event: dict[str, Any] = json.loads(line)
    return {key: value for key, value in event.items() if key not in ("v", "event")}, lines


def _set(value: Any) -> str:
    return value if isinstance(value, str) else _value(value)


#: What a process needs to know of a sweep: name, text (none for a built-in one), directory.
_Key = tuple[str, Union[str, None], Union[str, None]]


@functools.lru_cache(maxsize=4)
def _sweep(key: _Key) -> _native.Sweep:
    return _native.Sweep(*key)


def _points(key: _Key, points: list[int]) -> list[list[str]]:
    """Runs points of a sweep: the work of a process of an executor."""
    sweep = _sweep(key)
    return [sweep.run(point) for point in points]


def _key(sweep: Path) -> _Key:
    name = os.fspath(sweep)
    if name in sweeps():
        return name, None, None
    path = _Path(name)
    if path.suffix != ".toml":
        known = ", ".join(sweeps())
        raise KeyError(f"expected a sweep ({known}) or a TOML file, got {name}")
    return path.stem, path.read_text(encoding="utf-8"), str(path.parent.resolve())


class _Store:
    """A file of rows, as ``wst lab sweep -o`` writes it. A line is written as soon as its point is done."""

    def __init__(self, sweep: _native.Sweep, path: Path | None) -> None:
        self.rows: dict[int, list[str]] = {}
        self._sweep = sweep
        self._path = None if path is None else _Path(path)
        if self._path is None:
            return
        whole = 0
        if self._path.exists():
            text = self._path.read_text(encoding="utf-8")
            rows, whole = sweep.read(self._path.name, text)
            self.rows = {int(row[1]): row for row in rows}
            # What a machine that stopped has written of a line is computed again.
            with open(self._path, "r+b") as file:
                file.truncate(whole)
        if whole == 0:
            self._path.write_text(sweep.header(self._path.name), encoding="utf-8", newline="")

    def add(self, rows: list[list[str]]) -> None:
        self.rows.update((int(row[1]), row) for row in rows)
        if self._path is not None:
            lines = [self._sweep.line(self._path.name, row) for row in rows]
            with open(self._path, "a", encoding="utf-8", newline="") as file:
                file.write("".join(lines))

    def finish(self) -> None:
        """Puts the lines into the order of the points."""
        if self._path is None:
            return
        name = self._path.name
        lines = [self._sweep.line(name, self.rows[point]) for point in sorted(self.rows)]
        beside = self._path.with_name(name + ".new")
        beside.write_text(self._sweep.header(name) + "".join(lines), encoding="utf-8", newline="")
        beside.replace(self._path)


def sweep(
    sweep: Path,
    *,
    executor: concurrent.futures.Executor | None = None,
    store: Path | None = None,
    points: Iterable[int] | None = None,
    chunk: int | None = None,
) -> list[Row]:
    """Runs a sweep, and returns a row for each point, in their order; `frame` makes a DataFrame of them.

    ``executor`` is any of ``concurrent.futures``, in this process or elsewhere (Dask's ``Client.get_executor()``,
    `wetstring.ray.RayExecutor`); the default is a thread for each processor. With ``store``, a file of .csv or .ndjson,
    each row is written when it is there, and a row that is there is not computed again: after a failure the same call
    does the rest. ``points`` are some of the points, ``chunk`` is how many are one task.
    """
    key = _key(sweep)
    native = _sweep(key)
    kept = _Store(native, store)
    wanted = sorted(set(range(len(native)) if points is None else points))
    jobs = [point for point in wanted if point not in kept.rows]
    own = executor is None
    engine = executor or concurrent.futures.ThreadPoolExecutor(_processors())
    size = chunk or max(1, min(16, len(jobs) // 64))
    parts = [jobs[at : at + size] for at in range(0, len(jobs), size)]
    futures: list[Any] = []
    failure: BaseException | None = None
    try:
        futures = [engine.submit(_points, key, part) for part in parts]
        for future in _as_completed(futures):
            try:
                kept.add(future.result())
            except Exception as error:
                # A worker that was lost: what the others have is kept first.
                failure = failure or error
            # Dask computes again what somebody still holds of a worker that was lost, though it is stored here.
            futures.remove(future)
            del future
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    finally:
        if own:
            engine.shutdown(cancel_futures=True)
    if failure is not None:
        raise failure
    kept.finish()
    names = native.columns
    return [_row(native, names, kept.rows[point]) for point in wanted]


def _as_completed(futures: list[Any]) -> Iterable[Any]:
    if all(isinstance(future, concurrent.futures.Future) for future in futures):
        return concurrent.futures.as_completed(futures)
    return list(futures)


def _row(native: _native.Sweep, names: list[str], values: list[str]) -> Row:
    row: Row = json.loads(native.line("row.ndjson", values))
    return {name: row[name] for name in names}


def frame(rows: list[Row]) -> Any:
    """The rows as a DataFrame of pandas, which must be installed."""
    import pandas

    return pandas.DataFrame(rows)
