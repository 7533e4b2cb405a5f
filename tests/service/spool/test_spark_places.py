"""Spark's executors read an object store themselves. Needs the extra `spark` and Java."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from deniable_gateway.spool import blocks, open_spool, read_block
from support.builders.spools import fill, prepare
from support.doubles import s3_server
from support.processes.deniable_command import Deniable

MISSING = [
    name
    for name, found in (("pyspark", find_spec("pyspark")), ("Java", shutil.which("java")))
    if not found
]


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.skipif(
    bool(MISSING),
    reason=f"{', '.join(MISSING)} missing: the extra deniable-aggregator[spark] and Java 17",
)
def test_executors_open_blocks_in_parquet_from_a_bucket(tmp_path: Path) -> None:
    address, made = s3_server.bucket(), prepare(tmp_path, 48, 6)
    on_disk = open_spool(made.spool)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3_server.CREDENTIALS.items():
            patched.setenv(name, value)
        records = [read_block(on_disk, block.name) for block in blocks(on_disk)]
        fill(address, records[:3], "parquet")
        fill(address, records[3:])
        deniable = Deniable(tmp_path)
        deniable.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        run = [
            "spool",
            "tally",
            "--engine",
            "spark",
            "--master",
            "local-cluster[2,1,1024]",
            "--json",
        ]
        with deniable.process(*run, "--spool", address) as process:
            said, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors[-2000:]
    assert '"counted": 48' in said
    assert made.counted() == made.expected()
