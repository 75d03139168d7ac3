"""Files that are elsewhere, by URL: paths to them, the stores that hold them, copies, and failures in a sentence.

`s3://` and `gs://` are opened by pyarrow, everything else by pyarrow or by fsspec, whichever knows the scheme.
Credentials come from the usual places alone: the environment, configuration files and profiles, and the role of a
machine.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, Protocol
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote

from toplist._files import disk_full_explained, load, need, shown, temporary_folder
from toplist.errors import FileError, ResourceError, TopListError

HTTP = ("http", "https")
_BUCKETS = ("s3", "gs", "gcs")
_CONNECT, _READ = 10.0, 60.0  # seconds until a server counts as out of reach
_ATTEMPTS = 3
_CHUNK = 1 << 22  # bytes that are copied at a time
_KEPT = "%/:=&?~#+!$,;'@()*[]"  # marks of an address that are typed as they are meant
_ENVIRONMENT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE")
_USUAL = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role of the machine",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, or the account of the machine",
    "hf": "HF_TOKEN, or hf auth login",
}
_INSTALL = {
    "hf": "huggingface_hub",
    "http": "'toplist[remote]'",
    "https": "'toplist[remote]'",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "sftp": "paramiko",
    "ssh": "paramiko",
}  # what pip installs for a scheme


# Paths


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """What a store says of a file or a folder."""

    key: str
    is_file: bool
    size: int | None = None
    version: str = ""  # the ETag, or the time of the last change; nothing where the store tells neither


class RemotePath(os.PathLike[str]):
    """The path of a file that is elsewhere, with what is used of `pathlib.Path`.

    As text it is the URL without what may be secret (see `shown`); `os.fspath` gives all of it. To open it is to open a
    copy, which is made once and removed with the process; `random_access` reads the parts that are asked for.
    """

    def __init__(self, url: str, entry: RemoteEntry | None = None) -> None:
        self.url = url
        self.scheme = url.partition("://")[0].lower()
        self._entry: RemoteEntry | None = entry
        self._seen = entry is not None
        self._copy: Path | None = None

    def __fspath__(self) -> str:
        return self.url

    def __str__(self) -> str:
        return shown(self.url)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __lt__(self, other: RemotePath) -> bool:
        return self.parts < other.parts

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath, (self.url,)

    # As text

    @property
    def _plain(self) -> PurePosixPath:
        """Where it is, without the scheme, and without a query."""
        text = str(self).partition("://")[2]
        return PurePosixPath(unquote(text) if self.scheme in HTTP else text)

    @property
    def name(self) -> str:
        """The last part."""
        return self._plain.name

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return self._plain.stem

    @property
    def suffix(self) -> str:
        """The suffix of the last part."""
        return self._plain.suffix

    @property
    def suffixes(self) -> list[str]:
        """All suffixes of the last part."""
        return self._plain.suffixes

    @property
    def parts(self) -> tuple[str, ...]:
        """The scheme and the parts."""
        return (f"{self.scheme}://", *self._plain.parts)

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in; the store itself is in none."""
        folder = self._bare.rstrip("/").rpartition("/")[0]
        return RemotePath(folder) if not folder.endswith(":/") and folder else self

    @property
    def parents(self) -> list[RemotePath]:
        """All folders that it is in, the nearest first."""
        found: list[RemotePath] = []
        one = self.parent
        while one != (found[-1] if found else self):
            found.append(one)
            one = one.parent
        return found

    @property
    def bucket(self) -> RemotePath | None:
        """What holds all files of the store; nothing where there are no buckets."""
        place = self.url.partition("://")[2].partition("/")[0]
        return RemotePath(f"{self.scheme}://{place}") if self.scheme in _BUCKETS else None

    @property
    def _bare(self) -> str:
        """The URL without its query: those of folders and of other files have none, or another one."""
        return self.url.partition("?")[0] if self.scheme in HTTP else self.url

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self._bare.rstrip('/')}/{name}")

    def with_name(self, name: str) -> RemotePath:
        """Another file in the same folder."""
        return self.parent / name

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """The parts below a folder."""
        return self._plain.relative_to(other._plain)

    def absolute(self) -> RemotePath:
        """Every URL is."""
        return self

    # What is there

    @property
    def entry(self) -> RemoteEntry | None:
        """What the store says of it; None where nothing is there. It is asked once."""
        if not self._seen:
            with explained(self):
                self._entry = self._store.entry(self.url)
            self._seen = True
        return self._entry

    @property
    def _store(self) -> RemoteStore:
        return store_of(self)

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        return self.entry is not None

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.entry is not None and self.entry.is_file

    def is_dir(self) -> bool:
        """Whether files are in it."""
        return self.entry is not None and not self.entry.is_file

    def is_symlink(self) -> bool:
        """Whether it is a link: none is."""
        return False

    def stat(self) -> os.stat_result:
        """Its size; the other numbers mean nothing."""
        entry = self._required()
        mode = stat.S_IFREG if entry.is_file else stat.S_IFDIR
        return os.stat_result((mode, 0, 0, 1, 0, 0, entry.size or 0, 0, 0, 0))

    def iterdir(self) -> Iterator[RemotePath]:
        """What is in the folder."""
        return iter(self._below(recursive=False))

    def rglob(self, pattern: str = "*") -> Iterator[RemotePath]:
        """All below the folder whose names match."""
        return (one for one in self._below(recursive=True) if PurePosixPath(one.name).match(pattern))

    def _below(self, *, recursive: bool) -> list[RemotePath]:
        with explained(self):
            found = self._store.below(self.url.rstrip("/"), recursive)
        return sorted(RemotePath(one.key, one) for one in found)

    def _required(self) -> RemoteEntry:
        if self.entry is None:
            raise missing(self)
        return self.entry

    @property
    def version(self) -> str:
        """The ETag or, where the store has none, when it was changed; nothing where it tells neither."""
        entry = self._required()
        with explained(self):
            return self._store.etag(self.url) or entry.version

    # Its bytes

    def random_access(self) -> Any:
        """A file of pyarrow that fetches the parts that are read; a copy, where the server does not give parts."""
        entry = self._required()
        with explained(self):
            made = self._store.random_access(self.url, entry)
        return need("pyarrow").OSFile(str(self.local())) if made is None else made

    @contextmanager
    def transferred(self) -> Iterator[None]:
        """Raises what goes wrong on the way as such; what is wrong with the bytes is for those who read them."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, TopListError) and any(map(_is_of_network, _chain(error))):
                raise _complaint(error, self, "read") from None
            raise

    def local(self) -> Path:
        """A copy on this machine, which belongs to this process."""
        if self._copy is None:
            self._copy = _COPIES.of(self, self._required())
        return self._copy

    def open(self, mode: str = "rb", **options: Any) -> Any:
        """The file, to be read."""
        return self.local().open(mode, **options)

    def read_bytes(self) -> bytes:
        """All of it."""
        return self.local().read_bytes()

    def read_text(self, encoding: str = "utf-8") -> str:
        """All of it as text."""
        return self.local().read_text(encoding=encoding)

    def download(self, path: Path) -> None:
        """Write all of it to a file of this machine."""
        with explained(self):
            self._store.download(self.url, path)

    def require_place(self) -> None:
        """Something can be written here, as far as that can be told before."""
        if self.scheme in HTTP:
            raise FileError(str(self), "https:// is for reading: name a file of this machine, or of a store as s3://.")
        if not self.name or self.url.endswith("/"):
            raise TopListError(f"{str(self)!r} is a folder: name a file in it for the output.")
        bucket = self.bucket
        if bucket is not None and not bucket.exists():
            raise missing(self)
        if self.is_dir():
            raise TopListError(f"{str(self)!r} is a folder: name a file in it for the output.")

    def upload(self, path: Path) -> None:
        """Put a file of this machine here, all of it or nothing."""
        with explained(self, "written"):
            self._store.upload(path, self.url)
        self._seen = False


# Stores


class RemoteStore(Protocol):
    """What can be done with the files of one scheme; each is named by its URL."""

    def entry(self, url: str) -> RemoteEntry | None:
        """What is there."""

    def below(self, url: str, recursive: bool) -> list[RemoteEntry]:
        """What is in a folder; keys are URLs."""

    def etag(self, url: str) -> str:
        """The version of a file that the store tells apart from its entry, if any."""

    def random_access(self, url: str, entry: RemoteEntry) -> Any:
        """A file of pyarrow; None where parts cannot be read."""

    def download(self, url: str, path: Path) -> None:
        """Write all bytes to a file of this machine."""

    def upload(self, path: Path, url: str) -> None:
        """Replace what is there, or leave it as it is."""


@dataclass(frozen=True)
class ArrowStore:
    """A file system of pyarrow. Keys are taken as they are typed, spaces and % included."""

    scheme: str
    files: Any

    def _key(self, url: str) -> str:
        return url.partition("://")[2].rstrip("/")

    def entry(self, url: str) -> RemoteEntry | None:
        """See `RemoteStore`."""
        key = self._key(url)
        (found,) = self.files.get_file_info([key])
        return self._entries([found])[0] if found.type.name != "NotFound" else None

    def below(self, url: str, recursive: bool) -> list[RemoteEntry]:
        """See `RemoteStore`."""
        selector = need("pyarrow.fs").FileSelector(self._key(url), recursive=recursive)
        return self._entries(self.files.get_file_info(selector))

    def _entries(self, found: Iterable[Any]) -> list[RemoteEntry]:
        return [RemoteEntry(f"{self.scheme}://{one.path}", one.is_file, one.size, _iso(one.mtime_ns)) for one in found]

    def etag(self, url: str) -> str:
        """See `RemoteStore`."""
        with self.files.open_input_file(self._key(url)) as file:
            found = file.metadata() or {}
        own = {str(key).lower(): value for key, value in found.items()}
        value = own.get("etag", b"")
        return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip('"')

    def random_access(self, url: str, entry: RemoteEntry) -> Any:
        """See `RemoteStore`."""
        return self.files.open_input_file(self._key(url))

    def download(self, url: str, path: Path) -> None:
        """See `RemoteStore`."""
        with self.files.open_input_stream(self._key(url), compression=None) as stream, path.open("wb") as file:
            shutil.copyfileobj(stream, file, _CHUNK)

    def upload(self, path: Path, url: str) -> None:
        """See `RemoteStore`. In one call, which no signal stops: a stream that is closed early would be kept."""
        fs = need("pyarrow.fs")
        fs.copy_files(
            str(path),
            self._key(url),
            source_filesystem=fs.LocalFileSystem(),
            destination_filesystem=self.files,
            chunk_size=_CHUNK,
        )


@dataclass(frozen=True)
class FsspecStore:
    """A file system of fsspec."""

    scheme: str
    files: Any
    ranged: set[str] = field(default_factory=set)  # URLs of which a server sends parts

    def _key(self, url: str) -> str:
        return percent_encoded(url, safe=_KEPT) if self.scheme in HTTP else str(self.files._strip_protocol(url))

    def entry(self, url: str) -> RemoteEntry | None:
        """See `RemoteStore`."""
        try:
            found = self.files.info(self._key(url))
        except FileNotFoundError as error:
            if error.__cause__ is not None and _status(error) not in (404, 410):
                raise
            return None
        return self._entry(found, url)

    def below(self, url: str, recursive: bool) -> list[RemoteEntry]:
        """See `RemoteStore`."""
        if self.scheme in HTTP:
            raise FileError(shown(url), "https:// lists no folders: name each file.")
        self.files.invalidate_cache()
        key = self._key(url)
        if recursive:
            found = self.files.find(key, withdirs=True, detail=True).values()
        else:
            found = self.files.ls(key, detail=True)
        own = str(key).strip("/")
        return [self._entry(one, None) for one in found if str(one["name"]).strip("/") != own]

    def _entry(self, found: dict[str, Any], url: str | None) -> RemoteEntry:
        name = f"{self.scheme}://{str(found['name']).lstrip('/')}" if url is None else url
        own = {str(key).lower().replace("-", "_"): value for key, value in found.items()}
        known = ("etag", "blob_id", "content_md5", "digest", "last_modified", "lastmodified", "mtime", "created")
        version = next((own[key] for key in known if own.get(key)), "")
        return RemoteEntry(name, found.get("type") != "directory", found.get("size"), str(version).strip('"'))

    def etag(self, url: str) -> str:
        """See `RemoteStore`: entries have it."""
        return ""

    def random_access(self, url: str, entry: RemoteEntry) -> Any:
        """See `RemoteStore`."""
        if entry.size is None:
            return None
        known = {"size": entry.size} if self.scheme in HTTP else {}
        file = self.files.open(self._key(url), "rb", block_size=_CHUNK, cache_type="none", **known)
        if self.scheme in HTTP and url not in self.ranged:
            if not _gives_parts(file, entry.size):
                file.close()
                return None
            self.ranged.add(url)
        return need("pyarrow").PythonFile(file, mode="r")

    def download(self, url: str, path: Path) -> None:
        """See `RemoteStore`."""
        self.files.get_file(self._key(url), str(path))

    def upload(self, path: Path, url: str) -> None:
        """See `RemoteStore`."""
        self.files.put_file(str(path), self._key(url))


def _gives_parts(file: Any, size: int) -> bool:
    """Whether a server sends the part that it is asked for: some send all, whatever is asked."""
    if not file.seekable():
        return False
    if size < 2:
        return True
    try:
        file.seek(size - 1)
        part = file.read(1)
        file.seek(0)
    except ValueError:
        return False
    return len(part) == 1


def store_of(path: RemotePath) -> RemoteStore:
    """The store of a path; one per scheme and process, as long as the environment stays as it is."""
    place = path.url.partition("://")[2].partition("/")[0]
    if path.scheme in _BUCKETS:
        if "@" in place or ":" in place:
            raise FileError(str(path), f"credentials in an address are not used: set {_usual(path.scheme)}.")
        if not place:
            raise FileError(str(path), f"no bucket is named, as in {path.scheme}://bucket/file.parquet.")
        environment = tuple(os.environ.get(name, "") for name in _ENVIRONMENT)
        return _s3(place, environment) if path.scheme == "s3" else _gs(path.scheme)
    with explained(path):
        return _other(path.scheme, place, shown(path.url))


@cache
def _s3(bucket: str, environment: tuple[str, ...]) -> RemoteStore:
    """The S3 of Amazon, or that of AWS_ENDPOINT_URL, which pyarrow does not read by itself."""
    fs = need("pyarrow.fs")
    known = dict(zip(_ENVIRONMENT, environment, strict=True))
    endpoint, region = _endpoint() or None, known["AWS_REGION"] or known["AWS_DEFAULT_REGION"] or None
    if region is None and endpoint is None and not known["AWS_PROFILE"]:
        region = _region(bucket)
    return ArrowStore(
        "s3",
        fs.S3FileSystem(
            region=region,
            endpoint_override=endpoint,
            connect_timeout=_CONNECT,
            request_timeout=_READ,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        ),
    )


def _endpoint() -> str:
    """The server in place of Amazon's, if any."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")


