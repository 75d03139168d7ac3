"""What a user would write today."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def plain_brier(classes: NDArray[Any], t: Floats, y: NDArray[Any], m: int) -> Floats:
    """The padded Brier score as its formula says, over (n, k) arrays, without any checks."""
    rest = 1 - t.sum(axis=1)
    hit = classes == y[:, None]
    q = np.where(hit.any(axis=1), (t * hit).sum(axis=1), rest / (m - t.shape[1]))
    return 1 - 2 * q + (t**2).sum(axis=1) + rest**2 / (m - t.shape[1])


def plain_top_beta(offsets: NDArray[Any], classes: NDArray[Any], t: Floats, y: NDArray[Any], beta: float) -> Floats:
    """The score of top-beta lists as its formula says, list by list, without any checks and without ties."""
    ends, labels, values, out = offsets.tolist(), classes.tolist(), t.tolist(), []
    for case, outcome in enumerate(y.tolist()):
        here = slice(ends[case], ends[case + 1])
        listed = sorted(zip(values[here], labels[here], strict=True), key=lambda pair: -pair[0])
        mass, masses = 0.0, []
        for confidence, _ in listed:
            masses.append(mass)
            mass += confidence
        value, ratios = 0.0, []
        for (confidence, _), before in zip(reversed(listed), reversed(masses), strict=True):
            reach = beta - before + value / 4
            ratios.append(reach / (2 * (1 - before) - confidence))
            value = reach * ratios[-1]
        weight, total, passed = 1.0, 0.0, 0
        for (_, label), w in zip(listed, reversed(ratios), strict=True):
            total += weight * (w * w * (2 * (1 - passed) - (label == outcome)) - 2 * w * (beta - passed))
            passed, weight = passed or int(label == outcome), weight * w / 2
        out.append(1 + total / beta**2)
    return np.array(out)


def densify(classes: NDArray[Any], t: Floats, m: int) -> Floats:
    """The padded distributions as an (n, m) matrix."""
    dense = np.repeat((1 - t.sum(axis=1))[:, None] / (m - t.shape[1]), m, axis=1)
    np.put_along_axis(dense, classes, t, axis=1)
    return dense


def sklearn_brier(classes: NDArray[Any], t: Floats, y: NDArray[Any], m: int) -> float:
    """Densify, then scikit-learn."""
    from sklearn.metrics import brier_score_loss

    return float(brier_score_loss(y, densify(classes, t, m), labels=np.arange(m)))


def heapq_sets(p: Floats, k: int, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """The k most probable label sets of each case: everything in numpy but the search, which is a heap per case.

    Sets are codes: the exclusive or of the keys of their labels, so that a flip is one operation. Wants 0 < p < 1.
    """
    q = np.minimum(p, 1 - p)
    log_first = np.log1p(-q).sum(axis=1)
    code_first = np.bitwise_xor.reduce(np.where(p > 0.5, keys, 0), axis=1)
    labels = np.argpartition(q, -min(k - 1, p.shape[1]), axis=1)[:, -min(k - 1, p.shape[1]) :]
    chosen = np.take_along_axis(q, labels, axis=1)
    order = np.argsort(-chosen, axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    all_costs = np.log((1 - chosen) / chosen).tolist()
    all_flips = keys[np.take_along_axis(labels, order, axis=1)].tolist()
    codes, costs = [], []
    for first, cost, flip in zip(code_first.tolist(), all_costs, all_flips, strict=True):
        end = len(cost)
        listed, spent = [first], [0.0]
        heap = [(cost[0], 0, 0.0, first)]  # what it costs, its last flip, and cost and code without that
        while len(listed) < k and heap:
            total, last, before, code = heap[0]
            whole = code ^ flip[last]
            listed.append(whole)
            spent.append(total)
            last += 1
            if last < end:
                heapq.heapreplace(heap, (before + cost[last], last, before, code))
                heapq.heappush(heap, (total + cost[last], last, total, whole))
            else:
                heapq.heappop(heap)
        codes.append(listed)
        costs.append(spent)
    return np.array(codes), log_first[:, None] - np.array(costs)


def pool_dicts(members: list[list[dict[int, float]]], weights: list[float], m: int) -> list[dict[int, float]]:
    """The weighted mean of padded distributions, one dict from class to confidence per list, most confident first."""
    pooled = []
    for lists in zip(*members, strict=True):
        total: dict[int, float] = {}
        base = 0.0
        for w, one in zip(weights, lists, strict=True):
            proxy = (1.0 - sum(one.values())) / (m - len(one))
            base += w * proxy
            for c, t in one.items():
                total[c] = total.get(c, 0.0) + w * (t - proxy)
        items = [(c, t + base) for c, t in total.items()]
        items.sort(key=lambda item: -item[1])
        pooled.append(dict(items))
    return pooled


def pool_dicts_by_logs(members: list[list[dict[int, float]]], weights: list[float], m: int) -> list[dict[int, float]]:
    """The weighted geometric mean of padded distributions, in the same way."""
    pooled = []
    for lists in zip(*members, strict=True):
        total: dict[int, float] = {}
        base = 0.0
        for w, one in zip(weights, lists, strict=True):
            log_proxy = math.log((1.0 - sum(one.values())) / (m - len(one)))
            base += w * log_proxy
            for c, t in one.items():
                total[c] = total.get(c, 0.0) + w * (math.log(t) - log_proxy)
        items = [(c, math.exp(t + base)) for c, t in total.items()]
        scale = 1.0 / (sum(t for _, t in items) + (m - len(items)) * math.exp(base))
        items.sort(key=lambda item: -item[1])
        pooled.append({c: t * scale for c, t in items})
    return pooled


def pool_files_as_dicts(paths: list[Any], out: Any, m: int, k: int) -> None:
    """The mean of several files' lists: read by pyarrow, merged as dicts in Python, written by pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = [pq.read_table(path).to_pydict() for path in paths]
    members = [
        [dict(zip(*pair, strict=True)) for pair in zip(one["classes"], one["confidences"], strict=True)]
        for one in tables
    ]
    pooled = pool_dicts(members, [1 / len(members)] * len(members), m)
    columns = {
        "case": tables[0]["case"],
        "classes": [list(one)[:k] for one in pooled],
        "confidences": [list(one.values())[:k] for one in pooled],
    }
    pq.write_table(pa.table(columns), out)


def chat_lists(path: Path, answer_of: Mapping[str, str], n_answers: int) -> dict[str, dict[str, float]]:
    """Lists over answers from the first token of chat completions, one per line: `json.loads` and a loop.

    Variants of an answer are added up. Of what is left, answers that are not listed get at most the smallest listed
    probability each, and OTHER has the rest.
    """
    lists = {}
    loads, exp = json.loads, math.exp
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = loads(line)
            made: dict[str, float] = {}
            total, least, other = 0.0, math.inf, 0.0
            for token in record["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
                logprob = token["logprob"]
                if logprob <= -700:
                    continue
                p = exp(logprob)
                total += p
                if p < least:  # faster than min()
                    least = p
                answer = answer_of.get(token["token"])
                if answer is None:
                    other += p
                else:
                    made[answer] = made.get(answer, 0.0) + p
            rest = max(0.0, 1 - total)
            made["OTHER"] = other + rest - min(rest, (n_answers - len(made)) * least)
            lists[record["question_id"]] = made
    return lists
