"""How a stored dictionary of elements calls the elements of the lambdas around.

In memory an element has a name that no text may contain (language/lambdas.py), with the number of lambdas around its
own. On disk it has a plain name that no rule of the dictionary uses, and lambdas count those around them from zero, as
in a rule. So operands and predicates of elements are written and read as all others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ruledex.language.lambdas import element_level, element_name, is_of_element, map_paths

Path = tuple[str, ...]


class ElementNames:
    """The names of elements on disk, the outermost first."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._level = {name: level for level, name in enumerate(self.names)}

    @staticmethod
    def apart_from(taken: Iterable[str], n_levels: int) -> ElementNames:
        """Return names for some levels, none of which is taken."""
        base, used = "element", set(taken)
        while any(f"{base}{level}" in used for level in range(n_levels)):
            base += "_"
        return ElementNames([f"{base}{level}" for level in range(n_levels)])

    def path_out(self, path: Path) -> Path:
        """Return a path as it is on disk."""
        if not self.names or not path or not is_of_element(path):
            return path
        level = element_level(path)
        first = self.names[level] if level < len(self.names) else element_name(level - len(self.names))
        return first, *path[1:]

    def path_in(self, path: Path) -> Path:
        """Return a path as it is in memory."""
        if not self.names or not path:
            return path
        if is_of_element(path):
            return element_name(element_level(path) + len(self.names)), *path[1:]
        return (element_name(self._level[path[0]]), *path[1:]) if path[0] in self._level else path

    def node_out(self, node: Any) -> Any:
        """Return an operand or a predicate as it is on disk."""
        return map_paths(node, self.path_out, -len(self.names)) if self.names else node

    def node_in(self, node: Any) -> Any:
        """Return an operand or a predicate as it is in memory."""
        return map_paths(node, self.path_in, len(self.names)) if self.names else node
