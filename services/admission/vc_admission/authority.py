"""The certificates of admission: an authority of our own and the serving certificate it signs.

Pure but for the keys' chance; the time is given. The authority outlives many serving certificates.
When its own end comes near a new one is made and the old one stays in the bundle, so that whoever
trusts the old one still trusts a replica that has not turned over yet.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vc_certificates import Authority, hosts_of, make_authority, pem, private_pem

AUTHORITY_DAYS: Final = 3650
AUTHORITY_RENEW_DAYS: Final = 365
"""An authority with less than this to live gets a successor."""

SERVING_DAYS: Final = 90
SERVING_RENEW_DAYS: Final = 30

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
    authority = _make_authority(now)
    return _issue(authority, hosts, bundle=pem(authority.certificate), now=now)


def renewed(current: Certificates, hosts: Sequence[str], *, now: float) -> Certificates | None:
    """What must follow the current certificates; None while they are good."""
    try:
        authorities = x509.load_pem_x509_certificates(current.ca_bundle)
        serving = x509.load_pem_x509_certificate(current.certificate)
        key = serialization.load_pem_private_key(current.ca_key, password=None)
        serialization.load_pem_private_key(current.key, password=None)
    except (ValueError, TypeError):
        return make_certificates(hosts, now=now)  # somebody broke the Secret; trust starts anew
    newest = authorities[0]
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != newest.public_key():
        return make_certificates(hosts, now=now)
    if _days_left(newest, now) < AUTHORITY_RENEW_DAYS:
        successor = _make_authority(now)
        kept = [successor.certificate, *authorities][:AUTHORITIES_IN_BUNDLE_MAX]
        return _issue(successor, hosts, bundle=b"".join(pem(each) for each in kept), now=now)
    good = _days_left(serving, now) >= SERVING_RENEW_DAYS and set(hosts) <= hosts_of(serving)
    if good and serving.issuer == newest.subject:
        return None
    authority = Authority(certificate=newest, key=key)
    return _issue(authority, hosts, bundle=current.ca_bundle, now=now)


def _make_authority(now: float) -> Authority:
    return make_authority(f"pyroclast-admission-ca-{int(now)}", now=now, days=AUTHORITY_DAYS)


def _issue(
    authority: Authority, hosts: Sequence[str], *, bundle: bytes, now: float
) -> Certificates:
    serving = authority.issue("pyroclast-admission", hosts, now=now, days=SERVING_DAYS)
    return Certificates(
        ca_bundle=bundle,
        ca_key=private_pem(authority.key),
        certificate=serving.certificate,
        key=serving.key,
    )


def _days_left(certificate: x509.Certificate, now: float) -> float:
    end = certificate.not_valid_after_utc.timestamp()
    return (end - now) / dt.timedelta(days=1).total_seconds()
