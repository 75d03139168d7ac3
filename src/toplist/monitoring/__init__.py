"""Two predictors, looked at after every case, with conclusions that hold however often one looks."""

from toplist.monitoring.monitors import Monitor
from toplist.monitoring.watching import monitor

__all__ = ["Monitor", "monitor"]
