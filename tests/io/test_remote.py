"""Files that are elsewhere are read and written as if they were here, and nothing that is secret in a URL is told."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import toplist as tl
from tests.evaluation.sequential import sequential
from tests.io.remote_servers import (
    BUCKET,
    DATASET,
    ENVIRONMENT,
    HttpStore,
    gs_server,
    http_server,
    hub_server,
    s3_server,
)
from toplist import _remote
from toplist._files import Output, as_path, require_apart, require_place, shown, shown_words, url_of, write_bytes
from toplist._remote import RemotePath
from toplist.cli.app import app
from toplist.errors import ResourceError, TopListError
from toplist.evaluation.transform import truncate_file
from toplist.io.opening import models_by_path, stem_of

pytest.importorskip("aiohttp", reason="files by https need toplist[remote]")
pytest.importorskip("fsspec", reason="files by https need toplist[remote]")

SECRET = "s3cr3t-of-the-signature"  # noqa: S105
QUERY = f"X-Amz-Signature={SECRET}&name=a%2Fb"
CASES = 60


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        made = fs.S3FileSystem(
            endpoint_override=address,
            allow_bucket_creation=True,
            access_key="testing",
            secret_key="testing",  # noqa: S106
        )
        made.create_dir(BUCKET)
        yield address


@pytest.fixture(scope="session")
def http() -> Iterator[HttpStore]:
    with http_server() as store:
        store.query = QUERY
        yield store


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint, "NO_PROXY": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}"


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same kind of lists in every format, with their truth."""
    folder = tmp_path_factory.mktemp("here")
    rng = np.random.default_rng(5)
    proba = rng.dirichlet(np.ones(4) / 2, CASES)
    ids = [f"case {i}" for i in range(CASES)]
    lists = pa.table(
        {
            "case": ids,
            "classes": [["c0", "c1", "c2"]] * CASES,
            "confidences": proba[:, :3].tolist(),
            "remarks": [rng.bytes(20_000).hex() for _ in ids],
        }
    )
    pq.write_table(lists, folder / "one.parquet", row_group_size=20)
    pq.write_table(lists.slice(0, 25), folder / "part-0.parquet")
    pq.write_table(lists.slice(25), folder / "part-1.parquet")
    feather.write_feather(lists, str(folder / "two.arrow"))
    header = "case," + ",".join(f"c{j}" for j in range(4))
    rows = [",".join([case, *map(str, row)]) for case, row in zip(ids, rng.dirichlet(np.ones(4), CASES), strict=True)]
    (folder / "three.csv").write_text("\n".join([header, *rows, ""]))
    with pa.output_stream(str(folder / "four.csv.gz"), compression="gzip") as file:
        file.write("\n".join([header, *rows[::-1], ""]).encode())
    with (folder / "five.jsonl").open("w") as text:
        for case, row in zip(ids, proba, strict=True):
            text.write(json.dumps({"case": case, **{f"c{j}": p for j, p in enumerate(row)}}) + "\n")
    np.savez(folder / "six.npz", case=np.array(ids), probs=proba, classes=np.array([f"c{j}" for j in range(4)]))
    outcomes = [f"c{k}" for k in rng.integers(0, 4, CASES)]
    truth = "\n".join(
        ["case,outcome,site", *(f"{c},{y},{i % 3}" for i, (c, y) in enumerate(zip(ids, outcomes, strict=True)))]
    )
    (folder / "truth.csv").write_text(truth + "\n")
    (folder / "labels.txt").write_text("c0\nc1\nc2\nc3\n")
    return folder


MODELS = ("one.parquet", "two.arrow", "three.csv", "four.csv.gz", "five.jsonl", "six.npz")


def stored(folder: Path, base: str) -> str:
    """A place with copies of all files of a folder."""
    for path in folder.iterdir():
        write_bytes(f"{base}/{path.name}", path.read_bytes())
    return base


