"""What building costs: the whole from a table of texts, and its parts; orjson on the same rules as JSON trees."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from core_timing import CPU, seconds, spread
from ruledex.dictionary.literal_table import LiteralTable
from ruledex.index import Index
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.structured import to_structured
from ruledex.language.tree import MAX_DEPTH
from ruledex.program.predicate_table import PredicateTable
from ruledex.program.rule_scanner import scan_texts

RULES_A_CHUNK = 50_000


def read_texts(texts: pa.Array) -> None:
    """The parser's part of a build: the structure of all rules scanned, each distinct predicate parsed and made."""
    schema = Schema()
    predicates = PredicateTable(LiteralTable(schema), schema)
    for start in range(0, len(texts), RULES_A_CHUNK):
        chunk = texts[start : start + RULES_A_CHUNK]
        _, offsets, data = chunk.buffers()
        bounds = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        text = np.frombuffer(data, np.uint8)
        predicates.intern(text, scan_texts(text, bounds, MAX_DEPTH))


def measure_build(rules: pa.Table, n_rounds: int) -> tuple[Index, dict[str, Any]]:
    """An index of the rules with the default engine, and the seconds that it took and that its parts take."""
    texts = rules["expr"].combine_chunks().cast(pa.large_string())
    whole, parser = [], []
    for _ in range(n_rounds):
        index = None
        gc.collect()
        start = CPU()
        index = Index.build(rules)
        whole.append(CPU() - start)
        gc.collect()
        parser.append(seconds(lambda: read_texts(texts)))
    assert index is not None
    return index, {"whole": spread(whole), "parser": spread(parser)}


def measure_orjson(rules: pa.Table, n_rounds: int) -> dict[str, Any]:
    """The seconds that orjson takes for the same rules as JSON trees, one by one, none of them kept."""
    documents = [orjson.dumps(to_structured(parse(text))) for text in rules["expr"].to_pylist()]

    def load_all() -> None:
        for document in documents:
            orjson.loads(document)

    load_all()
    gc.collect()
    return {
        "bytes": sum(map(len, documents)),
        "seconds": spread([seconds(load_all) for _ in range(n_rounds)]),
    }
