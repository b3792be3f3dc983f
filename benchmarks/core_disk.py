"""What an index costs on disk, to open, and in the memory of the processes that map it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson

from core_timing import WALL, seconds, spread
from ruledex.index import Index

# A process of its own, since a worker that opens an index has nothing warm; its imports are not counted.
OPENING = """
import json, sys, time
from ruledex.index import Index

def resident():
    lines = open("/proc/self/smaps_rollup").read().splitlines()[1:]
    fields = {line.split()[0].rstrip(":"): int(line.split()[1]) * 1024 for line in lines}
    return {"all": fields["Rss"], "private": fields["Anonymous"]}

before = resident()
start = time.perf_counter()
index = Index.open(sys.argv[1])
elapsed = time.perf_counter() - start
opened = resident()
for event in json.loads(sys.stdin.read()):
    index.match(event)
after = resident()
memory = {
    "opened_private": opened["private"] - before["private"],
    "matched_private": after["private"] - before["private"],
    "matched_shared": (after["all"] - after["private"]) - (before["all"] - before["private"]),
}
print(json.dumps({"seconds": elapsed, "memory": memory}))
"""


def open_elsewhere(root: Path, cache: Path, events: list[Any]) -> dict[str, Any]:
    """Open an index in a new process, with receipts in `cache`, and match `events` there."""
    environment = os.environ | {"RULEDEX_CACHE": str(cache)}
    command = [sys.executable, "-c", OPENING, str(root)]
    done = subprocess.run(command, env=environment, input=orjson.dumps(events), stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))


def folder_bytes(root: Path, ending: str = "") -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and path.name.endswith(ending))


def measure_disk(index: Index, events: list[Any], n_rounds: int) -> dict[str, Any]:
    """Save an index to a folder that is gone afterwards, and open it with and without a receipt."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "index")
        saving = seconds(lambda: index.save(root), WALL)
        fresh, known = [], []
        for place in range(n_rounds):
            cache = Path(folder, f"cache{place}")
            fresh.append(open_elsewhere(root, cache, [])["seconds"])
            known.append(open_elsewhere(root, cache, [])["seconds"])
        memory = open_elsewhere(root, cache, events)["memory"]
        return {
            "bytes": folder_bytes(root),
            "bytes_of_texts": folder_bytes(root, ".parquet"),
            "save_seconds": saving,
            "open_without_receipt": spread(fresh),
            "open_with_receipt": spread(known),
            "process_memory": memory,
        }
