"""The laboratory: the same numbers as the program, on one machine and on several processes."""

from __future__ import annotations

import concurrent.futures
import csv
import json
import os
import signal
import subprocess
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from wetstring import _native, lab

from conftest import module, program

SCENARIO = {"protocol": "kermit", "line": ["9600,delay=250ms,ber=1e-5"], "file": {"bytes": 20_000}}
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
values = [1, 2, 3]
"""


def test_a_run_is_what_the_program_says(tmp_path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(lab._toml(SCENARIO))
    ours = lab.run(path, seed=7)
    said = subprocess.run([program("wst"), "lab", "run", "--json", "--seed", "7", path],
                          capture_output=True, text=True, check=True)
    theirs = json.loads(said.stdout.splitlines()[0])
    assert ours == {key: value for key, value in theirs.items() if key not in ("v", "event")}
    assert ours == lab.run(SCENARIO, seed=7) and ours != lab.run(SCENARIO, seed=8)
    assert lab.run(SCENARIO, seed=7, file__bytes=100)["bytes"] == 100


def test_built_in_scenarios() -> None:
    run = lab.run(lab.scenarios()[0], seed=3, file__bytes=2000)
    assert run["seed"] == 3 and run["bytes"] == 2000
    with pytest.raises(KeyError):
        lab.run("no-such-scenario")
    with pytest.raises(ValueError, match="protocl"):
        lab.run({"protocl": "kermit"})


def test_a_trace_has_lines() -> None:
    lines = lab.trace(SCENARIO)
    assert len(lines) > 100


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SWEEP)
    return path


def test_rows_do_not_depend_on_who_computed_them(small, tmp_path) -> None:
    here = lab.sweep(small)
    assert len(here) == 6 and all(row["done"] is True for row in here)
    with concurrent.futures.ProcessPoolExecutor(2) as two:
        assert lab.sweep(small, executor=two) == here
    said = subprocess.run([program("wst"), "lab", "sweep", small, "-o", tmp_path / "theirs.csv"],
                          capture_output=True)
    assert said.returncode == 0, said.stderr
    lab.sweep(small, store=tmp_path / "ours.csv")
    assert (tmp_path / "ours.csv").read_bytes() == (tmp_path / "theirs.csv").read_bytes()


def test_what_is_stored_is_not_computed_again(small, tmp_path) -> None:
    store = tmp_path / "rows.csv"
    some = lab.sweep(small, store=store, points=[1, 4])
    text = store.read_text()
    # A mark in a value shows who wrote the row; the last line is cut short, as by a machine that stopped.
    marked = text.replace(",true,done,", ",true,marked,")
    assert marked.count(",marked,") == 2
    store.write_text(marked + "0123")
    rows = lab.sweep(small, store=store)
    assert [row["point"] for row in rows if row["ending"] == "marked"] == [1, 4]
    assert [row["ending"] for row in some] == ["done", "done"]
    with open(store, newline="") as file:
        assert [row["point"] for row in csv.DictReader(file)] == [str(n) for n in range(6)]


def die_once(mark: str) -> None:
    """In a worker: kills it, the first time."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_loses_nothing(small, tmp_path) -> None:
    store = tmp_path / "rows.ndjson"
    with concurrent.futures.ProcessPoolExecutor(2) as two:
        lab.sweep(small, executor=two, store=store, points=[0, 1])
        two.submit(die_once, str(tmp_path / "mark"))
        with pytest.raises(BrokenProcessPool):
            lab.sweep(small, executor=two, store=store, chunk=1)
    kept = store.read_text().count("\n")
    assert 2 <= kept < 6
    with concurrent.futures.ProcessPoolExecutor(2) as two:
        rows = lab.sweep(small, executor=two, store=store)
    assert rows == lab.sweep(small)


def test_a_frame(small) -> None:
    module("pandas")
    frame = lab.frame(lab.sweep(small))
    assert list(frame["point"]) == list(range(6))


def test_a_published_table() -> None:
    assert "kermit-news-5" in lab.tables()
    cells = lab.table("kermit-news-7")
    assert {cell["table"] for cell in cells} == {"kermit-news-7"}
    assert all(cell["verdict"] for cell in cells)
    numbers = [cell for cell in cells if isinstance(cell["published"], float)]
    assert numbers and all(isinstance(cell["ours"], float) for cell in numbers)
    with pytest.raises(KeyError, match="kermit-news-1"):
        lab.table("nonsense")


def test_the_runs_of_a_table_are_all_needed() -> None:
    table = _native.Table("rfc662")
    first = table.run(0)
    with pytest.raises(ValueError, match=f"outcomes of {len(table)} runs, got 1"):
        table.cells([first])
    with pytest.raises(IndexError):
        table.run(len(table))


def test_the_notebook() -> None:
    """Each of its cells runs, in their order."""
    module("pandas")
    module("matplotlib").use("agg")
    path = Path(__file__).parents[1] / "notebooks/kermit-news-1993.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "without what it printed"
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
    delay = names["delay"]
    assert (delay["verdict"] == "reproduced").sum() > len(delay) / 2
    assert len(names["seconds"](delay)) == 16
