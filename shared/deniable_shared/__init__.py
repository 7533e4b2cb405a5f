"""Mechanisms and wire format shared by the deniable client and aggregator.

    mechanisms, chains, dyadic, coins, domain   how an answer is randomized
    manifest, authoring, linter                 what is asked, and what it may cost
    schedule, linkage, epochs                   how often, how recognisable, when
    report, envelope, codec                     what is uploaded
    dsse, keylist, key_succession, journal      who vouches for it, and that it goes on
    canonical, origins, problems, errors        one spelling, places, refusals, exceptions

Importing any of these loads neither cryptography nor numpy.
"""
