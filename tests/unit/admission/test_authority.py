"""Certificates: made, renewed in time, trusted over a change of authority."""

import datetime as dt

import msgspec
import pytest
from cryptography import x509

from vc.admission.authority import Certificates, make_certificates, renewed

HOSTS = ["svc.ns.svc", "127.0.0.1"]
NOW = 1_800_000_000.0
DAY = dt.timedelta(days=1).total_seconds()


@pytest.fixture(scope="module")
def made() -> Certificates:
    return make_certificates(HOSTS, now=NOW)


def serving(certificates: Certificates) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificates.certificate)


def test_the_authority_signs_the_serving_certificate(made: Certificates) -> None:
    (authority,) = x509.load_pem_x509_certificates(made.ca_bundle)
    serving(made).verify_directly_issued_by(authority)
    names = serving(made).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["svc.ns.svc"]


def test_nothing_is_renewed_too_early(made: Certificates) -> None:
    assert renewed(made, HOSTS, now=NOW + 59 * DAY) is None


def test_the_serving_certificate_is_renewed_under_the_same_authority(made: Certificates) -> None:
    following = renewed(made, HOSTS, now=NOW + 61 * DAY)
    assert following is not None
    assert following.ca_bundle == made.ca_bundle
    assert following.certificate != made.certificate


def test_a_new_name_needs_a_new_certificate(made: Certificates) -> None:
    following = renewed(made, [*HOSTS, "other"], now=NOW)
    assert following is not None
    assert following.ca_bundle == made.ca_bundle


def test_an_old_authority_gets_a_successor_and_stays_trusted(made: Certificates) -> None:
    following = renewed(made, HOSTS, now=NOW + 3300 * DAY)
    assert following is not None
    new, old = x509.load_pem_x509_certificates(following.ca_bundle)
    serving(following).verify_directly_issued_by(new)
    assert x509.load_pem_x509_certificates(made.ca_bundle) == [old]
    assert renewed(following, HOSTS, now=NOW + 3300 * DAY) is None


@pytest.mark.parametrize("part", ["ca_bundle", "ca_key", "certificate", "key"])
def test_a_broken_secret_is_created_again(made: Certificates, part: str) -> None:
    broken = msgspec.structs.replace(made, **{part: b"broken"})
    following = renewed(broken, HOSTS, now=NOW)
    assert following is not None
    assert renewed(following, HOSTS, now=NOW) is None