def _region(bucket: str) -> str | None:
    """Where a bucket is, which Amazon tells; None where it cannot be asked: what is wrong is said by the first use."""
    try:
        return str(need("pyarrow.fs").resolve_s3_region(bucket))
    except OSError:
        return None


@cache
def _gs(scheme: str) -> RemoteStore:
    files = need("pyarrow.fs").GcsFileSystem(retry_time_limit=timedelta(seconds=_CONNECT))
    return ArrowStore(scheme, files)


@cache
def _other(scheme: str, place: str, named: str) -> RemoteStore:
    """A store that pyarrow knows by its URL, or else fsspec."""
    if scheme not in (*HTTP, "hf", "memory"):
        pa, fs = need("pyarrow"), need("pyarrow.fs")
        try:
            return ArrowStore(scheme, fs.FileSystem.from_uri(f"{scheme}://{place}/")[0])
        except (pa.ArrowException, OSError):
            pass  # fsspec may know it
    fsspec = load("fsspec", f"{scheme}:// needs fsspec: pip install 'toplist[remote]'.")
    options: dict[str, Any] = {}
    if scheme in HTTP:
        aiohttp = load("aiohttp", f"{scheme}:// needs aiohttp: pip install 'toplist[remote]'.")
        wait = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=_READ)
        options = {"encoded": True, "client_kwargs": {"timeout": wait, "trust_env": True}}
    try:
        files = fsspec.filesystem(scheme, **options)
    except ImportError:
        package = _INSTALL.get(scheme)
        remedy = f"pip install {package}" if package else f"install the package that fsspec needs for {scheme}://"
        raise FileError(named, f"{scheme}:// needs another package: {remedy}.") from None
    except ValueError as error:
        if "rotocol" not in str(error):
            raise
        known = "s3://, gs://, hf://, https:// and what pyarrow and fsspec open"
        raise FileError(named, f"{scheme}:// is not known: toplist reads {known}.") from None
    return FsspecStore(scheme, files)


