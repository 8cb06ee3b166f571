"""A certificate authority for one test cluster, and what it signs.

Made anew for each cluster and thrown away with its folder. Elliptic keys throughout: RSA would add a
second to each start.
"""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_DAYS = 365
BACKDATE_MINUTES = 5
"""Clocks of two machines differ; a certificate from the future is refused."""


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """PEM texts of a certificate and its private key."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Writes `<name>.crt` and `<name>.key`, the key readable by the owner only."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate)
        write_private(key, self.key)
        return certificate, key


class Authority:
    """Signs server certificates; its own certificate is what clients trust."""

    def __init__(self, name: str = "pyroclast-parts") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _common_name(name)
        unsigned = _unsigned(self._name, self._name, self._key.public_key())
        unsigned = unsigned.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        unsigned = unsigned.add_extension(_SIGNS_CERTIFICATES, critical=True)
        self._certificate = unsigned.sign(self._key, hashes.SHA256())

    @property
    def key_pair(self) -> KeyPair:
        """The authority's own certificate and key."""
        return _key_pair(self._certificate, self._key)

    def issue_server(self, name: str, *, hosts: tuple[str, ...]) -> KeyPair:
        """A certificate for a server that is reached by these names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        unsigned = _unsigned(_common_name(name), self._name, key.public_key())
        unsigned = unsigned.add_extension(_alternative_names(hosts), critical=False)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        unsigned = unsigned.add_extension(usage, critical=False)
        return _key_pair(unsigned.sign(self._key, hashes.SHA256()), key)


def issue_signing_key() -> tuple[bytes, bytes]:
    """A private and a public PEM: kube-apiserver signs service account tokens with the pair."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _private_pem(key), public


def write_private(path: Path, content: bytes) -> None:
    """A file that only its owner can read, from its first byte on."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)


_SIGNS_CERTIFICATES = x509.KeyUsage(
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


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _unsigned(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=BACKDATE_MINUTES))
        .not_valid_after(now + dt.timedelta(days=VALID_DAYS))
    )


def _alternative_names(hosts: tuple[str, ...]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_alternative_name(host) for host in hosts])


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return KeyPair(certificate=pem, key=_private_pem(key))


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
