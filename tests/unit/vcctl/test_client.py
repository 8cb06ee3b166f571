"""The client against a real server that says no, says it page by page, or says nonsense."""

import base64
import contextlib
import datetime as dt
import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.unit.vcctl.server import Answer, Asked, answer, refusal, serving
from vc.cli.vcctl.api.client import Client
from vc.cli.vcctl.api.errors import ApiError, NoClusterError
from vc.cli.vcctl.api.resources import JOBS, QUEUES
from vc.cli.vcctl.main import main
from vc.kubeconfig.access import Access


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


def identity(folder: Path, *, of: str = "") -> tuple[str, str]:
    """A certificate for 127.0.0.1, or a name, that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    address = x509.DNSName(of) if of else x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
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


# -- a name and a way that the kubeconfig says -------------------------------------------------------


def secret_server(folder: Path, *, of: str = "") -> tuple[str, ssl.SSLContext]:
    """A certificate, and a server's half of TLS with it."""
    cert_pem, _ = identity(folder, of=of)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "both.pem")
    return cert_pem, context


def test_a_server_may_have_another_name_than_its_address(tmp_path: Path) -> None:
    cert_pem, context = secret_server(tmp_path, of="kubernetes.example")
    with serving(lambda _: answer({"ok": True}), tls=context) as (url, asked):
        access = Access(server=url, ca_pem=cert_pem, tls_server_name="kubernetes.example")
        assert Client(access).get(QUEUES, "q") == {"ok": True}
        for name in ("", "another.example"):
            with pytest.raises(NoClusterError, match=r"(?i)certificate"):
                Client(access._replace(tls_server_name=name)).get(QUEUES, "q")
        assert len(asked) == 1


@contextmanager
def proxy() -> Iterator[tuple[str, list[str]]]:
    """One that makes tunnels; what it was asked for."""
    asked: list[str] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = []
            while (line := self.rfile.readline().decode().strip()) != "":
                head.append(line)
            asked.append("\n".join(head))
            host, _, port = head[0].split()[1].partition(":")
            with socket.create_connection((host, int(port))) as server:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=pump, args=(server, self.connection))
                back.start()
                pump(self.connection, server)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("secured", [True, False], ids=["https", "http"])
def test_a_proxy_is_used_and_shown_nothing_but_the_way(secured: bool, tmp_path: Path) -> None:
    cert_pem, context = secret_server(tmp_path)
    tls = context if secured else None
    with proxy() as (address, through), serving(lambda _: answer({"ok": 1}), tls=tls) as (url, _):
        access = Access(
            server=url,
            ca_pem=cert_pem,
            token="secret",
            proxy_url=f"http://me:p%40ss@{address}",
        )
        assert Client(access).get(QUEUES, "q") == {"ok": 1}
    (asked,) = through
    assert asked.startswith(f"CONNECT {url.rpartition('/')[2]} ")
    assert f"Basic {base64.b64encode(b'me:p@ss').decode()}" in asked
    assert "secret" not in asked


@pytest.mark.parametrize(
    "url", ["socks5://proxy:1080", "https://proxy:3128", "proxy", "http://h:x"]
)
def test_a_proxy_that_cannot_be_used_is_said_and_not_gone_around(url: str) -> None:
    with serving(lambda _: answer({})) as (server, asked):
        with pytest.raises(NoClusterError, match="does not know how to use"):
            Client(Access(server=server, proxy_url=url)).get(QUEUES, "q")
        assert asked == []
