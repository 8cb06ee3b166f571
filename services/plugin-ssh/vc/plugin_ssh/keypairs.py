"""Creation of key pairs: the only place of this service with randomness."""

from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from vc.plugin_ssh.logic import RSA, SshKeyPair

RSA_BITS: Final = 2048
RSA_EXPONENT: Final = 65537


def make_key_pair(key_type: str) -> SshKeyPair:
    """A new key pair: RSA in upstream's PEM form, ed25519 in OpenSSH's."""
    key: RSAPrivateKey | Ed25519PrivateKey
    if key_type == RSA:
        key = generate_private_key(public_exponent=RSA_EXPONENT, key_size=RSA_BITS)
        form = PrivateFormat.TraditionalOpenSSL
    else:
        key = Ed25519PrivateKey.generate()
        form = PrivateFormat.OpenSSH
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    private = key.private_bytes(Encoding.PEM, form, NoEncryption())
    return SshKeyPair(private=private.decode(), public=public.decode() + "\n")
