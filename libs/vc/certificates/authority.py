"""An authority signs server certificates; clients trust its own certificate."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATE_MINUTES: Final = 10
"""Certificates are backdated,
because clocks of machines differ and a certificate from the future is rejected.
"""

_SIGNS: Final = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class KeyPair(NamedTuple):
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, kw_only=True)
class Authority:
    """An authority: its certificate and its signing key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def key_pair(self) -> KeyPair:
        """The certificate and the key as PEM, for storage."""
        return KeyPair(pem(self.certificate), private_pem(self.key))

    def issue(self, name: str, hosts: Sequence[str], *, now: float, days: int) -> KeyPair:
        """A certificate with a new key for a server that is reached by these names or addresses."""
        key = make_key()
        unsigned = _unsigned(_common_name(name), self.certificate.subject, key, now=now, days=days)
        for extension in (
            # Clients verify only these names and ignore the common name.
            x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
            # Identifies the signing key, so that authorities of the same name can be distinguished.
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
        ):
            unsigned = unsigned.add_extension(extension, critical=False)
        return KeyPair(pem(unsigned.sign(self.key, hashes.SHA256())), private_pem(key))


def make_authority(name: str, *, now: float, days: int) -> Authority:
    """A new self-signed authority."""
    key, subject = make_key(), _common_name(name)
    unsigned = _unsigned(subject, subject, key, now=now, days=days)
    # A path length of 0: this authority signs servers, never other authorities.
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    unsigned = unsigned.add_extension(_SIGNS, critical=True)
    # Clients find the issuer by this identifier. After a rotation they may trust two authorities of
    # the same name, and the name alone would not select one.
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    unsigned = unsigned.add_extension(identifier, critical=False)
    return Authority(certificate=unsigned.sign(key, hashes.SHA256()), key=key)


def hosts_of(certificate: x509.Certificate) -> set[str]:
    """The DNS names and addresses for which the certificate is valid."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return {*names.get_values_for_type(x509.DNSName), *addresses}


def make_key() -> ec.EllipticCurvePrivateKey:
    """A new private key."""
    return ec.generate_private_key(ec.SECP256R1())


def pem(certificate: x509.Certificate) -> bytes:
    """The certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as unencrypted PEM: access to its storage must be restricted."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    now: float,
    days: int,
) -> x509.CertificateBuilder:
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        # Some clients reject a second certificate of an issuer with the same serial number.
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - dt.timedelta(minutes=BACKDATE_MINUTES))
        .not_valid_after(moment + dt.timedelta(days=days))
    )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        # Clients compare an address with addresses only, never with DNS names.
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
