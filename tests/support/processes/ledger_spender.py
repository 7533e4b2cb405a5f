"""A second process that spends: `python ledger_spender.py ADDRESS FIRST COUNT LIMIT`.

Waits for a line on stdin, charges requests FIRST … FIRST + COUNT − 1 against LIMIT, and prints the
number of each that was granted.
"""

from __future__ import annotations

import sys

from support.builders.databases import at
from support.builders.ledgers import Budget, Spent, charge_row


def main(database: str, first: str, count: str, limit: str) -> None:
    store = at(database)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(first), int(first) + int(count)):
        try:
            store.charge(charge_row(number), Budget(limit), audit=None)
        except Spent:
            continue
        print(number, flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
