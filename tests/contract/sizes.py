"""How large a test may be: compiled it is the size that is named, as plain Python a small part of it."""

from hypothesis import HealthCheck, settings

from ruledex.compiled.decorator import IS_DISABLED

COMPILED = not IS_DISABLED

DRAWN = settings(
    max_examples=100 if COMPILED else 25,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


def scaled(size, interpreted):
    """`size`, or `interpreted` where kernels run as plain Python."""
    return size if COMPILED else interpreted
