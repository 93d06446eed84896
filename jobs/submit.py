"""What spark-submit runs: the command line `sluice`, in a process that Spark started.

spark-submit --jars … jobs/submit.py replay QUERY --until SEQ
"""

from __future__ import annotations

import sys
from pathlib import Path

# spark-submit puts this file's folder first, where `jobs.x` is plain `x` and may hide a standard module.
_JOBS = Path(__file__).resolve().parent
sys.path[:] = [str(_JOBS.parent), *(entry for entry in sys.path if Path(entry or ".").resolve() != _JOBS)]

if __name__ == "__main__":
    from jobs.cli import main

    main()
