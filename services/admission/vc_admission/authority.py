"""Certificates as values: an authority of our own and the serving certificate it signs.

Pure but for the keys' chance; the time is given. The authority outlives many serving certificates.
When its own end comes near a new one is made and the old one stays in the bundle, so that whoever
trusts the old one still trusts a replica that has not turned over yet.
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS: Final = 3650
AUTHORITY_RENEW_DAYS: Final = 365
"""An authority with less than this to live gets a successor."""

SERVING_DAYS: Final = 90
SERVING_RENEW_DAYS: Final = 30

BACKDATE_MINUTES: Final = 10
"""Clocks of two machines differ; a certificate from the future is refused."""

AUTHORITIES_IN_BUNDLE_MAX: Final = 2


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """PEM texts: what a replica serves with, and what clients trust."""

    ca_bundle: bytes
    """Newest authority first."""
    ca_key: bytes
    certificate: bytes
    key: bytes


def make_certificates(hosts: Sequence[str], *, now: float) -> Certificates:
    """An authority and a serving certificate, all new."""
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _make_authority(key, now=now)
    return _issue(authority, key, hosts, bundle=_pem(authority), now=now)


def renewed(current: Certificates, hosts: Sequence[str], *, now: float) -> Certificates | None:
    """What must follow the current certificates; None while they are good."""
    try:
        authorities = x509.load_pem_x509_certificates(current.ca_bundle)
        serving = x509.load_pem_x509_certificate(current.certificate)
        key = serialization.load_pem_private_key(current.ca_key, password=None)
        serialization.load_pem_private_key(current.key, password=None)
    except (ValueError, TypeError):
        return make_certificates(hosts, now=now)  # somebody broke the Secret; trust starts anew
    authority = authorities[0]
    if (
        not isinstance(key, ec.EllipticCurvePrivateKey)
        or key.public_key() != authority.public_key()
    ):
        return make_certificates(hosts, now=now)
    if _days_left(authority, now) < AUTHORITY_RENEW_DAYS:
        successor_key = ec.generate_private_key(ec.SECP256R1())
        successor = _make_authority(successor_key, now=now)
        kept = [successor, *authorities][:AUTHORITIES_IN_BUNDLE_MAX]
        bundle = b"".join(_pem(each) for each in kept)
        return _issue(successor, successor_key, hosts, bundle=bundle, now=now)
    good = _days_left(serving, now) >= SERVING_RENEW_DAYS and set(hosts) <= _hosts_of(serving)
    if good and serving.issuer == authority.subject:
        return None
    return _issue(authority, key, hosts, bundle=current.ca_bundle, now=now)


def _make_authority(key: ec.EllipticCurvePrivateKey, *, now: float) -> x509.Certificate:
    name = _name(f"pyroclast-admission-ca-{int(now)}")
    unsigned = _unsigned(name, name, key.public_key(), now=now, days=AUTHORITY_DAYS)
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    unsigned = unsigned.add_extension(_SIGNS, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return unsigned.add_extension(identifier, critical=False).sign(key, hashes.SHA256())


def _issue(
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    hosts: Sequence[str],
    *,
    bundle: bytes,
    now: float,
) -> Certificates:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name("pyroclast-admission")
    unsigned = _unsigned(subject, authority.subject, key.public_key(), now=now, days=SERVING_DAYS)
    names = x509.SubjectAlternativeName([_alternative_name(host) for host in hosts])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    for extension in (names, usage, identifier):
        unsigned = unsigned.add_extension(extension, critical=False)
    serving = unsigned.sign(authority_key, hashes.SHA256())
    return Certificates(
        ca_bundle=bundle,
        ca_key=_private_pem(authority_key),
        certificate=_pem(serving),
        key=_private_pem(key),
    )


def _unsigned(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    *,
    now: float,
    days: int,
) -> x509.CertificateBuilder:
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - dt.timedelta(minutes=BACKDATE_MINUTES))
        .not_valid_after(moment + dt.timedelta(days=days))
    )


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


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _hosts_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return {*names.get_values_for_type(x509.DNSName), *addresses}


def _days_left(certificate: x509.Certificate, now: float) -> float:
    end = certificate.not_valid_after_utc.timestamp()
    return (end - now) / dt.timedelta(days=1).total_seconds()


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
