import numpy as np
import pytest

from ruledex.events.arrow.buffers import set_bits, take_doubles, take_integers

ALL = np.frombuffer(b"", np.uint8)


def read_only(array):
    array.flags.writeable = False
    return array


def bitmaps(density):
    """Bitmaps with their bits, and parts of them that begin and end anywhere."""
    rng = np.random.default_rng(1)
    for n_bytes in (1, 7, 8, 20, 33):
        bits = rng.random(8 * n_bytes) < density
        bitmap = read_only(np.packbits(bits, bitorder="little"))
        for _ in range(20):
            offset = int(rng.integers(0, 8 * n_bytes))
            length = int(rng.integers(0, 8 * n_bytes - offset + 1))
            yield bitmap, offset, length, np.flatnonzero(bits[offset : offset + length])


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5, 1.0])
def test_set_bits_are_found_at_any_offset_and_length(density):
    for bitmap, offset, length, expected in bitmaps(density):
        out = np.empty(length, np.int64)
        n_set = set_bits(bitmap, offset, length, out)
        assert out[:n_set].tolist() == expected.tolist()


def test_without_a_bitmap_all_values_are_there():
    for offset, length in ((0, 0), (0, 64), (3, 70), (64, 1), (100, 200)):
        out = np.empty(length, np.int64)
        assert set_bits(ALL, offset, length, out) == length
        assert out.tolist() == list(range(length))


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_of_any_width_are_taken_where_they_are_there(kind):
    rng = np.random.default_rng(2)
    width = np.dtype(kind)
    extremes = np.iinfo(width)
    for bitmap, offset, length, expected in bitmaps(0.4):
        values = rng.integers(extremes.min, extremes.max, length, width, endpoint=True)
        values[expected[:2]] = [extremes.min, extremes.max][: len(expected[:2])]
        places, out = np.empty(length, np.int64), np.empty(length, np.int64)
        data = read_only(values.view(np.uint8))
        n_taken = take_integers(bitmap, offset, length, data, width.itemsize, width.kind == "i", places, out)
        assert places[:n_taken].tolist() == expected.tolist()
        assert out[:n_taken].tolist() == values[expected].astype(np.int64).tolist()


@pytest.mark.parametrize("width", [np.float32, np.float64])
def test_doubles_are_taken_where_they_are_there_and_a_number(width):
    rng = np.random.default_rng(3)
    other = np.float64 if width is np.float32 else np.float32
    nothing = np.frombuffer(b"", other)
    for bitmap, offset, length, there in bitmaps(0.4):
        values = rng.standard_normal(length).astype(width)
        values[rng.random(length) < 0.3] = np.nan
        values[rng.random(length) < 0.1] = np.inf
        read_only(values)
        places, out = np.empty(length, np.int64), np.empty(length, np.float64)
        given = (values, nothing) if width is np.float32 else (nothing, values)
        n_taken = take_doubles(bitmap, offset, length, *given, places, out)  # type: ignore[call-arg]
        expected = there[~np.isnan(values[there])]
        assert places[:n_taken].tolist() == expected.tolist()
        assert out[:n_taken].tolist() == values[expected].astype(np.float64).tolist()
