"""Reads and writes criteria of PhonePe's Mustang.

`criteria.py` has forms and predicates, `details.py` the caveats, `operations.py` the pre-operations, `paths.py` and
`filters.py` JSONPath.
"""

from ruledex.formats.mustang.criteria import Criteria

translator = Criteria

__all__ = ["translator"]
