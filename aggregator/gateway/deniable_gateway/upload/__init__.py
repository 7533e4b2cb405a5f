"""Uploads, up to where a key is needed. The aggregator uses the same parts for its own uploads.

front                 the way in: holds what is slow, on an event loop
request, paths        what a request must be
gate, limiter         who may send, and how much
in_hand               how much is held at once
upload_queue          uploads that wait, and the one thread that stores them
storing               one write for all of them
mirror, published     the copy of what an aggregator publishes
sealed_uploads        uploads that are checked without a key
"""
