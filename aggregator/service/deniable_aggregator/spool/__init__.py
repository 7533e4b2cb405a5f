"""Counts the reports of a spool on one machine or many: sealed reports in, sums out.

`block_tally` counts one block, `worker_context` is what a worker needs for it, `local` and `spark`
are the engines that distribute the blocks, `job` commits the results. `consumer` waits for the
gateway's next blocks.
"""
