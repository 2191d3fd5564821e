"""The recipes of `examples/serving` and of the manual parse, and name what there is."""

import configparser
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tests.serving.model_server.batching import BatchingParameters

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "serving"
DOCUMENT = "".join(
    (ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("serving.md", "operations.md")
)
# Options of tensorflow_model_server 2.20 and 2.21, read in its source.
FLAGS = {
    *("port", "rest_api_port", "rest_api_timeout_in_ms", "model_name", "model_base_path"),
    *("model_config_file", "model_config_file_poll_wait_seconds", "monitoring_config_file"),
    *("enable_batching", "batching_parameters_file", "ssl_config_file"),
    *("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism"),
    *("allow_version_labels_for_unavailable_models", "file_system_poll_wait_seconds"),
    *("grpc_max_threads", "num_load_threads", "max_num_load_retries"),
    *("load_retry_interval_micros", "xla_cpu_compilation_enabled", "xla_gpu_compilation_enabled"),
}
# What each recipe sets, for the reasons that the document gives.
SET = {
    *("grpc_max_threads", "num_load_threads", "load_retry_interval_micros"),
    *("model_config_file_poll_wait_seconds", "allow_version_labels_for_unavailable_models"),
    *("tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism"),
}
# Fields of tensorflow.serving.BatchingParameters and MonitoringConfig, which the package with the
# protos does not have.
BATCHING_FIELDS = {
    *("max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads"),
    *("thread_pool_name", "allowed_batch_sizes", "pad_variable_length_inputs"),
}


def text(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def fields(proto):
    """The names of the fields of a text proto."""
    lines = "\n".join(line for line in proto.splitlines() if not line.startswith("#"))
    return set(re.findall(r"(\w+)\s*[:{]", lines))


def flags_of(words):
    """Options of the server; those of `seqzoo` have dashes."""
    return set(re.findall(r"--(\w+(?==)|\w+_\w+)", words))


def test_models():
    config = text_format.Parse(text("models.config"), ModelServerConfig())
    [model] = config.model_config_list.config
    assert (model.name, model.base_path) == ("en_fr", "/models/en_fr")
    blocks = re.findall(r"```textproto\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        found = text_format.Parse(block, ModelServerConfig())
        assert found.model_config_list.config[0].model_platform == "tensorflow"


def test_batching():
    parameters = BatchingParameters(text("batching_parameters.txt"))
    assert parameters.max_batch_size == 64 and parameters.pad_variable_length_inputs
    assert fields(text("batching_parameters.txt")) <= BATCHING_FIELDS | {"value"}


def test_monitoring():
    monitoring = text("monitoring.config")
    assert fields(monitoring) == {"prometheus_config", "enable", "path"}
    [path] = re.findall('path: "(.*)"', monitoring)
    [job] = yaml.safe_load(text("prometheus.yml"))["scrape_configs"]
    assert job["metrics_path"] == path
    services = yaml.safe_load(text("compose.yaml"))["services"]
    [target] = job["static_configs"][0]["targets"]
    host, port = target.split(":")
    assert host in services and f"127.0.0.1:{port}:{port}" in services[host]["ports"]


def test_compose():
    services = yaml.safe_load(text("compose.yaml"))["services"]
    serving = services["serving"]
    assert SET <= flags_of(" ".join(serving["command"])) <= FLAGS
    assert all(volume.endswith(":ro") for one in services.values() for volume in one["volumes"])
    for word in serving["command"]:
        name = re.search("/config/(.*)", word)
        assert name is None or (FOLDER / name[1]).is_file()


def test_unit():
    unit = configparser.ConfigParser(strict=True)
    unit.optionxform = str
    unit.read_string(text("tensorflow-serving.service").replace("\\\n", ""))
    assert set(unit) == {"DEFAULT", "Unit", "Service", "Install"}
    command = unit["Service"]["ExecStart"]
    assert command.startswith("/usr/bin/tensorflow_model_server ")
    assert SET <= flags_of(command) <= FLAGS
    assert unit["Service"]["IPAddressDeny"] == "any"
    assert unit["Service"]["IPAddressAllow"] == "localhost"
    for name in re.findall("/etc/tensorflow-serving/(\\S+)", command):
        assert (FOLDER / name).is_file()


def test_kubernetes():
    deployment, service = yaml.safe_load_all(text("kubernetes.yaml"))
    pod = deployment["spec"]["template"]
    [container] = pod["spec"]["containers"]
    assert SET <= flags_of(" ".join(container["args"])) <= FLAGS
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pause < pod["spec"]["terminationGracePeriodSeconds"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"grpc": 8500, "rest": 8501}
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/v1/models/en_fr", "port": "rest"}
    assert container["livenessProbe"]["tcpSocket"] == {"port": "rest"}
    assert set(container["resources"]) == {"requests", "limits"}
    labels = pod["metadata"]["labels"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"] == labels
    kustomization = yaml.safe_load(text("kustomization.yaml"))
    [generator] = kustomization["configMapGenerator"]
    configured = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert configured["config"]["configMap"]["name"] == generator["name"]
    used = re.findall("/config/(\\S+)", " ".join(container["args"]))
    assert set(used) == set(generator["files"])


def test_the_document_names_what_there_is():
    assert flags_of(DOCUMENT) <= FLAGS
    for name in re.findall(r"\]\(\.\./([\w./-]+)\)", DOCUMENT):
        assert (ROOT / name).exists(), name
    for path in FOLDER.iterdir():
        assert path.name in DOCUMENT


@pytest.mark.parametrize(("state", "status"), [("AVAILABLE", 0), ("LOADING", 1)])
def test_health_check(fake_server, state, status):
    fake_server.state = state
    test = yaml.safe_load(text("compose.yaml"))["services"]["serving"]["healthcheck"]["test"]
    assert test[0] == "CMD"
    port = fake_server.rest_address.split(":")[1]
    command = [word.replace("8501", port).replace("en_fr", "toy") for word in test[1:]]
    assert subprocess.run(command, check=False, timeout=20).returncode == status


@pytest.fixture(scope="module")
def fake_server():
    from tests.serving.client.fake_server import FakeServer

    server = FakeServer({})
    yield server
    server.stop()
