"""What the files for hosts say fits the app, and each other."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ncd.app.host import health
from ncd.cli import crowd
from tests.test_install import KEPT

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
CADDYFILE = ROOT / "ncd" / "cli" / "Caddyfile"
SEEN = re.compile(r"NCD_[A-Z]+")


def test_the_image_gets_what_the_package_is_made_of() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    sent = {line[1:].partition("/")[0] for line in ignored if line.startswith("!")}
    assert sent == {*KEPT, "requirements.txt", "constraints.txt"}
    assert all((ROOT / name).exists() for name in sent)


def test_the_proxy_knows_the_processes() -> None:
    services = COMPOSE["services"]
    proxy = services["proxy"]
    names = sorted(services.keys() - {"proxy"})
    assert sorted(proxy["depends_on"]) == names
    dialled = proxy["environment"]["PROCESSES"].split()
    port = re.search(r"^ENV PORT=(\d+)$", (ROOT / "Dockerfile").read_text(), re.M)
    assert port
    assert sorted(dialled) == [f"{name}:{port[1]}" for name in names]
    rules = proxy["volumes"][0].split(":")
    assert (ROOT / rules[0]).resolve() == CADDYFILE
    for name in names:
        leaves = float(services[name]["environment"]["NCD_DRAIN"])
        assert 1 < leaves + 20 < float(services[name]["stop_grace_period"].rstrip("s"))


@pytest.mark.skipif(not shutil.which("caddy"), reason="Caddy is not installed")
@pytest.mark.parametrize(
    ("site", "port"), [(":80", "80"), ("http://:8501", "8501"), ("circuits.example.org", "443")]
)
def test_caddy_reads_its_file(site: str, port: str, tmp_path: Path) -> None:
    said = {"SITE": site, "PROCESSES": "first:8501 second:8501", "BIND": "127.0.0.1"}
    file, version = tmp_path / "Caddyfile", subprocess.check_output(["caddy", "version"], text=True)
    file.write_text(crowd.caddyfile(version))
    command = ["caddy", "adapt", "--adapter", "caddyfile", "--config", str(file)]
    done = subprocess.run(command, env={**os.environ, **said}, capture_output=True, check=True)
    (server,) = json.loads(done.stdout)["apps"]["http"]["servers"].values()
    assert server["listen"] == [f"127.0.0.1:{port}"]
    rooms, pages = found(server, "reverse_proxy")  # a room of a class lives in one process
    for proxy, policy in ((rooms, "uri_hash"), (pages, "cookie")):
        assert [own["dial"] for own in proxy["upstreams"]] == ["first:8501", "second:8501"]
        assert proxy["load_balancing"]["selection_policy"]["policy"] == policy
        assert proxy["health_checks"]["active"]["uri"] == "/readyz"
    assert len(found(server, "encode")) == 1


def test_a_process_that_ends_serves_until_the_proxy_has_noticed() -> None:
    fails = re.search(r"health_fails (\d+)", CADDYFILE.read_text())
    assert fails and int(fails[1]) == health.MIN_FAILED_CHECKS
    assert float(crowd.DRAIN) > health.MIN_FAILED_CHECKS


def found(part: object, handler: str) -> list[dict[str, Any]]:
    """All handlers of a kind in what Caddy has read."""
    if isinstance(part, list):
        return [own for item in part for own in found(item, handler)]
    if not isinstance(part, dict):
        return []
    own = [part] if part.get("handler") == handler else []
    return own + [item for value in part.values() for item in found(value, handler)]


def test_every_setting_is_explained() -> None:
    """Every setting that a host is told of is in the list of all."""
    settings = (ROOT / "docs" / "settings.md").read_text()
    for file in ("docs/hosting.md", "compose.yaml", "Dockerfile"):
        assert set(SEEN.findall((ROOT / file).read_text())) <= set(SEEN.findall(settings)), file
