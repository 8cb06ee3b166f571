"""Our own certificate authorities and the certificates they sign, as plain values.

Admission creates the authority that its webhooks are trusted by; tests create one per server. All
keys are elliptic, because RSA would add a second to each start. Keys are in PKCS#8, which all
readers support.
"""

from vc.certificates.authority import (
    Authority,
    KeyPair,
    hosts_of,
    make_authority,
    make_key,
    pem,
    private_pem,
)

__all__ = ["Authority", "KeyPair", "hosts_of", "make_authority", "make_key", "pem", "private_pem"]
