"""Long tables whose rows are told apart by more columns than the one with ids."""

import pytest

import toplist as tl

DAYS = "day,site,class,p\n1,A,cat,0.5\n2,A,dog,0.4\n1,B,dog,0.9\n"


def evaluated(folder, predictions, truth, **options):
    (folder / "d.csv").write_text(predictions)
    (folder / "y.csv").write_text(truth)
    return tl.compare({"d": folder / "d.csv"}, truth=folder / "y.csv", space=3, **options)


def test_rows_of_other_days_are_not_put_together(tmp_path):
    """The site is unique in the truth, and not in the predictions."""
    truth = "day,site,outcome\n1,A,cat\n1,B,dog\n"
    with pytest.raises(tl.FileError, match=r"rows of case 'A' have '1' and '2' in 'day'.*say case='day,site'"):
        evaluated(tmp_path, DAYS, truth)
    whole = evaluated(tmp_path, DAYS, truth + "2,A,dog\n", read=tl.ReadOptions(case="day,site"))
    assert whole.comparison.compared == 3


def test_columns_that_are_the_same_in_all_rows_of_a_case_are_no_part_of_its_id(tmp_path):
    predictions = "day,site,rank,class,p\n1,A,1,cat,0.5\n1,A,2,dog,0.4\n2,B,1,dog,0.9\n"
    assert evaluated(tmp_path, predictions, "day,site,outcome\n1,A,cat\n2,B,dog\n").comparison.compared == 2
