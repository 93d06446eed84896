"""A local Airflow for the DAGs: four processes on loopback, all that they keep in `.airflow/`, gone with Ctrl-C.

    python dags/local/start_airflow.py --project DIR [--lakehouse ROOT] [--port 8080]
    python dags/local/start_airflow.py --project DIR --once      # run nightly_replay once, then stop

For one person on one machine: SQLite, and whoever reaches the port on this machine is its administrator.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from process_sessions import leads_group_only, members, send

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HOME = ROOT / ".airflow"
DAG_ID = "nightly_replay"
# Log servers are skipped because they listen on every interface; the api-server reads the files itself.
COMPONENTS = {
    "dag-processor": ["dag-processor"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
    "api-server": ["api-server", "--host", "127.0.0.1", "--workers", "1"],
}
HEALTHY_WITHIN = 180.0
STOPPED_WITHIN = 30.0
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    """Ctrl-C or SIGTERM."""


def main() -> int:
    options = _parse()
    for stopping in STOPPING:
        signal.signal(stopping, _stop)
    airflow = LocalAirflow(options)
    try:
        airflow.start()
        airflow.wait_until_healthy()
        if options.once:
            return airflow.run_once()
        _explain(airflow.url)
        airflow.wait()
        return 1
    except Stopped:
        return 0 if not options.once else 130
    except AirflowTrouble as trouble:
        print(f"Error: {trouble}", file=sys.stderr)
        return 2
    finally:
        airflow.stop()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--project", default=os.environ.get("SLUICE_PROJECT"), help="the project to replay")
    parser.add_argument(
        "--lakehouse", default=os.environ.get("SLUICE_LAKEHOUSE"), help="its lakehouse's root"
    )
    parser.add_argument("--port", type=int, default=int(os.environ.get("SLUICE_AIRFLOW_PORT", "8080")))
    parser.add_argument("--home", type=Path, default=HOME, help="what Airflow keeps (default: .airflow)")
    parser.add_argument("--once", action="store_true", help=f"trigger {DAG_ID}, wait for it, stop")
    options = parser.parse_args()
    if not options.project:
        parser.error("name a project folder with --project or SLUICE_PROJECT; `sluice init DIR` makes one")
    if not (Path(options.project) / "streams").is_dir():
        parser.error(f"{options.project} is no project folder; `make demo` or `sluice init DIR` makes one")
    return options


def _stop(*_: object) -> None:
    # A second Ctrl-C must not interrupt the stopping.
    for stopping in STOPPING:
        signal.signal(stopping, signal.SIG_IGN)
    raise Stopped


def _explain(url: str) -> None:
    token = "import json, sys; print(json.load(sys.stdin)['access_token'])"
    print(
        f"""
