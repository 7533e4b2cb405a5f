"""Histograms of payloads of one to three bytes."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_estimators.inference.support_counts import histogram
from deniable_shared.errors import DecodeError

SIZES = {1: 200, 2: 40_000, 3: 70_000}


@pytest.mark.parametrize("reports", [0, 1, 2, 1_000])
@pytest.mark.parametrize("width", SIZES)
def test_each_index_is_counted_as_often_as_it_is_in_a_row(width: int, reports: int) -> None:
    size = SIZES[width]
    indices = [(7 + 69_997 * number) % size for number in range(reports)]
    payloads = b"".join(index.to_bytes(width, "big") for index in indices)
    rows = np.frombuffer(payloads, np.uint8).reshape(reports, width)
    expected = np.bincount(np.array(indices, np.int64), minlength=size)
    for same in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
        assert np.array_equal(histogram(same, size), expected)


@pytest.mark.parametrize("width", SIZES)
def test_an_index_beyond_the_last_is_refused_in_any_row(width: int) -> None:
    rows = np.zeros((3, width), np.uint8)
    for place in range(3):
        wrong = rows.copy()
        wrong[place] = 255
        with pytest.raises(DecodeError, match=f"indices below {SIZES[width]}"):
            histogram(wrong, SIZES[width])