@pytest.fixture
def there(bucket: str, here: Path) -> str:
    return stored(here, f"{bucket}/run 1/50% of it")


@pytest.fixture
def served(http: HttpStore, here: Path) -> str:
    for path in here.iterdir():
        http.put(f"/run 1/{path.name}", path.read_bytes())
        http.put(f"/signed/{path.name}", path.read_bytes())
        http.put(f"/whole/{path.name}", path.read_bytes())
    return http.address


def board(base: Any, names: tuple[str, ...] = MODELS, query: str = "") -> Any:
    models = {stem_of(name): f"{base}/{name}{query}" for name in names}
    return tl.compare(models, tl.Truth(f"{base}/truth.csv{query}", group="site"), space=4)


@pytest.mark.parametrize("place", ["there", "served"])
def test_an_engine_reads_what_is_elsewhere(place: str, request: pytest.FixtureRequest) -> None:
    base = request.getfixturevalue(place)
    base, query = (base, "") if place == "there" else (f"{base}/signed", f"?{QUERY}")
    names = ("one.parquet", "four.csv.gz")
    models = {stem_of(name): f"{base}/{name}{query}" for name in names}
    truth = tl.Truth(f"{base}/truth.csv{query}", group="site")
    assert tl.compare(models, truth, space=4, engine=sequential(0, [])).to_json() == board(base, names, query).to_json()


def test_an_engine_says_that_a_signed_file_is_damaged(served: str, http: HttpStore) -> None:
    damaged = f"{http.put('/signed/damaged.parquet', b'PAR1')}?{QUERY}"
    models, truth = {"one": damaged}, f"{served}/signed/truth.csv?{QUERY}"
    with pytest.raises(tl.TopListError, match=r"damaged.parquet: this is no Parquet file, or it is damaged"):
        tl.compare(models, truth, space=4, engine=sequential(0, []))


ELSEWHERE = """
import json, sys
from pathlib import Path
from tests.io.test_remote import board, json_of
from toplist._files import write_bytes
from toplist.errors import TopListError

here, base, writes = sys.argv[1:]
for path in Path(here).iterdir() if writes else ():
    write_bytes(f"{base}/{path.name}", path.read_bytes())
print(json.dumps(json_of(base)))
for place in (f"{base}/none.parquet", f"{base.rpartition('/')[0]}-none/run/one.parquet"):
    try:
        board(place.rpartition("/")[0], (place.rpartition("/")[2],))
    except TopListError as error:
        print(error)
"""
"""What a process prints that reads, and perhaps writes, in a store: its leaderboard, and what is said of no files."""


def read_elsewhere(here: Path, base: str, environment: dict[str, str], *, writes: bool) -> list[str]:
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [sys.executable, "-c", ELSEWHERE, str(here), base, "yes" if writes else ""]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, env={**clean, **environment}, cwd=root, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found, *said = done.stdout.splitlines()
    return [json.loads(found), *said]


def test_what_is_in_google_storage_is_written_and_read_as_here(here: Path, tmp_path: Path) -> None:
    base = f"gs://{BUCKET}/run"
    with gs_server(tmp_path) as environment:
        found, *said = read_elsewhere(here, base, environment, writes=True)
    assert found == json_of(here)
    assert said == [
        f"{base}/none.parquet: there is no such file.",
        f"gs://{BUCKET}-none/run/one.parquet: there is no bucket '{BUCKET}-none'.",
    ]


