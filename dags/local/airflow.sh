#!/usr/bin/env bash
# `make airflow`: the local Airflow on the project in SLUICE_PROJECT, or on the demo's. Takes start_airflow.py's flags.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export SLUICE_PROJECT=${SLUICE_PROJECT:-$root/.demo}
exec "$root/.venv/bin/python" "$root/dags/local/start_airflow.py" "$@"
