"""Reads and writes criteria of PhonePe's Mustang.

`reader.py` has forms and predicates, `details.py` the caveats, `operations.py` the pre-operations, `paths.py` JSONPath.
`writer.py` goes the other way, with `predicate_writer.py` for caveats and for the filters of JSONPath.
"""