def test_what_is_on_the_hub_is_read_as_here(here: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    base = f"hf://datasets/{DATASET}/run"
    with hub_server({f"run/{path.name}": path.read_bytes() for path in here.iterdir()}) as address:
        environment = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_TELEMETRY": "1"}
        found, *said = read_elsewhere(here, base, environment, writes=False)
    assert found == json_of(here)
    assert said == [
        f"{base}/none.parquet: there is no such file.",
        f"hf://datasets/{DATASET}-none/run/one.parquet: there is no such file.",
    ]


def json_of(base: Any, query: str = "") -> str:
    """The leaderboard as JSON, but for where the files are."""
    return str(board(base, query=query).to_json()).replace(f"{base}/", "")


def failure(call: Any) -> str:
    """What is told of an error, which is one sentence."""
    started = time.monotonic()
    with pytest.raises(TopListError) as caught:
        call()
    assert time.monotonic() - started < 20
    assert "\n" not in str(caught.value)
    return str(caught.value)


# What is told of a URL


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://me:word@host.org/a.csv?sig=x#y", "https://host.org/a.csv"),
        ("https://token@host.org:8080/a.csv", "https://host.org:8080/a.csv"),
        ("http://host.org?sig=x/y", "http://host.org"),
        ("s3://KEY:a/b/c@bucket/a.csv", "s3://bucket/a.csv"),
        ("s3://KEY:a+b@bucket/a.csv?X-Amz-Signature=a/b", "s3://bucket/a.csv"),
        ("s3://bucket/part-?.parquet", "s3://bucket/part-?.parquet"),
        ("s3://bucket/part-?/day=3/*.parquet", "s3://bucket/part-?/day=3/*.parquet"),
        ("hf://datasets/me/data@main/a b%20.parquet", "hf://datasets/me/data@main/a b%20.parquet"),
        ("abfs://container@account.net/a.csv", "abfs://container@account.net/a.csv"),
        ("./a?b=c.csv", "./a?b=c.csv"),
    ],
)
def test_a_url_is_told_without_what_may_be_secret(url: str, told: str) -> None:
    assert shown(url) == told
    assert str(as_path(url)) in (told, str(Path(told)))
    assert shown_words([f"a={url}", url]) == [f"a={told}", told]


def test_a_path_of_pathlib_that_was_made_of_a_url_is_that_url() -> None:
    assert url_of(Path("s3://bucket/a/b.csv")) == "s3://bucket/a/b.csv"
    assert url_of(Path("/s3:/bucket")) is url_of("s3:/bucket") is url_of("C:/data.csv") is url_of("") is None


