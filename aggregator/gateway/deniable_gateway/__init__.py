"""The part of deniable that faces the internet and holds no key: a relay and a keyless intake.

upload   requests, their limits, group commit, and the copy of what an aggregator publishes
relay    passes reports on in shuffled batches; another party runs it
spool    blocks of sealed reports, the places that hold them, and the keyless intake
"""
