"""What spark-submit runs: the command line `sluice`, in a process that Spark started.

spark-submit --jars … jobs/submit.py replay QUERY --until SEQ
"""

import os
import sys

# spark-submit puts this file's folder first, where `jobs.x` is plain `x` and may hide a standard module. So until
# that is mended nothing is imported but what Python itself has imported already.
_JOBS = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [os.path.dirname(_JOBS), *(entry for entry in sys.path if os.path.abspath(entry) != _JOBS)]

if __name__ == "__main__":
    from jobs.cli import main

    main()
