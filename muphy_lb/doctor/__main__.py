"""One trial of the doctor: ``python -m muphy_lb.doctor cpu|gpu|ranks`` prints what it answers."""

import json
import sys

from muphy_lb.doctor.trial import MARK, tried


def main(name: str) -> int:
    """Make one trial and print its answer, on rank 0 where there are several; returns the exit code 0."""
    answer = tried(name)
    if answer is not None:
        print(MARK + json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
