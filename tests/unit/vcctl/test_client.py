"""The client against a real server that says no, says it page by page, or says nonsense."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc_cli.ctl.client import Client
from vc_cli.ctl.errors import ApiError, NoClusterError
from vc_cli.ctl.kubeconfig import Access
from vc_cli.ctl.resources import JOBS, QUEUES
from vc_cli.vcctl import main


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            refusal(403, "Forbidden", 'jobs.batch.volcano.sh is forbidden: User "eve" cannot list'),
            'vcctl: jobs.batch.volcano.sh is forbidden: User "eve" cannot list\n',
        ),
        (refusal(401, "Unauthorized", "Unauthorized"), "vcctl: Unauthorized\n"),
        (
            refusal(404, "NotFound", "the server could not find the requested resource"),
            "is Pyroclast (or Volcano) installed on this cluster?\n",
        ),
        ((502, b"<html>bad gateway</html>"), " answered 502 Bad Gateway\n"),
        ((503, b"\x1b[2Jstarting"), "vcctl: ?[2Jstarting\n"),
        ((500, b""), "answered 500 Internal Server Error\n"),
        ((200, b"<html>"), "does not speak JSON\n"),
        ((200, b"[]"), "did not answer with an object\n"),
    ],
)
def test_a_refusal_is_one_line_and_exit_code_1(
    said: Answer, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _: said) as (url, _), pytest.raises(SystemExit) as ended:
        main(["job", "list", "-s", url])
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert error.endswith(shown)
    assert error.count("\n") == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1"])
def test_no_cluster_is_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["queue", "list", "-s", url])
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert error == f"vcctl: cannot reach the cluster at {url}: Connection refused\n"


@pytest.mark.parametrize("server", ["localhost", "http://", "https://host:none", "http://h:99999"])
def test_a_server_that_is_none_is_said(server: str) -> None:
    with pytest.raises(NoClusterError, match="write one like https"):
        Client(Access(server=server)).get(JOBS, "x", namespace="y")


def test_lists_come_page_by_page() -> None:
    def pages(asked: Asked) -> Answer:
        if "continue=next" in asked.path:
            return answer({"items": [{"n": 2}], "metadata": {"resourceVersion": "7"}})
        return answer({"items": [{"n": 1}], "metadata": {"continue": "next"}})

    with serving(pages) as (url, _):
        items, version = Client(Access(server=url)).list(QUEUES)
    assert [item["n"] for item in items] == [1, 2]
    assert items[0]["kind"] == "Queue"
    assert version == "7"


def test_a_token_is_sent_and_the_path_of_the_server_is_kept() -> None:
    with serving(lambda _: answer({})) as (url, asked):
        client = Client(Access(server=f"{url}/clusters/one", token="secret"))
        client.get(JOBS, "x", namespace="y")
        Client(Access(server=url, basic="me:pw")).get(QUEUES, "q")
    assert asked[0].authorization == "Bearer secret"
    assert asked[0].path.startswith("/clusters/one/apis/batch.volcano.sh")
    assert asked[1].authorization.startswith("Basic ")
    assert client.now is not None


def identity(folder: Path) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    (folder / "both.pem").write_text(cert_pem + key_pem)
    return cert_pem, key_pem


def test_tls_both_ways(tmp_path: Path) -> None:
    cert_pem, key_pem = identity(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=cert_pem)
    context.load_cert_chain(tmp_path / "both.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(lambda _: answer({"ok": True}), tls=context) as (url, _):
        known = Access(server=url, ca_pem=cert_pem, cert_pem=cert_pem, key_pem=key_pem)
        assert Client(known).get(QUEUES, "q") == {"ok": True}
        careless = known._replace(ca_pem="", verify=False)
        assert Client(careless).get(QUEUES, "q") == {"ok": True}


def test_a_server_that_is_not_trusted_is_not_asked(tmp_path: Path) -> None:
    identity(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "both.pem")
    with serving(lambda _: answer({}), tls=context) as (url, asked):
        with pytest.raises(NoClusterError, match=r"(?i)certificate"):
            Client(Access(server=url)).get(QUEUES, "q")
        assert asked == []


def test_a_key_that_is_none_is_said() -> None:
    access = Access(server="https://127.0.0.1:1", cert_pem="x", key_pem="y")
    with pytest.raises(NoClusterError, match="cannot be used"):
        Client(access).get(QUEUES, "q")


def test_an_error_in_a_watch_is_an_error() -> None:
    gone = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}

    def stream(asked: Asked) -> Answer:
        return answer(gone) if "watch=true" in asked.path else refusal(500, "", "stop here")

    with serving(stream) as (url, _):
        events = list(Client(Access(server=url)).watch(JOBS, namespace="", version="1", query={}))
        assert events == [gone]


def test_a_watch_that_is_refused_is_an_error() -> None:
    refused = refusal(403, "Forbidden", "no")
    with serving(lambda _: refused) as (url, _), pytest.raises(ApiError, match="no"):
        list(Client(Access(server=url)).watch(JOBS, namespace="", version="1", query={}))


def test_a_name_cannot_leave_its_place_in_the_path() -> None:
    with serving(lambda _: answer({})) as (url, asked):
        Client(Access(server=url)).get(JOBS, "../../secrets?x", namespace="a/b")
    assert asked[0].path.endswith("/namespaces/a%2Fb/jobs/..%2F..%2Fsecrets%3Fx")


def test_a_stream_that_breaks_off_is_said() -> None:
    with serving(lambda _: (200, b'{"type": "ADD')) as (url, _), pytest.raises(NoClusterError):
        list(Client(Access(server=url)).watch(JOBS, namespace="", version="1", query={}))
