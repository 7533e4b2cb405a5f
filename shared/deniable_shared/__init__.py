"""Mechanisms and wire format shared by the deniable client and aggregator.

    mechanisms, dyadic, coins, domain       how an answer is randomized
    manifest, authoring, linter             what is asked, and what it may cost
    report, envelope, codec                 what is uploaded
    dsse, keylist, canonical, origins       who vouches for it, and where it may go
    epochs, problems, errors                time, refusals, exceptions

Importing any of these loads neither cryptography nor numpy.
"""