def _iso(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return ""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="milliseconds")


def _usual(scheme: str) -> str:
    return _USUAL.get("gs" if scheme == "gcs" else scheme, "them in the environment")


# Copies


class _Copies:
    """Copies of files, one of each version, in a folder that is removed with the process."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int | None, str], Path] = {}
        self._lock = Lock()
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._process = 0

    def of(self, path: RemotePath, entry: RemoteEntry) -> Path:
        """The copy of a file as it is now; a file whose version is not told is copied anew."""
        key = (path.url, entry.size, entry.version)
        with self._lock:
            if self._process != os.getpid():  # a forked process has copies of its own
                self._made, self._stack, self._folder, self._process = {}, ExitStack(), None, os.getpid()
            if key in self._made and entry.version:
                return self._made[key]
            if self._folder is None:
                self._folder = self._stack.enter_context(temporary_folder())
            place = self._folder / f"{len(os.listdir(self._folder))}"
            with disk_full_explained():
                place.mkdir()
                copy = place / f"file{''.join(path.suffixes[-2:])[-50:]}"  # readers go by the suffixes
                path.download(copy)
            if entry.size is not None and copy.stat().st_size != entry.size:
                raise FileError(str(path), "not all of this file came, or it changed meanwhile: try again.")
            self._made[key] = copy
            return copy

    def remove(self) -> None:
        """Remove them all; a process does not remove those of the one that it was forked from."""
        if self._process == os.getpid():
            self._stack.close()
            self._made, self._folder = {}, None


_COPIES = _Copies()
atexit.register(_COPIES.remove)


def _forget_stores() -> None:
    """Open stores anew: a forked process has none of the threads that work for them."""
    for made in (_s3, _gs, _other):
        made.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_stores)


# What goes wrong


_DENIED = (
    *("access_denied", "accessdenied", "forbidden", "unauthorized", "permission", "invalid_access_key", "signature"),
    *("invalid_client_token", "expired", "status 403", "status 401", "credential", "gatedrepo", "token"),
)
_UNREACHED = ("network_connection", "curlcode", "timeout", "timed out", "resolve", "connect", "unreachable", "refused")
_CLIENTS = ("aiohttp", "asyncio", "httpx", "requests", "urllib3", "botocore", "aiobotocore", "huggingface_hub")
_ABSENT = ("no_such_key", "nosuchkey", "no such file", "does not exist", "not found", "status 404", "notfound")


@contextmanager
def explained(path: RemotePath, done: str = "read") -> Iterator[None]:
    """Raises what any library says about a remote file as one sentence, without what is secret in its URL."""
    try:
        yield
    except TopListError:
        raise
    except OSError as error:
        if error.errno in _LOCAL:
            raise
        raise _complaint(error, path, done) from None
    except Exception as error:  # of a library that is not ours, and not known before
        raise _complaint(error, path, done) from None


_LOCAL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # of the disk of this machine


def missing(path: RemotePath, problem: str = "there is no such file.") -> FileError:
    """There is no such file, or no such bucket."""
    bucket = path.bucket
    if bucket is not None and not bucket.exists():
        return no_bucket(path)
    return FileError(str(path), problem)


def no_bucket(path: RemotePath) -> FileError:
    """There is no such bucket, at the server that the environment names."""
    endpoint = _endpoint() if path.scheme == "s3" else ""
    where = f" at {shown(endpoint)}, which AWS_ENDPOINT_URL names" if endpoint else ""
    return FileError(str(path), f"there is no bucket {path.parts[1]!r}{where}.")


def _complaint(error: BaseException, path: RemotePath, done: str) -> TopListError:
    """What went wrong, in the words of this library."""
    low, status = _said(error, path).lower(), _status(error)
    if "no_such_bucket" in low or "nosuchbucket" in low:
        return no_bucket(path)
    if status in (401, 403) or isinstance(error, PermissionError) or any(mark in low for mark in _DENIED):
        remedy = f"set {_usual(path.scheme)}" if path.scheme not in HTTP else "is the address signed, and still valid?"
        return FileError(str(path), f"access is denied: {remedy}.")
    if status in (404, 410):
        return FileError(str(path), "there is no such file.")
    if status is None and any(mark in low for mark in _UNREACHED):
        also = ", and AWS_ENDPOINT_URL" if path.scheme == "s3" else ""
        return ResourceError(f"{path}: the server cannot be reached: check the network{also}.")
    if status is None and (isinstance(error, FileNotFoundError) or any(mark in low for mark in _ABSENT)):
        return FileError(str(path), "there is no such file.")
    if path.scheme == "s3":
        return FileError(
            str(path),
            f"the server does not answer as S3 does ({_brief(error)}): check AWS_ENDPOINT_URL and AWS_REGION.",
        )
    return FileError(str(path), f"this cannot be {done}: {_without_secrets(_brief(error), path)}.")


def _said(error: BaseException, path: RemotePath) -> str:
    """What libraries say of an error and of its causes, without the names of files, which may be any words."""
    text = " ".join(f"{type(one).__name__} {one}" for one in _chain(error))
    key = path.url.partition("://")[2]
    for name in (path.url, key, key.partition("/")[2], unquote(key), path.name):
        text = text.replace(name, "") if name else text
    return text


def _is_of_network(error: BaseException) -> bool:
    said = str(error)
    library = type(error).__module__.partition(".")[0]
    return (
        isinstance(error, ConnectionError | TimeoutError)
        or library in _CLIENTS
        or any(mark in said for mark in ("AWS Error", "curlCode", "google::cloud"))
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    """The status of an answer by HTTP."""
    for one in _chain(error):
        for holder in (one, getattr(one, "response", None)):
            for name in ("status", "status_code"):
                value = getattr(holder, name, None)
                if isinstance(value, int):
                    return value
    found = re.search(r"HTTP status (\d{3})", str(error))
    return None if found is None else int(found.group(1))


def _brief(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    return re.sub(r"\s*\(Request ID:.*", "", text)[:200].rstrip(".")


def _without_secrets(text: str, path: RemotePath) -> str:
    """A text without the query and the credentials of an address, however a library wrote them."""
    text = re.sub(r"(\w+://)[^/\s@]*@", r"\1", text.replace(path.url, str(path)))
    return re.sub(r"\?[^\s'\")]*=[^\s'\")]*", "", text)
