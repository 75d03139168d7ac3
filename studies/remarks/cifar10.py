"""Which networks are in the confidence set of the best, and where accuracy and scores rank two networks differently."""

from __future__ import annotations

from collections.abc import Mapping

from studies.remarks.markdown import chance, mean, table
from studies.remarks.reading import Reading, Row


def remark(boards: Mapping[str, Reading]) -> str:
    """The confidence set; pairs that accuracy ranks the other way, by how significant either is."""
    nets, lists = boards["cifar10"], boards["cifar10-lists"]
    return "\n\n".join([_best(nets), _brier(nets), _log(nets), _lists(lists)])


def crossed(board: Reading, rule: str) -> list[tuple[Row, Row]]:
    """Pairs that the rule ranks one way and accuracy the other, with what each says; least p value first."""
    errors = {(pair["a"], pair["b"]): pair for pair in board.pairs("zero-one")}
    both = [(pair, errors[pair["a"], pair["b"]]) for pair in board.pairs(rule)]
    found = [(one, other) for one, other in both if _value(one) * _value(other) < 0]
    return sorted(found, key=lambda pair: pair[0]["difference"]["p"])


def _value(pair: Row) -> float:
    value = pair["difference"]["value"]
    return 0.0 if value is None or pair["difference"]["p"] is None else float(value)


def _best(board: Reading) -> str:
    found = board.record["confidence_set"]
    p = found["p"]
    rows = [
        [
            name,
            mean(board.mark(name)["mean"]["value"], 4),
            mean(board.mark(name, "log")["mean"]["value"]),
            mean(board.row(name)["metrics"]["accuracy"]["value"], 4),
            chance(p[name]),
            "-".join(map(str, dict.fromkeys(board.row(name)["rank_interval"]))),
            "yes" if name in found["members"] else "",
        ]
        for name in board.names
    ]
    said = (
        f"The confidence set of the best under the Brier score at {100 * found['level']:.0f} % has "
        f"{len(found['members'])} of {len(rows)} networks:"
    )
    header = ["network", "Brier", "log", "accuracy", "adjusted p", "ranks", "in the set"]
    return f"{said}\n\n{table(header, rows)}"


def _brier(board: Reading) -> str:
    found = crossed(board, "brier")
    count = sum(board.significant(one) for one, _ in found)
    said = (
        f"Accuracy and the Brier score rank {len(found)} of {len(board.pairs())} pairs in opposite ways; the Brier "
        f"difference is significant for {count or 'none'} of them:"
    )
    return f"{said}\n\n{_table(found, 'Brier')}"


def _log(board: Reading) -> str:
    found = [(one, other) for one, other in crossed(board, "log") if board.significant(one)]
    count = sum(board.significant(other) for _, other in found)
    said = (
        f"The logarithmic score significantly contradicts accuracy for {len(found)} pairs, and for {count} of them the "
        "difference in accuracy is significant as well:"
    )
    return f"{said}\n\n{_table(found, 'log')}"


def _lists(board: Reading) -> str:
    found = [(one, other) for one, other in crossed(board, "brier") if board.significant(one)]
    count = sum(board.significant(other) for _, other in found)
    alone = sum(other["difference"]["p"] <= 1 - board.record["level"] for _, other in found)
    said = (
        f"Among the {len(board.names)} forms of five models the padded Brier score significantly contradicts accuracy "
        f"for {len(found)} pairs; the difference in accuracy is significant for {count or 'none'} of them, and for "
        f"{alone} if each is tested alone:"
    )
    return f"{said}\n\n{_table(found, 'Brier')}"


def _table(found: list[tuple[Row, Row]], rule: str) -> str:
    """Which model scores better, which is right more often, by how much, and with which p values."""
    rows = []
    for one, other in found:
        better, right = (pair["a"] if _value(pair) < 0 else pair["b"] for pair in (one, other))
        rows.append(
            [
                better,
                right,
                f"{abs(_value(one)):.4f}",
                chance(one["adjusted_p"]),
                f"{abs(_value(other)):.4f}",
                chance(other["difference"]["p"]),
                chance(other["adjusted_p"]),
            ]
        )
    header = ["better score", "right more often", rule, "adjusted p", "accuracy", "p", "adjusted p"]
    return table(header, rows)
