"""The parser of a command line that takes any negative number for a value."""

import argparse
import re


class Parser(argparse.ArgumentParser):
    """An argument parser to which ``-1e-3`` is a number, and not an option, as ``-0.001`` is to all."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._negative_number_matcher = re.compile(r"-\.?\d")
