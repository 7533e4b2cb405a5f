"""Who may do what: tokens, local users, sessions of people, and the audit log. No web framework.

    tokens.py      bearer tokens                       audit.py      privileged acts, chained
    users.py       local users, scrypt                 acts.py       what an administrator does
    sessions.py    who is signed in, one-time links    rows.py       what is kept of all this

The roles are in `deniable_aggregator.base.roles`, cookies and sign-in in
`deniable_aggregator.web.auth`.
"""