def test_a_folder_of_this_machine_that_is_called_like_a_scheme_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "one.parquet").write_bytes((here / "one.parquet").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert len(tl.read_lists("s3://one.parquet", 4)) == CASES


def test_paths_of_urls_have_the_parts_of_paths() -> None:
    path = RemotePath(f"https://host.org/a/b%20c/d.csv.gz?{QUERY}")
    assert (path.name, path.stem, path.suffix, path.suffixes) == ("d.csv.gz", "d.csv", ".gz", [".csv", ".gz"])
    assert str(path.parent / "e.csv") == str(path.with_name("e.csv")) == "https://host.org/a/b%20c/e.csv"
    assert [str(one) for one in RemotePath("s3://b/x/y.csv").parents] == ["s3://b/x", "s3://b"]
    assert SECRET not in repr(path)
    assert pickle.loads(pickle.dumps(path)) == path  # noqa: S301
    assert path.relative_to(RemotePath("https://host.org/a")).parts == ("b c", "d.csv.gz")


def test_models_are_called_by_the_names_of_their_files(there: str) -> None:
    found = models_by_path(f"https://host.org/new%20one.csv.gz?{QUERY}", "s3://b/x/old.parquet", "z=s3://b/a=b.csv")
    assert found == {
        "new one": f"https://host.org/new%20one.csv.gz?{QUERY}",
        "old": "s3://b/x/old.parquet",
        "z": "s3://b/a=b.csv",
    }
    assert list(models_by_path("s3://b/x/out.csv", "s3://b/y/out.csv")) == ["x", "y"]
    assert list(models_by_path(f"s3://{BUCKET}/run*")) == ["run 1"]


# Reading


def test_remote_files_give_the_same_bytes_of_json_as_those_of_this_machine(here: Path, there: str, served: str) -> None:
    expected = json_of(here)
    assert json_of(there) == expected
    assert json_of(f"{served}/run 1") == expected
    assert json_of(stored(here, "memory://run 1")) == expected


def test_encoded_and_signed_urls_and_servers_without_ranges_give_the_same(here: Path, served: str) -> None:
    expected = tl.read_lists(here / "one.parquet", 4)
    for url in ("run%201/one.parquet", "whole/one.parquet", f"signed/one.parquet?{QUERY}", "whole/two.arrow"):
        lists = tl.read_lists(f"{served}/{url}", 4)
        assert lists.ids.tolist() == expected.ids.tolist()
        assert (lists.confidences == expected.confidences).all()


def test_folders_and_patterns_are_one_prediction(here: Path, there: str) -> None:
    whole = tl.read_lists(here / "one.parquet", 4)
    for where in ("part-*.parquet", "part-?.parquet", "../*/part-[01].parquet"):
        pattern = f"{there}/{where}" if ".." not in where else f"{there.rpartition('/')[0]}/*/part-[01].parquet"
        lists = tl.read_lists(pattern, 4)
        assert lists.ids.tolist() == whole.ids.tolist()
        assert (lists.confidences == whole.confidences).all()
    stored_parts = f"s3://{BUCKET}/parts"
    for name in ("part-0.parquet", "part-1.parquet"):
        write_bytes(f"{stored_parts}/{name}", (here / name).read_bytes())
    for folder in (stored_parts, f"{stored_parts}/", f"s3://{BUCKET}/**/parts/*.parquet"):
        assert len(tl.read_lists(folder, 4)) == CASES


def test_keys_are_taken_as_they_are_typed(bucket: str, here: Path) -> None:
    for name in ("a b.csv", "a%20b.csv", "a+b#c.csv", "größe.csv", "[x].csv", "a=b.csv"):
        write_bytes(f"{bucket}/keys/{name}", (here / "three.csv").read_bytes())
        assert len(tl.read_lists(f"{bucket}/keys/{name}", 4)) == CASES
    names = {one.name for one in RemotePath(f"{bucket}/keys").iterdir()}
    assert {"a b.csv", "a%20b.csv"} <= names


def test_of_parquet_and_arrow_only_the_columns_that_are_used_are_fetched(http: HttpStore, served: str) -> None:
    for name in ("one.parquet", "two.arrow"):
        size = len(http.files[f"/run 1/{name}"])
        http.sent.clear()
        tl.read_lists(f"{served}/run 1/{name}", 4)
        assert 0 < sum(count for _, count in http.sent) < size / 4


def test_text_is_fetched_once(http: HttpStore, served: str) -> None:
    content = http.files["/run 1/three.csv"] + b"\n"
    url = http.put("/once.csv", content)
    http.sent.clear()
    first = board_of(url, f"{served}/run 1/truth.csv")
    assert sum(count for path, count in http.sent if path == "/once.csv") < 3 * len(content)
    http.sent.clear()
    assert board_of(url, f"{served}/run 1/truth.csv") == first
    assert sum(count for path, count in http.sent if path == "/once.csv") <= len(content) + 1  # it is looked at


def board_of(model: str, truth: str) -> str:
    return str(tl.compare({"model": model}, truth, space=4).to_json())


def test_a_file_that_was_changed_is_fetched_again(bucket: str, here: Path) -> None:
    url, rows = f"{bucket}/changing.csv", (here / "three.csv").read_text().splitlines()
    write_bytes(url, "\n".join([*rows, ""]).encode())
    assert len(tl.read_lists(url, 4)) == CASES
    write_bytes(url, "\n".join([*rows[:11], ""]).encode())
    assert len(tl.read_lists(url, 4)) == 10


def test_copies_are_removed(bucket: str, there: str) -> None:
    path = RemotePath(f"{there}/three.csv")
    copy = path.local()
    assert copy.is_file()
    assert copy.suffix == ".csv"
    _remote._FOLDERS.close()
    _remote._COPIES.clear()
    assert not copy.exists()
    assert RemotePath(f"{there}/three.csv").local().is_file()


# Writing


def test_outputs_that_go_elsewhere_have_the_same_bytes(bucket: str, here: Path, tmp_path: Path) -> None:
    made = board(here, ("one.parquet", "three.csv"))
    for name in ("board.json", "board.csv", "board.html"):
        made.write(tmp_path / name)
        made.write(f"{bucket}/out/{name}")
        assert as_path(f"{bucket}/out/{name}").read_bytes() == (tmp_path / name).read_bytes()
    for name in ("cut.parquet", "cut.csv", "cut.jsonl"):
        truncate_file(here / "one.parquet", tmp_path / name, k=2, space=4)
        truncate_file(here / "one.parquet", f"{bucket}/out/{name}", k=2, space=4)
        assert as_path(f"{bucket}/out/{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_scores_are_written_and_are_the_baseline_of_a_gate(bucket: str, here: Path, tmp_path: Path) -> None:
    given = ("-t", here / "truth.csv", "-c", "4")
    for place in (bucket, tmp_path):
        told("score", here / "one.parquet", *given, "-o", f"{place}/scores.parquet")
    words = (*given, "--max-loss", "1.9")
    said = [told("gate", here / "three.csv", "-b", f"{place}/scores.parquet", *words) for place in (bucket, tmp_path)]
    assert said[0] == said[1]
    assert "pass" in said[0].lower()


def test_what_fails_leaves_what_was_there(bucket: str) -> None:
    url = f"{bucket}/whole.txt"
    write_bytes(url, b"old")
    with pytest.raises(RuntimeError):
        write_half(url, RuntimeError)
    assert as_path(url).read_bytes() == b"old"
    with pytest.raises(KeyboardInterrupt):
        write_half(f"{bucket}/never.txt", KeyboardInterrupt)
    assert not as_path(f"{bucket}/never.txt").exists()


def write_half(url: str, stopped: type[BaseException]) -> None:
    with Output(url) as output:
        output.file.write(b"new" * 1_000_000)
        raise stopped


def test_large_outputs_come_in_parts_and_whole(bucket: str) -> None:
    content = os.urandom(1 << 20) * 12  # more than the part of an upload
    write_bytes(f"{bucket}/large.bin", content)
    assert as_path(f"{bucket}/large.bin").read_bytes() == content


def test_outputs_have_a_place_before_anything_is_done(bucket: str, there: str, here: Path) -> None:
    assert "is a folder" in failure(lambda: require_place(f"{bucket}/out/"))
    assert "is a folder" in failure(lambda: require_place(there))
    assert "there is no bucket 'nobody'" in failure(lambda: require_place("s3://nobody/a.json"))
    assert "for reading" in failure(lambda: require_place(f"https://host.org/a.json?{QUERY}"))
    words = ("compare", here / "one.parquet", "-t", here / "truth.csv", "-c", "4", "--report", "s3://nobody/a.html")
    assert "there is no bucket 'nobody'" in told(*words)


@pytest.mark.parametrize(
    ("output", "read", "problem"),
    [
        ("s3://b/x.parquet", "s3://b/x.parquet", "is the input"),
        ("s3://b/run/x.parquet", "s3://b/run", "lies in the folder"),
        ("s3://b/run/x.parquet", "s3://b/run/*.parquet", "matches the pattern"),
        ("s3://b/run/x.parquet", Path("s3://b/run/x.parquet"), "is the input"),
        ("s3://b/run/x.parquet", f"s3://b/run/x.parquet?X-Amz-Signature={SECRET}", "is the input"),
    ],
)
def test_no_output_replaces_what_is_read(output: str, read: Any, problem: str) -> None:
    message = failure(lambda: require_apart([output], [read]))
    assert problem in message
    assert SECRET not in message
    require_apart([output], ["s3://b/running", "s3://other/run/x.parquet", "run/x.parquet", "s3://b/run/*/*.parquet"])


def test_partial_results_are_written_and_merged(bucket: str, there: str, served: str, here: Path) -> None:
    signed = f"{served}/signed/part-1.parquet?{QUERY}"
    for name, file in (("0", f"{there}/part-0.parquet"), ("1", signed)):
        truth = f"{bucket}/truth-{name}.csv"
        head, *rows = (here / "truth.csv").read_text().splitlines()
        write_bytes(truth, "\n".join([head, *(rows[:25] if name == "0" else rows[25:]), ""]).encode())
        told("partial", f"a={file}", f"b={file}", "-t", truth, "-c", "4", "-o", f"{bucket}/parts/{name}.tlp")
    both = (f"{name}={here / 'one.parquet'}" for name in "ab")
    whole = told("compare", *both, "-t", here / "truth.csv", "-c", "4", "--json", "-q")
    for place in (f"{bucket}/parts", f"{bucket}/parts/*.tlp"):
        assert json.loads(told("merge", place, "--json", "-q"))["overall"] == json.loads(whole)["overall"]
    for name in ("0", "1"):
        assert SECRET.encode() not in as_path(f"{bucket}/parts/{name}.tlp").read_bytes()
    assert "no file matches this pattern" in told("merge", f"{bucket}/none/*.tlp")


# Failures

NOWHERE = "http://127.0.0.1:9"
SAID = {  # what AWS_ENDPOINT_URL names in place of the store, what is read or written, what is said
    "no file": ("", "{s3}/none.csv", "{s3}/none.csv: there is no such file."),
    "no bucket": ("", "s3://nobody/a.parquet", "there is no bucket 'nobody'"),
    "no match": ("", "{s3}/none*.csv", "no file matches"),
    "no file of a server": ("", f"{{http}}/none.csv?{QUERY}", "there is no such file"),
    "denied by a server": ("", "{http}/denied/a.csv", "access is denied"),
    "signed long ago": ("", "{http}/signed/one.parquet?sig=old", "access is denied"),
    "denied by a store": ("{http}", "s3://denied/a.csv", "access is denied: set AWS_ACCESS_KEY_ID"),
    "writing denied": ("{http}", "> s3://denied/a.json", "access is denied: set AWS_ACCESS_KEY_ID"),
    "no store to reach": (NOWHERE, "{s3}/a.csv", "cannot be reached: check the network, and AWS_ENDPOINT_URL"),
    "no server to reach": ("", f"{NOWHERE}/a.csv?{QUERY}", "cannot be reached"),
    "no store": ("{http}", "{s3}/a.csv", "there is no bucket '{bucket}' at {http}, which AWS_ENDPOINT_URL names"),
    "no store of a pattern": ("{http}", "{s3}/a*.csv", "there is no bucket '{bucket}' at {http}, which AWS_"),
    "another protocol": ("{https}", "{s3}/a.csv", "cannot be reached"),
    "damaged": ("", "{s3}/bad.parquet", "damaged"),
    "no gzip": ("", "{s3}/bad.csv.gz", "{s3}/bad.csv.gz"),
    "credentials": ("", f"s3://KEY:{SECRET}@{BUCKET}/a.csv", "set AWS_ACCESS_KEY_ID"),
}


@pytest.mark.parametrize("what", SAID)
def test_a_file_that_cannot_be_read_is_told_in_a_sentence_without_secrets(
    what: str, bucket: str, served: str, http: HttpStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"s3": bucket, "http": served, "https": served.replace("http:", "https:"), "bucket": BUCKET}
    http.put("/denied/a.csv", b"x")
    write_bytes(f"{bucket}/bad.parquet", b"PAR1 no table PAR1")
    write_bytes(f"{bucket}/bad.csv.gz", b"\x1f\x8b no gzip")
    endpoint, url, words = (text.format(**places) for text in SAID[what])
    if endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    writes = url.startswith("> ")
    message = failure(lambda: write_bytes(url[2:], b"{}") if writes else tl.read_lists(url, 4))
    assert words in message
    assert SECRET not in message
    assert "KEY" not in message.replace("ACCESS_KEY", "")


def test_a_server_lists_no_folders(served: str) -> None:
    assert "lists no folders" in failure(lambda: list(RemotePath(f"{served}/run 1/").iterdir()))


def test_a_connection_that_breaks_is_no_damaged_file(served: str, monkeypatch: pytest.MonkeyPatch, bucket: str) -> None:
    class Broken:
        def __enter__(self) -> Any:
            raise OSError("AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 56")

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(RemotePath, "random_access", lambda self: Broken())
    with pytest.raises(ResourceError, match="cannot be reached"):
        tl.read_lists(f"{served}/run 1/one.parquet", 4, read=tl.ReadOptions(producer="none"))


def test_schemes_that_are_not_known_or_need_more_are_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "foo:// is not known" in failure(lambda: tl.read_lists("foo://a/b.csv", 4))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    _remote._file_system.cache_clear()
    assert "pip install huggingface_hub" in failure(lambda: tl.read_lists("hf://datasets/a/b/c.csv", 4))


# Secrets


def told(*words: Any) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert not isinstance(done.exception, Exception), done.exception
    return done.output + done.stderr


def test_no_output_of_a_run_has_what_is_secret_in_its_urls(
    served: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = [f"{served}/signed/{name}?{QUERY}" for name in ("one.parquet", "three.csv", "truth.csv", "labels.txt")]
    one, three, truth, labels = signed
    named = f"best={served.replace('http://', f'http://me:{SECRET}@')}/signed/five.jsonl?{QUERY}"
    words = ["compare", one, named, "-t", truth, "-c", labels]
    outputs = [tmp_path / f"board.{suffix}" for suffix in ("json", "md", "html", "txt")]
    words += ["--report", tmp_path / "report.html", *(word for path in outputs for word in ("-o", path))]
    monkeypatch.setattr(sys, "argv", ["toplist", *map(str, words)])
    every = [told(*words), told(*words[:7], "--json")]
    assert all("best" in text for text in every)
    every += [path.read_text() for path in (tmp_path / "report.html", *outputs)]
    every += [told("score", one, "-t", truth, "-c", labels, "-o", tmp_path / "scores.csv", "--json")]
    every += [(tmp_path / "scores.csv").read_text()]
    every += [told("diagnose", three, "-t", truth, "-c", labels), told("check", one, "-c", labels)]
    every += [told("truncate", one, "-k", "2", "-c", labels, "-o", tmp_path / "cut.csv", "--json")]
    every += [told("score", one, "-t", truth, "-c", labels, "-o", tmp_path / "scores.parquet", "--json")]
    every += [(tmp_path / "scores.parquet").read_text(encoding="latin-1")]
    # What goes wrong
    bad = f"{served}/denied/x.csv?{QUERY}"
    every += [told("compare", bad, "-t", truth, "-c", labels), told("compare", one, "-t", bad, "-c", "4")]
    every += [told("compare", one, "-t", truth, "-c", bad), told("compare", one, one, "-t", truth, "-c", "4")]
    every += [told("compare", one, "-t", truth, "-c", "4", "--report", f"{served}/x.html?{QUERY}")]
    every += [told("compare", one, "-t", truth, "-c", "4", "-o", f"{served}/x.json?{QUERY}")]
    every += [told("compare", one, "-t", three, "-c", "4"), told("compare", truth, "-t", one, "-c", "4")]
    every += [repr(tl.Source(one)), repr(tl.Truth(truth))]
    for text in every:
        assert text
        assert SECRET not in text
        assert "X-Amz" not in text
