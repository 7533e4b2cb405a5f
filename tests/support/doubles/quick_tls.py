"""No client reads the list of public authorities: no test connects to one of their servers.

Reading takes 25 ms, and a sign-in with a provider makes five clients.
"""

from __future__ import annotations

import os
import ssl
from typing import Any

__all__ = ["install"]


def install() -> None:
    """For every TLS context that this process makes from now on; other authorities are read."""
    read = ssl.SSLContext.load_verify_locations
    public = ssl.get_default_verify_paths()
    known = {public.openssl_cafile, public.openssl_capath, None}
    known |= {os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")}

    def read_others(
        self: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None
    ) -> None:
        is_public = str(cafile).endswith("certifi/cacert.pem") or {cafile, capath} <= known
        if cadata is not None or not is_public:
            read(self, cafile, capath, cadata)

    ssl.SSLContext.load_verify_locations = read_others  # type: ignore[method-assign]  # a double
    ssl.SSLContext.load_default_certs = _read_none  # type: ignore[method-assign]  # a double


def _read_none(self: ssl.SSLContext, purpose: object = None) -> None:
    pass
