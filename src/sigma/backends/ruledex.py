"""Where pySigma and sigma-cli look for the backend: `sigma convert -t ruledex`."""

from ruledex.formats.sigma.backend import RuledexBackend

__all__ = ["RuledexBackend"]
