#!/usr/bin/env bash
# The demo: a generated stream through the whole machine, in a project folder of its own.
set -euo pipefail
folder=${1:?the folder to work in}
rows=${2:-200000}
export SLUICE_PROJECT=$folder
unset SLUICE_LAKEHOUSE

if [ ! -d "$folder/streams" ]; then
  sluice init "$folder" --quiet
fi
data=$folder/traffic_$rows.parquet
if [ ! -e "$data" ]; then
  echo "1. Generating $rows readings of 200 traffic sensors, up to a minute late …"
  sluice generate Traffic --rows "$rows" --disorder bounded --out "$data" --quiet
fi
echo "2. Archiving them in Delta …"
sluice ingest Traffic "$data" --quiet
echo "3. Replaying the query speeds over the archive …"
sluice replay speeds --batch-rows 50000
echo "4. Checking the answers …"
sluice check speeds --quiet
echo
echo "Some answers:"
sluice show speeds --limit 5 --quiet
echo
echo "Tuples that came too late for a window:"
sluice late speeds --limit 3 --quiet
cat <<TXT

Everything is in $folder: queries/*.cql to change, .lakehouse with the tables.
Data Docs: $folder/.lakehouse/quality/data_docs/index.html
Try next:
  export SLUICE_PROJECT=$folder PATH=\$PWD/.venv/bin:\$PATH
  sluice explain speeds
  sluice show speeds --at '2026-01-01 00:10:00'
  sluice replay wid_q1 wid_q2
  make airflow
TXT
