"""ε as a number: plain where it is shown, and exact on request."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

from deniable_client.epsilon import Epsilon

TENTH = Epsilon(Fraction(1, 10))


def test_it_is_a_float_that_knows_its_fraction() -> None:
    assert TENTH == 0.1
    assert Fraction(1, 10) != TENTH
    assert TENTH.exact == Fraction(1, 10)
    assert TENTH < 1
    assert hash(TENTH) == hash(0.1)


def test_it_is_shown_as_people_write_it_and_is_a_number_in_json() -> None:
    assert f"{TENTH} {Epsilon(Fraction(7))!r} {Epsilon(Fraction(0))}" == "0.1 7 0"
    assert json.dumps(TENTH) == "0.1"


def test_a_copy_is_as_exact() -> None:
    for copied in (copy.deepcopy(TENTH), pickle.loads(pickle.dumps(TENTH))):  # noqa: S301  (our own)
        assert copied.exact == Fraction(1, 10)
