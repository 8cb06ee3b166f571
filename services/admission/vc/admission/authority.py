"""The certificates of admission: our own certificate authority and
the serving certificate it signs.

Apart from random keys the functions are pure; the time is a parameter. An authority outlives many
serving certificates. Before it expires, a new one is created and the old one stays in the bundle,
so that clients with the new bundle still trust a replica that serves with the old certificate.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vc.certificates import Authority, hosts_of, make_authority, pem, private_pem

AUTHORITY_DAYS: Final = 3650
AUTHORITY_RENEW_DAYS: Final = 365
"""An authority that expires sooner is replaced."""

SERVING_DAYS: Final = 90
SERVING_RENEW_DAYS: Final = 30

AUTHORITIES_IN_BUNDLE_MAX: Final = 2


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """PEM texts: what a replica serves with, and what clients trust."""

    ca_bundle: bytes
    """The trusted authorities, newest first."""
    ca_key: bytes
    certificate: bytes
    key: bytes


def make_certificates(hosts: Sequence[str], *, now: float) -> Certificates:
    """Create a new authority and a serving certificate."""
    authority = _make_authority(now)
    return _issue(authority, hosts, bundle=pem(authority.certificate), now=now)


def renewed(current: Certificates, hosts: Sequence[str], *, now: float) -> Certificates | None:
    """The certificates that replace the current ones, or None while those are valid."""
    try:
        authorities = x509.load_pem_x509_certificates(current.ca_bundle)
        serving = x509.load_pem_x509_certificate(current.certificate)
        key = serialization.load_pem_private_key(current.ca_key, password=None)
        serialization.load_pem_private_key(current.key, password=None)
    except (ValueError, TypeError):
        return make_certificates(hosts, now=now)  # the Secret is damaged: create a new authority
    newest = authorities[0]
    # Without the matching key, no further certificate can be signed.
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != newest.public_key():
        return make_certificates(hosts, now=now)
    if _days_left(newest, now) < AUTHORITY_RENEW_DAYS:
        successor = _make_authority(now)
        # Replicas that have not reloaded yet still serve with the old authority's certificate.
        kept = [successor.certificate, *authorities][:AUTHORITIES_IN_BUNDLE_MAX]
        return _issue(successor, hosts, bundle=b"".join(pem(each) for each in kept), now=now)
    # A changed host list also needs a new certificate, not only an expiring one.
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
