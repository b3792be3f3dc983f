"""Reads and writes criteria of PhonePe's Mustang.

`reader.py` has forms and predicates, `details.py` the caveats, `operations.py` the pre-operations, `paths.py` JSONPath.
`writer.py` goes the other way, with `detail_writer.py` for caveats and `filter_writer.py` for the filters of JSONPath.
"""
