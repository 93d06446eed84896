"""The containers, as far as can be seen without running one: no open port, no password, no moving tag."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCKER = Path(__file__).resolve().parents[2] / "docker"
REQUIRED = re.compile(r"\$\{[A-Z_]+:\?[^}]+\}")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


def test_ports_are_on_loopback(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in ports), ports


def test_secrets_come_from_the_environment_and_have_no_default(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|SQL_ALCHEMY", key):
                assert REQUIRED.search(str(value)), f"{name}: {key}"
    text = (DOCKER / "compose.yaml").read_text()
    assert not re.search(r"\$\{[A-Z_]+(:?-|\})", text), "a variable with a default, or without a message"


def test_the_example_names_every_variable_and_fills_none() -> None:
    wanted = set(re.findall(r"\$\{([A-Z_]+)", (DOCKER / "compose.yaml").read_text()))
    lines = (DOCKER / "env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert set(given) == wanted
    assert not any(given.values())


def test_images_are_pinned(compose: dict[str, Any]) -> None:
    images = {service["image"] for service in compose["services"].values()}
    bases = re.findall(r"^FROM (\S+:\S+)", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    assert bases
    for image in (*images, *bases):
        assert re.search(r":\d+\.\d+", image), image


def test_every_service_says_whether_it_is_healthy(compose: dict[str, Any]) -> None:
    assert all("healthcheck" in service for service in compose["services"].values())


def test_spark_runs_what_it_is_sent_so_its_port_stays_inside(compose: dict[str, Any]) -> None:
    published = [
        port for name, one in compose["services"].items() if "spark" in name for port in one.get("ports", [])
    ]
    assert not any(port.endswith(":7077") for port in published)


def test_the_image_runs_as_a_user_and_installs_by_hash() -> None:
    dockerfile = (DOCKER / "Dockerfile").read_text()
    assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE)[-1] != "root"
    assert "--require-hashes -r requirements.lock" in dockerfile
    assert "latest" not in dockerfile
