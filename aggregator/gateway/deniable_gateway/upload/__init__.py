"""Uploads, up to where a key is needed. The aggregator uses the same parts for its own uploads.

request, paths        what a request must be
slow_body_guard       ends connections whose body does not arrive
limiter, admission    how much one network, one collection and all together may send
group_commit          one write for all uploads that wait
mirror                the copy of what an aggregator publishes
sealed_uploads, app   uploads that are checked without a key
"""
