"""The certificate to serve with, looked at before anything is opened."""

import ssl
from pathlib import Path
from typing import NoReturn

from elt_llm_core.errors import UsageError

from elt_llm_api.serve.listening.server import Certificate

_HINT = "Both are PEM files: the certificate chain, and its private key without a password."


def certificate_of(chain: Path | None, key: Path | None) -> Certificate | None:
    """Both files together, or none. Raises UsageError for one alone, and for what cannot be served with."""
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise UsageError("TLS needs a certificate and its key.", hint="Give both --certificate and --key.")
    for path in (chain, key):
        if not path.is_file():
            raise UsageError(f"There is no file {path}.", hint=_HINT)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        raise UsageError(f"{chain} and {key} cannot be served with: {error}.", hint=_HINT) from error
    return Certificate(chain, key)


def _no_password() -> NoReturn:
    raise UsageError("The private key is locked with a password.", hint=_HINT)
