"""Releases over collections: prepared, priced, charged to the ledger, drawn and stored.

request         a request, and the digest that recognizes the same request
context         public facts of the epochs that a release reads; their tallies
kinds           one module per release kind
service         the order: validate, look up, charge, draw, store
sessions        questions to a release that opened a session
serialize       documents that are answered and stored
rollback_guard  notices a database that is older than the last release
"""