Airflow: {url}/dags/{DAG_ID}   (Ctrl-C stops it)
Trigger it there, or:
  TOKEN=$(curl -s {url}/auth/token | python3 -c "{token}")
  curl -s -X POST {url}/api/v2/dags/{DAG_ID}/dagRuns -H "Authorization: Bearer $TOKEN" \\
    -H 'Content-Type: application/json' -d '{{"logical_date": null}}'""",
        flush=True,
    )


class AirflowTrouble(Exception):
    """Airflow did not start, or a part of it ended."""


class LocalAirflow:
    """The four processes, each the leader of a session, so that none of their children outlives them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.url = f"http://127.0.0.1:{options.port}"
        self.port = options.port
        self.home: Path = options.home.absolute()
        self.environment = self._environment(options)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def _environment(self, options: argparse.Namespace) -> dict[str, str]:
        (self.home / "logs").mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o700)
        given = dict(os.environ)
        # None of a user's own Airflow settings, except the connection to Spark.
        kept = {k: v for k, v in given.items() if not k.startswith(("AIRFLOW__", "AIRFLOW_HOME"))}
        project = str(Path(options.project).absolute())
        ours = {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__FERNET_KEY": self._secret("fernet_key"),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__SECRET_KEY": self._secret("api_secret_key"),
            "AIRFLOW__API_AUTH__JWT_SECRET": self._secret("jwt_secret"),
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "SLUICE_PROJECT": project,
            "SLUICE_LAKEHOUSE": options.lakehouse or f"{project}/.lakehouse",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PATH": os.pathsep.join([str(BIN), given.get("PATH", os.defpath)]),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [given.get("PYTHONPATH")])]),
        }
        spark = {"AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}'}
        return {**spark, **kept, **ours}

    def _secret(self, name: str) -> str:
        """A secret of this Airflow's own, made once and readable by its user only."""
        path = self.home / name
        if not path.exists():
            made = _fernet_key() if name == "fernet_key" else secrets.token_urlsafe(64)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(made)
        return path.read_text(encoding="ascii")

    def start(self) -> None:
        if _get(f"{self.url}/api/v2/monitor/health") is not None:
            raise AirflowTrouble(
                f"port {self.port} is taken. Stop what uses it, or choose another with --port."
            )
        print("Preparing Airflow's database …", flush=True)
        migrated = subprocess.run(
            [str(BIN / "airflow"), "db", "migrate"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if migrated.returncode:
            raise AirflowTrouble(f"`airflow db migrate` failed:\n{migrated.stdout[-2000:]}")
        for name, arguments in COMPONENTS.items():
            with (self.home / "logs" / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [str(BIN / "airflow"), *arguments],
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def wait_until_healthy(self) -> None:
        """Until every part reports itself and the DAG has been read."""
        print("Starting …", flush=True)
        deadline = time.monotonic() + HEALTHY_WITHIN
        while time.monotonic() < deadline:
            self._require_running()
            health = _get(f"{self.url}/api/v2/monitor/health") or {}
            parts = ("metadatabase", "scheduler", "triggerer", "dag_processor")
            if all((health.get(part) or {}).get("status") == "healthy" for part in parts) and self._has_dag():
                return
            time.sleep(1)
        raise AirflowTrouble(f"it was not healthy within {HEALTHY_WITHIN:.0f} s; see {self.home / 'logs'}.")

    def _has_dag(self) -> bool:
        return self._api("GET", f"/dags/{DAG_ID}") is not None

    def _require_running(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise AirflowTrouble(f"the {name} ended by itself; see {self.home / 'logs' / name}.log.")

    def wait(self) -> None:
        """Until a part ends by itself, which is trouble, or a signal comes."""
        while True:
            self._require_running()
            time.sleep(1)

    def run_once(self) -> int:
        """0 if the run succeeds, 1 if it fails. Its tasks' states go to stdout."""
        run = self._api("POST", f"/dags/{DAG_ID}/dagRuns", {"logical_date": None})
        if run is None:
            raise AirflowTrouble(
                f"{DAG_ID} could not be triggered; see {self.home / 'logs' / 'api-server'}.log."
            )
        path = f"/dags/{DAG_ID}/dagRuns/{run['dag_run_id']}"
        while (run := self._api("GET", path) or run)["state"] not in ("success", "failed"):
            self._require_running()
            time.sleep(2)
        tasks = (self._api("GET", f"{path}/taskInstances?limit=1000") or {}).get("task_instances", [])
        for one in tasks:
            print(f"{one['task_id']:24} {one.get('rendered_map_index') or '':16} {one['state']}")
        print(f"{DAG_ID}: {run['state']}", flush=True)
        return 0 if run["state"] == "success" else 1

    def _api(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any] | None:
        token = (_get(f"{self.url}/auth/token") or {}).get("access_token", "")
        return _get(f"{self.url}/api/v2{path}", method, body, {"Authorization": f"Bearer {token}"})

    def stop(self) -> None:
        """Ask the four and the tasks that run; then end what is left of their sessions."""
        running = [process for process in self.processes.values() if process.poll() is None]
        if running:
            print("Stopping …", flush=True)
        for process in running:
            process.terminate()
        # A task leads a group of its own, with its Spark process; the scheduler would wait until it is done.
        for pid in members(self.processes.values()):
            if leads_group_only(pid):
                send(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOPPED_WITHIN
        while members(self.processes.values()) and time.monotonic() < deadline:
            time.sleep(0.5)
        for pid in members(self.processes.values()):
            send(pid, signal.SIGKILL)
        for process in self.processes.values():
            process.wait()


def _fernet_key() -> str:
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def _get(
    url: str, method: str = "GET", body: dict[str, Any] | None = None, headers: dict[str, str] | None = None
) -> dict[str, Any] | None:
    """The JSON that answers, or None where nothing or an error does."""
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **(headers or {})},
    )
    # A proxy has no business between two processes of one machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            return json.load(answer)  # type: ignore[no-any-return]
    except (urllib.error.URLError, ConnectionError, TimeoutError, json.JSONDecodeError):
        return None


if __name__ == "__main__":
    sys.exit(main())
