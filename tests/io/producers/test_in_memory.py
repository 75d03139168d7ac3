"""Objects in memory that a producer does not read are refused, and never taken for no cases."""

import pytest

import toplist as tl
from toplist.io.producers import PRODUCERS


@pytest.mark.parametrize("name", PRODUCERS)
def test_what_is_not_read_is_refused(name):
    with pytest.raises(tl.TopListError):
        tl.read_lists(([["a", "b"]], [[0.5, 0.2]]), 5, producer=name)
