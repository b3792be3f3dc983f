"""Reads and writes criteria of PhonePe's Mustang.

`criteria.py` has forms and predicates, `details.py` the caveats, `operations.py` the pre-operations, `paths.py` and
`filters.py` JSONPath. `writing.py` goes the other way, with what files that end in `_out` make of the same parts.
"""

from ruledex.formats.mustang.criteria import Criteria
from ruledex.formats.mustang.writing import with_id, write_rule

translator = Criteria

__all__ = ["translator", "with_id", "write_rule"]
