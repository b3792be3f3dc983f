"""What one ordinary column costs to encode: ns per event, on whole columns and value by value, in one run.

    python benchmarks/columns.py                      1,000,000 events, and 20,000 value by value
    python benchmarks/columns.py --events 100000      fewer
    python benchmarks/columns.py --quick              10,000 events, and no page is written

Each form is one rule over a table of 20 ordinary columns. Times are processor time of one thread, for the whole
encoding of the events with this one rule: the best of three runs on whole columns, one run value by value. That is the
road which an event takes whose value no vector can tell. Writes docs/benchmarks/columns.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("RULEDEX_COMPILE", "now")  # before ruledex is imported: plain kernels are not what is measured

import numpy as np
import pyarrow as pa

from ruledex import Index, Schema
from ruledex.events.arrow.derived import DerivedColumns
from ruledex.events.arrow.encoder import ArrowEncoder
from ruledex.events.arrow.slots import SlotColumns

SEED = 20
N_EVENTS, N_QUICK, N_BY_VALUE, N_RUNS = 1_000_000, 10_000, 20_000, 3
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "columns.md"
FORMS = {
    "an integer": "clicks > 100",
    "a double": "score < 0.25D",
    "a text": "country = 'c7'",
    "an array of texts": "tags = 't3'",
    "a timestamp": "ts > TIMESTAMP '2024-03-01 00:00:00'",
    "DECIMAL(10, 2)": "price > 500.25",
    "DECIMAL(38, 18)": "rate < 0.5",
    "time of day": "hour(ts) BETWEEN 9 AND 17",
    "time of day in a zone": "hour(local) BETWEEN 9 AND 17",
    "day of the week": "dayofweek(ts) IN (1, 7)",
    "year and month": "month(day) = 3",
    "remainder": "event_id % 100 < 5",
    "product of a decimal": "price * clicks > 1000",
    "quotient": "clicks / views >= 0.02D",
    "two attributes": "clicks < views",
    "two decimals": "price < budget",
    "two texts": "city = home",
    "lower": "lower(email) = 'user7@example.com'",
    "length": "length(email) > 12",
    "substring": "substring(email, 1, 5) = 'user7'",
    "cast to a number": "CAST(code AS BIGINT) > 400",
    "cast to a text": "CAST(event_id AS STRING) = '77'",
    "hash of an integer": "pmod(hash(event_id), 100) < 10",
    "hash of a text": "pmod(xxhash64(email), 100) < 10",
    "CRC of a text": "crc32(email) % 100 < 10",
    "MD5 of a text": "md5(email) < '1'",
    "SHA-1 of a text": "sha1(email) < '1'",
    "SHA-256 of a text": "sha2(email, 256) < '1'",
    "concat": "concat(country, '-', device) = 'c7-d3'",
    "greatest": "greatest(clicks, views) > 500",
    "least of decimals": "least(price, budget) < 20",
    "the last week": "ts > now() - INTERVAL 7 DAY",
    "the last month in a zone": "local > now() - INTERVAL 1 MONTH",
}


def events(n_events: int) -> pa.Table:
    """Twenty columns, most of them with as many values as events."""
    draw = np.random.default_rng(SEED)

    def decimals(most: int, precision: int, scale: int, factor: int = 1) -> pa.Array:
        numbers = draw.integers(0, most, n_events)
        words = np.zeros((n_events, 2), np.int64)
        if factor == 1:
            words[:, 0] = numbers
        else:
            whole = [int(number) * factor for number in numbers]
            words[:] = np.frombuffer(b"".join(n.to_bytes(16, "little") for n in whole), np.int64).reshape(-1, 2)
        return pa.Array.from_buffers(pa.decimal128(precision, scale), n_events, [None, pa.py_buffer(words)])

    def texts(form: str, most: int) -> pa.Array:
        return pa.array([form.format(number) for number in draw.integers(0, most, n_events)])

    year = 366 * 86_400_000_000
    moments = draw.integers(0, year, n_events) + 1_704_067_200_000_000
    lists = pa.ListArray.from_arrays(np.arange(0, 3 * n_events + 1, 3, dtype=np.int32), texts("t{}", 50).take(
        pa.array(draw.integers(0, n_events, 3 * n_events))
    ))  # fmt: skip
    return pa.table(
        {
            "event_id": pa.array(np.arange(n_events)),
            "clicks": pa.array(draw.integers(0, 1_000, n_events)),
            "views": pa.array(draw.integers(0, 100_000, n_events)),
            "small": pa.array(draw.integers(0, 100, n_events), pa.int32()),
            "score": pa.array(draw.random(n_events)),
            "ratio": pa.array(draw.random(n_events), pa.float32()),
            "price": decimals(100_000, 10, 2),
            "budget": decimals(100_000_000, 18, 4),
            "rate": decimals(1_000_000, 38, 18, 10**13),
            "country": texts("c{}", 200),
            "city": texts("city{}", 5_000),
            "home": texts("city{}", 5_000),
            "email": texts("User{}@example.com", 10 * n_events),
            "code": texts("{}", 1_000_000),
            "device": texts("d{}", 10),
            "ts": pa.array(moments, pa.timestamp("us", "UTC")),
            "local": pa.array(moments, pa.timestamp("us")),
            "day": pa.array((moments // 86_400_000_000).astype(np.int32), pa.date32()),
            "flag": pa.array(draw.random(n_events) < 0.5),
            "tags": lists,
        }
    )


def best(encoder: ArrowEncoder, table: pa.Table, n_runs: int = N_RUNS) -> float:
    """Return the least processor time of some runs, in ns per event."""
    taken = []
    for _ in range(n_runs):
        start = time.thread_time_ns()
        encoder.encode(table)
        taken.append((time.thread_time_ns() - start) / table.num_rows)
    return min(taken)


def measure(rule: str, table: pa.Table, part: pa.Table) -> tuple[float, float]:
    """Return the ns per event on whole columns, and value by value."""
    zone = "America/New_York" if "local" in rule else "UTC"
    dictionary = Index.build([(1, rule)], schema=Schema(time_zone=zone))._state.dictionary
    encoder = ArrowEncoder(dictionary)
    encoder.encode(part)
    whole = best(encoder, table)
    with (
        patch.object(SlotColumns, "_encode_ordered", lambda *_: False),
        patch.object(DerivedColumns, "compute", lambda *_: None),
    ):
        return whole, best(ArrowEncoder(dictionary), part, 1)


def main() -> None:
    """Measure all forms and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--events", type=int, default=N_EVENTS)
    given = parser.parse_args()
    is_quick = given.quick
    table = events(N_QUICK if is_quick else given.events)
    part = table[: min(N_BY_VALUE, table.num_rows // 20)]
    rows = []
    measure(FORMS["an integer"], table, part)  # the first one loads what is compiled
    for form, rule in FORMS.items():
        whole, by_value = measure(rule, table, part)
        rows.append(f"| {form} | `{rule}` | {whole:,.0f} | {by_value:,.0f} |")
        print(rows[-1], flush=True)
    if is_quick:
        return
    head = [
        "# What one column costs",
        "",
        f"Written by `benchmarks/columns.py`: {table.num_rows:,} events of {table.num_columns} columns, one rule each",
        f"time, ns of processor time per event to encode them. One thread of {os.cpu_count()} cores,",
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}. Value by value is the road",
        "that an event takes whose value no vector can tell, where each distinct value is computed once, in Python,",
        f"on {part.num_rows:,} of the events.",
        "",
        "| form | rule | whole columns | value by value |",
        "| --- | --- | ---: | ---: |",
    ]
    PAGE.write_text("\n".join([*head, *rows]) + "\n")


if __name__ == "__main__":
    main()
