"""`texts`: the share of people with each text of a public list.

The list is part of the request. Make it in advance, or from other data than these reports. Do not
list texts that a search of the same reports returned, because the search reads raw tallies.

One linear reading for each text (`linear_reading`), all with two-sided geometric noise. Texts
outside the list may share codes with a listed one; the interval includes any such addition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.noisy_sums import NoisySums, PreparedSums, estimate_rows
from deniable_aggregator.releases.kinds.text_lists import TEXTS, read_texts, text_reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.releases.kinds.contract import ReleaseContext

PARAMETERS = (TEXTS, EPSILON)
VERSION = 1


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSums:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("texts", PARAMETERS, arguments)
    epsilon = read_epsilon(complete["epsilon"])
    texts = read_texts("texts", complete["texts"], context)

    def show(sums: NoisySums) -> Mapping[str, object]:
        return {"estimates": estimate_rows(texts, sums)}

    return PreparedSums(
        mechanism="texts",
        version=VERSION,
        parameters={"texts": list(texts), "epsilon": decimal_text(epsilon)},
        epsilon=epsilon,
        reading=text_reading(context, texts),
        show=show,
        quantity="error of each frequency",
    )
