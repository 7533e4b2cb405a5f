"""Access: tokens, local users, sessions and the audit log. It imports no web framework.

    tokens.py      bearer tokens                       audit.py      privileged acts, chained
    users.py       local users, scrypt                 changes.py    what an administrator does
    sessions.py    sessions and one-time links         rows.py       the stored rows

The roles are in `deniable_aggregator.base.roles`, cookies and sign-in in
`deniable_aggregator.web.auth`.
"""
