"""Count what a spool holds, on one machine or many: sealed reports in, sums of integers out.

`block_tally` counts one block, `worker_context` is what a worker needs for it, `local` and `spark`
are the engines that spread the blocks, `job` commits what comes back. `consumer` waits for the
gateway's next blocks.
"""
