"""Certificates that clients accept, and token files."""

import stat
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from vc.parts.certificates import Authority, issue_signing_key, write_pair, write_private
from vc.parts.users import User, token_file


def test_a_server_certificate_is_signed_by_its_authority_for_its_hosts() -> None:
    authority = Authority()
    pair = authority.issue_server("kube-apiserver", hosts=("127.0.0.1", "localhost"))
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    ca = x509.load_pem_x509_certificate(authority.key_pair.certificate)
    certificate.verify_directly_issued_by(ca)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name) for name in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]


def test_the_authority_may_sign_and_the_server_may_not() -> None:
    authority = Authority()
    ca = x509.load_pem_x509_certificate(authority.key_pair.certificate)
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    server = authority.issue_server("s", hosts=("localhost",)).certificate
    extensions = x509.load_pem_x509_certificate(server).extensions
    assert not [item for item in extensions if isinstance(item.value, x509.BasicConstraints)]


def test_the_signing_key_and_its_public_half_belong_together() -> None:
    private, public = issue_signing_key()
    key = load_pem_private_key(private, None)
    assert key.public_key() is not None
    assert public.startswith(b"-----BEGIN PUBLIC KEY-----")


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    _, key = write_pair(Authority().key_pair, tmp_path, "ca")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = tmp_path / "again"
    write_private(again, b"a long text")
    write_private(again, b"short")
    assert again.read_bytes() == b"short"


def test_the_token_file_quotes_groups() -> None:
    users = [
        User(name="admin", groups=("system:masters",), token="a"),
        User(name="system:serviceaccount:ns:bob", groups=("g1", "g2"), token="b"),
        User(name="none", token="c"),
    ]
    assert token_file(users).splitlines() == [
        "a,admin,admin,system:masters",
        'b,system:serviceaccount:ns:bob,system:serviceaccount:ns:bob,"g1,g2"',
        "c,none,none,",
    ]


def test_every_user_gets_a_token_of_its_own_that_is_not_printed() -> None:
    first, second = User(name="a"), User(name="a")
    assert first.token != second.token
    assert first.token not in repr(first)
