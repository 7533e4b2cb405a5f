"""Mechanisms and wire format shared by the deniable client and aggregator.

    randomness   coins, and exact thresholds from ε
    algebra      finite fields and difference sets
    analysis     exact errors and information of mechanisms
    domains      answers and their indices
    mechanisms   how an answer is randomized
    wire         what is sent and signed
    manifest     the signed definition of a collection
    authoring    from TOML to a manifest

Importing any of these loads neither cryptography nor numpy.
"""
