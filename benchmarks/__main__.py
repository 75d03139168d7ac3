"""`python -m benchmarks [--quick]`: run the races and print the ratios."""

import sys
from pathlib import Path

import pytest

sys.exit(pytest.main([str(Path(__file__).parent), "-q", "--benchmark-disable-gc", *sys.argv[1:]]))
