"""One trial of the doctor: ``python -m muphy_lb.doctor cpu|gpu|ranks`` prints what it answers."""

import json
import sys

from muphy_lb.doctor.trial import MARK, tried

if __name__ == "__main__":
    answer = tried(sys.argv[1])
    if answer is not None:  # on rank 0, where there are several
        print(MARK + json.dumps(answer), flush=True)
