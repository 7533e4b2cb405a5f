"""Releases over collections: prepared, priced, charged to the ledger, drawn and stored.

request         what is asked, and the digest by which the same request is recognized
context         what is public about the epochs it reads; their tallies
kinds           one module per release kind
service         the order: validate, look up, charge, draw, store
sessions        questions to a release that opened a session
serialize       what is answered and stored
rollback_guard  notices a database that is older than the last release
"""
