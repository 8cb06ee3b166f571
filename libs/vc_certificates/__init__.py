"""Certificate authorities of our own and what they sign: values, made for a given time.

Admission makes the authority its webhooks are trusted by; tests make one for each server they start.
Elliptic keys throughout: RSA would add a second to each start. Keys are PKCS#8, which all readers know.
"""

from vc_certificates.authority import (
    Authority,
    KeyPair,
    hosts_of,
    make_authority,
    make_key,
    pem,
    private_pem,
)

__all__ = ["Authority", "KeyPair", "hosts_of", "make_authority", "make_key", "pem", "private_pem"]
