"""Mechanisms and wire format shared by the deniable client and aggregator.

    mechanisms, dyadic, coins, domain           how an answer is randomized
    manifest, authoring, linter                 what is asked, and what it may cost
    schedule, linkage, epochs                   how often, how recognisable, when
    report, envelope, codec                     what is uploaded
    dsse, key_list, key_succession              who vouches for it
    transparency_log                            that the operator shows everyone the same
    canonical, ingest_origins, problems, errors one spelling, places, refusals, exceptions

Importing any of these loads neither cryptography nor numpy.
"""
