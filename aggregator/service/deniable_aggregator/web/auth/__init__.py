"""People on pages: cookies, forms, sign-in with a password, a link or a provider.

From `deniable_aggregator.web.auth.guard`:

    @blueprint.get("/…")
    @require("viewer")                 # signed in; if not, GET goes to /sign-in and POST is 401
    def page() -> str:
        who = current_identity()       # Identity(name, role, collections, source) or None
        who.may_see(collection_id)     # True, or whether a scoped identity has this collection's id

    <form method="post">               in a template: csrf_token() and identity are Jinja globals
      <input type="hidden" name="csrf_token" value="{{ csrf_token() }}">

Every POST, PUT, PATCH or DELETE outside /v1/ must carry that token (field `csrf_token` or header
X-CSRF-Token): `guard.register(app)` refuses it otherwise, for every view. Addresses under
/v1/ know bearer tokens and no cookie. Sign-in lives at /sign-in, sign-out is POST /sign-out
(`url_for("signin.page")`, `url_for("signin.sign_out")`).

    guard.py       the current identity, require       csrf.py       tokens of forms
    signin.py      sign-in and sign-out                oidc.py       sign-in with a provider
    throttle.py    limits guesses of passwords
    provider.py    OpenID Connect, over discovery.py, claims.py and outage.py
"""
