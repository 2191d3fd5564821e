"""Encrypted connections, with certificates made for the test."""

import pytest
import trustme

from keras_seqzoo.serving import TLS, Client, ServingError
from tests.serving.client import toy
from tests.serving.client.fake_server import FakeServer


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An authority, and the files of a server's and a client's certificate."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "roots.pem")
    own = authority.issue_cert("client@example.org")
    own.private_key_pem.write_to_path(folder / "client.key")
    own.cert_chain_pems[0].write_to_path(folder / "client.pem")
    trustme.CA().cert_pem.write_to_path(folder / "others.pem")
    (folder / "no.pem").write_text("no certificate")
    return folder, authority


@pytest.fixture(scope="module", params=[False, True], ids=["server", "both"])
def server(request, files):
    """A server that asks for a client's certificate, or not."""
    authority = files[1]
    certificate = authority.issue_cert("localhost")
    server = FakeServer(toy.SIGNATURES, certificate, authority if request.param else None)
    server.asks = request.param
    yield server
    server.stop()


def translate(server, protocol, tls):
    options = {"protocol": protocol, "tls": tls, "retries": 0, "deadline": 20}
    with Client(server.address(protocol), "toy", **options) as client:
        return client.translate(["a"])[0][0].text


def test_certificates(server, files, protocol):
    folder, _ = files
    own = {"client_key": folder / "client.key", "client_certificate": folder / "client.pem"}
    trusted = TLS(root_certificates=folder / "roots.pem", **own)
    assert translate(server, protocol, trusted) == "A"
    refused = [None, True, TLS(folder / "others.pem", **own)]
    if server.asks:
        refused.append(TLS(folder / "roots.pem"))
    for tls in refused:
        with pytest.raises(ServingError):
            translate(server, protocol, tls)


def test_files_are_checked(files):
    folder, _ = files
    with pytest.raises(ValueError, match="^`client_key` and `client_certificate` must be given to"):
        TLS(client_key="client.key")
    with pytest.raises(ValueError, match="^`root_certificates` must be in PEM format.*no.pem"):
        TLS(root_certificates=folder / "no.pem")
    with pytest.raises(ValueError, match="^`client_certificate` must be in PEM format"):
        TLS(client_key=folder / "client.key", client_certificate=folder / "others.pem")
    with pytest.raises(FileNotFoundError, match="missing.pem"):
        TLS(root_certificates=folder / "missing.pem")
