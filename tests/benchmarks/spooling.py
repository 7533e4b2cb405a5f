"""What workers of the scale benchmark do: seal blocks, open them alone, count plain payloads.

Executors import this module: every function here is given whole to another process.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from deniable_estimators.mechanisms import estimator_for
from deniable_gateway.spool import SpooledReport, open_spool, read_block, write_block
from deniable_shared import mechanisms
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import envelope, report

BITS = 128
BYTES = BITS // 8
MOST_ALONE = 50_000


def seal_block(target: dict[str, str | int], spool: str, count: int, number: str) -> bytes:
    """A block of so many reports of eight random bits; the number is only a name."""
    coins, public = Coins.system(), bytes.fromhex(str(target["public_key"]))
    name, digest = str(target["collection"]), bytes.fromhex(str(target["digest"]))
    records = []
    for _ in range(count):
        header = report.ReportHeader(
            coins.bytes(16), int(target["epoch"]), int(target["version"]), int(target["key_id"])
        )
        inside = report.Plaintext(coins.bytes(1)).encode(report.padded_size(1))
        info = report.seal_info(name, digest, header)
        sealed = envelope.seal(inside, public_key=public, info=info)
        records.append(SpooledReport(name, report.Report(header, sealed).encode()))
    write_block(open_spool(spool), records)
    return number.encode()


def open_alone(target: dict[str, str | int], keys: str, folder: str, block: str) -> bytes:
    """Seconds of processor time of nothing but HPKE, and how many reports: the limit."""
    from deniable_aggregator.keys.report_keys import ReportKeys

    opener = ReportKeys(Path(keys)).all[int(target["key_id"])].opener
    name, digest = str(target["collection"]), bytes.fromhex(str(target["digest"]))
    reports = [
        report.decode_upload(record.report)[0] for record in read_block(open_spool(folder), block)
    ]
    pairs = [
        (each.sealed, report.seal_info(name, digest, each.header)) for each in reports[:MOST_ALONE]
    ]
    started = time.process_time()
    for sealed, info in pairs:
        opener.open(sealed, info=info)
    return json.dumps([time.process_time() - started, len(pairs)]).encode()


def write_payloads(folder: str, count: int, number: str) -> bytes:
    """A file of so many payloads, a permutation of scattered bits that differs by number."""
    words = np.arange(count * BYTES // 8, dtype=np.uint64) + np.uint64(int(number) * count)
    scattered = words * np.uint64(0x9E3779B97F4A7C15)
    (scattered ^ scattered >> np.uint64(29)).tofile(Path(folder) / f"{number}.payloads")
    return number.encode()


def count_payloads(path: str) -> bytes:
    """The tally of a file of opened payloads, and the seconds of processor time it took."""
    started = time.process_time()
    mechanism = mechanisms.build("rr/1", domain_size=BITS, epsilon="1")
    payloads = np.fromfile(path, np.uint8).reshape(-1, BYTES)
    tally = estimator_for(mechanism).tally(payloads)
    return json.dumps([time.process_time() - started, len(payloads), tally.tolist()]).encode()
