#!/usr/bin/env bash
# The api-server with one administrator, whose password comes from the environment and no default.
set -euo pipefail
umask 077
export AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS=admin:admin
export AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE=$AIRFLOW_HOME/passwords.json
python - <<'PY'
import json
import os
import pathlib

password = os.environ["AIRFLOW_ADMIN_PASSWORD"]
pathlib.Path(os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]).write_text(json.dumps({"admin": password}))
PY
unset AIRFLOW_ADMIN_PASSWORD
exec airflow api-server --host 0.0.0.0 --port 8080
