"""Files that are elsewhere, by URL: their paths, the file systems that hold them, copies, and failures in a sentence.

Every store is a file system of fsspec; those of `s3://` and `gs://` are pyarrow's, wrapped. Credentials come from the
usual places alone: the environment, configuration files and profiles, and the role of a machine. Paths are not those of
universal_pathlib: they hide what signs an address and explain what goes wrong, which leaves little of its own.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote

from toplist._files import disk_full_explained, has_magic, load, need, path_fits, shown, temporary_folder
from toplist.errors import FileError, ResourceError, TopListError

HTTP = ("http", "https")
_BUCKETS = ("s3", "gs", "gcs")
_CONNECT, _READ = 10.0, 60.0  # seconds until a server counts as out of reach
_CHUNK = 1 << 22  # bytes that are asked for at a time
_KEPT = "%/:=&?~#+!$,;'@()*[]"  # marks of an address that are typed as they are meant
_ENVIRONMENT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE")
_USUAL = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role of the machine",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, or the account of the machine",
    "gcs": "GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, or the account of the machine",
    "hf": "HF_TOKEN, or hf auth login",
}
_VERSIONS = ("etag", "blob_id", "content_md5", "digest", "last_modified", "lastmodified", "mtime", "created")


class RemotePath(os.PathLike[str]):
    """The path of a file that is elsewhere, with what is used of `pathlib.Path`.

    As text it is the URL without what may be secret (see `shown`); `os.fspath` gives all of it. To open it is to open a
    copy, which is made once and removed with the process; `random_access` reads the parts that are asked for.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.scheme = url.partition("://")[0].lower()

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

    @cached_property
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
    def _bare(self) -> str:
        """The URL without its query: folders and other files have none, or another one."""
        return (self.url.partition("?")[0] if self.scheme in HTTP else self.url).rstrip("/")

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in; the store itself is in none."""
        folder = self._bare.rpartition("/")[0]
        return self if folder.endswith(":/") else RemotePath(folder)

    @property
    def parents(self) -> list[RemotePath]:
        """All folders that it is in, the nearest first."""
        return [] if self.parent == self else [self.parent, *self.parent.parents]

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self._bare}/{name}")

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

    @cached_property
    def _files(self) -> Any:
        """The file system that holds it."""
        place = self.url.partition("://")[2].partition("/")[0]
        if self.scheme in _BUCKETS and ("@" in place or ":" in place):
            raise FileError(str(self), f"credentials in an address are not used: set {_USUAL[self.scheme]}.")
        if self.scheme in _BUCKETS and not place:
            raise FileError(str(self), f"no bucket is named, as in {self.scheme}://bucket/file.parquet.")
        environment = tuple(os.environ.get(name, "") for name in _ENVIRONMENT)
        try:
            return _file_system(self.scheme, place if self.scheme == "s3" else "", environment)
        except ImportError as error:
            reason = f"needs another package: {str(error).rstrip('.')}"
        except ValueError as error:
            if "rotocol" not in str(error):
                raise
            reason = "is not known: toplist reads s3://, gs://, hf://, https:// and what fsspec opens"
        raise FileError(str(self), f"{self.scheme}:// {reason}.")

    @property
    def _key(self) -> str:
        """What it is called in the file system."""
        if self.scheme in HTTP:
            return percent_encoded(self.url, safe=_KEPT)
        if self.scheme in _BUCKETS:
            return self.url.partition("://")[2].rstrip("/")
        return str(self._files._strip_protocol(self.url))

    @cached_property
    def info(self) -> dict[str, Any] | None:
        """What the store says of it; None where nothing is there. It is asked once."""
        with explained(self):
            try:
                return dict(self._files.info(self._key))
            except FileNotFoundError as error:  # which fsspec also raises for a server that is out of reach
                if error.__cause__ is not None and _status(error) not in (404, 410):
                    raise
                return None

    def exists(self) -> bool:
        """Whether there is such a file or folder."""
        return self.info is not None

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.info is not None and self.info.get("type") != "directory"

    def is_dir(self) -> bool:
        """Whether files are in it."""
        return self.info is not None and self.info.get("type") == "directory"

    def stat(self) -> os.stat_result:
        """Its size; the other numbers mean nothing."""
        size = self._required().get("size") or 0
        return os.stat_result((stat.S_IFREG if self.is_file() else stat.S_IFDIR, 0, 0, 1, 0, 0, size, 0, 0, 0))

    def _required(self) -> dict[str, Any]:
        if self.info is None:
            raise self._missing("there is no such file.")
        return self.info

    def _missing(self, problem: str) -> FileError:
        """Nothing is there, not even a bucket perhaps."""
        return FileError(str(self), problem) if self._has_bucket() else _no_bucket(self)

    def _has_bucket(self) -> bool:
        """Whether there is what holds all files of the store; others than buckets are not asked for."""
        return self.scheme not in _BUCKETS or RemotePath(f"{self.scheme}://{self.parts[1]}").exists()

    @property
    def version(self) -> str:
        """The ETag or, where the store tells none, when it was changed; nothing where it tells neither."""
        told = {str(key).lower().replace("-", "_"): value for key, value in self._required().items()}
        return str(next((told[key] for key in _VERSIONS if told.get(key)), "")).strip('"')

    def require(self) -> None:
        """Refuse what is no file, no folder, and no pattern that a file matches."""
        if not self.exists() and not self.is_pattern:
            raise self._missing("there is no such file.")
        if not self.exists() and not any(path.is_file() for path in self.matching()):
            raise self._missing("no file matches this pattern.")

    @property
    def is_pattern(self) -> bool:
        """Whether it may be a pattern; a ? in https:// begins a query."""
        return self.scheme not in HTTP and has_magic(self.url.partition("://")[2])

    def matching(self) -> list[RemotePath]:
        """The files and folders that match a pattern, by their names."""
        fixed = next((folder for folder in self.parents if not folder.is_pattern), self)
        if not self.is_pattern or fixed == self or not fixed.exists():
            return []
        wanted = self.relative_to(fixed).parts
        found = fixed._listed(None if "**" in wanted else len(wanted))
        return [path for path in found if path_fits(path.relative_to(fixed).parts, wanted)]

    def iterdir(self) -> Iterator[RemotePath]:
        """What is in the folder."""
        return iter(self._listed(1))

    def rglob(self, pattern: str = "*") -> Iterator[RemotePath]:
        """All below the folder whose names match."""
        return (path for path in self._listed(None) if path._plain.match(pattern))

    def below(self) -> Iterator[RemotePath]:
        """The files in the folder and in the folders below, without those that are hidden."""
        for path in self._listed(None):
            if path.is_file() and not any(part[0] in "._" for part in path.relative_to(self).parts):
                yield path

    def _listed(self, depth: int | None) -> list[RemotePath]:
        """What is so many levels below the folder or fewer."""
        if self.scheme in HTTP:
            raise FileError(str(self), "https:// lists no folders: name each file.")
        with explained(self):
            self._files.invalidate_cache()
            found = self._files.find(self._key, maxdepth=depth, withdirs=True, detail=True).values()
        paths = []
        for info in found:
            path = RemotePath(f"{self.scheme}://{str(info['name']).lstrip('/')}")
            path.info = dict(info)
            paths.append(path)
        return sorted(path for path in paths if path._plain != self._plain)

    # Its bytes

    def random_access(self) -> Any:
        """A file of pyarrow that fetches the parts that are read; a copy, where the server does not give parts."""
        size = self._required().get("size")
        with explained(self):
            if self.scheme in _BUCKETS:
                return self._files.fs.open_input_file(self._key)
            if size is not None and (self.scheme not in HTTP or _gives_parts(self, size)):
                file = self._files.open(self._key, "rb", block_size=_CHUNK, cache_type="none")
                return need("pyarrow").PythonFile(file, mode="r")
        return need("pyarrow").OSFile(str(self.local()))

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
        """A copy on this machine, which belongs to this process; a file whose version is not told is copied anew."""
        info = self._required()
        key = (self.url, info.get("size"), self.version or id(self))
        with _LOCK:
            if key not in _COPIES:
                suffixes = "".join(self.suffixes[-2:])[-50:]  # readers go by them
                copy = _FOLDERS.enter_context(temporary_folder()) / f"file{suffixes}"
                with disk_full_explained(), explained(self):
                    self._files.get_file(self._key, str(copy))
                if info.get("size") not in (None, copy.stat().st_size):
                    raise FileError(str(self), "not all of this file came, or it changed meanwhile: try again.")
                _COPIES[key] = copy
            return _COPIES[key]

    def open(self, mode: str = "rb", **options: Any) -> Any:
        """The file, to be read."""
        return self.local().open(mode, **options)

    def read_bytes(self) -> bytes:
        """All of it."""
        return self.local().read_bytes()

    def read_text(self, encoding: str = "utf-8") -> str:
        """All of it as text."""
        return self.local().read_text(encoding=encoding)

    def require_place(self) -> None:
        """Something can be written here, as far as that can be told before."""
        if self.scheme in HTTP:
            raise FileError(str(self), "https:// is for reading: name a file of this machine, or of a store as s3://.")
        if not self.name or self.url.endswith("/") or self.is_dir():
            raise TopListError(f"{str(self)!r} is a folder: name a file in it for the output.")
        if not self._has_bucket():
            raise _no_bucket(self)

    def upload(self, path: Path) -> None:
        """Put a file of this machine here, all of it or nothing."""
        with explained(self, "written"):
            if (
                self.scheme in _BUCKETS
            ):  # in one call, which no signal stops: a stream that is closed early would be kept
                fs = need("pyarrow.fs")
                stores = {"source_filesystem": fs.LocalFileSystem(), "destination_filesystem": self._files.fs}
                fs.copy_files(str(path), self._key, **stores, chunk_size=_CHUNK)
            else:
                self._files.put_file(str(path), self._key)
        vars(self).pop("info", None)


@cache
def _gives_parts(path: RemotePath, size: int) -> bool:
    """Whether a server sends the part that it is asked for: some send all, whatever is asked."""
    with path._files.open(path._key, "rb", block_size=_CHUNK, cache_type="none") as file:
        try:
            return file.seekable() and (size < 2 or (file.seek(size - 1) >= 0 and len(file.read(1)) == 1))
        except ValueError:
            return False


# File systems, one per scheme and process, as long as the environment stays as it is


@cache
def _file_system(scheme: str, bucket: str, environment: tuple[str, ...]) -> Any:
    fsspec = load("fsspec", f"{scheme}:// needs fsspec: pip install 'toplist[remote]'.")
    if scheme in _BUCKETS:
        fs = need("pyarrow.fs")
        stored = _s3(fs, bucket) if scheme == "s3" else fs.GcsFileSystem(retry_time_limit=timedelta(seconds=_CONNECT))
        wrapper = load("fsspec.implementations.arrow", "").ArrowFSWrapper
        return wrapper(stored, skip_instance_cache=True)
    options: dict[str, Any] = {}
    if scheme in HTTP:
        aiohttp = load("aiohttp", f"{scheme}:// needs aiohttp: pip install 'toplist[remote]'.")
        wait = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=_READ)
        options = {"encoded": True, "client_kwargs": {"timeout": wait, "trust_env": True}}
    if scheme == "hf":
        load("huggingface_hub", "hf:// needs huggingface_hub: pip install huggingface_hub.")
    return fsspec.filesystem(scheme, **options)


def _s3(fs: Any, bucket: str) -> Any:
    """The S3 of Amazon, or that of AWS_ENDPOINT_URL, which pyarrow does not read by itself."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None
    if region is None and not _endpoint() and not os.environ.get("AWS_PROFILE"):
        with suppress(OSError):  # what is wrong is said by the first use
            region = str(fs.resolve_s3_region(bucket))
    return fs.S3FileSystem(
        region=region,
        endpoint_override=_endpoint() or None,
        connect_timeout=_CONNECT,
        request_timeout=_READ,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=3),
    )


def _endpoint() -> str:
    """The server in place of Amazon's, if any."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")


_LOCK = Lock()
_COPIES: dict[tuple[Any, ...], Path] = {}  # by URL, size and version
_FOLDERS = ExitStack()  # those that the copies are in, until the process ends
atexit.register(_FOLDERS.close)


def _forget() -> None:
    """A forked process has none of the threads that work for a store, and removes no copies but its own."""
    _file_system.cache_clear()
    _COPIES.clear()
    _FOLDERS.pop_all()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# What goes wrong


_DENIED = (
    *("access_denied", "accessdenied", "forbidden", "unauthorized", "permission", "invalid_access_key", "signature"),
    *("invalid_client_token", "expired", "status 403", "status 401", "credential", "gatedrepo", "token"),
)
_UNREACHED = ("network_connection", "curlcode", "timeout", "timed out", "resolve", "connect", "unreachable", "refused")
_CLIENTS = ("aiohttp", "asyncio", "httpx", "requests", "urllib3", "botocore", "aiobotocore", "huggingface_hub")
_ABSENT = ("no_such_key", "nosuchkey", "no such file", "does not exist", "not found", "status 404", "notfound")
_LOCAL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # of the disk of this machine


@contextmanager
def explained(path: RemotePath, done: str = "read") -> Iterator[None]:
    """Raises what any library says about a remote file as one sentence, without what is secret in its URL."""
    try:
        yield
    except TopListError:
        raise
    except Exception as error:  # of a library that is not ours, and not known before
        if isinstance(error, OSError) and error.errno in _LOCAL:
            raise
        raise _complaint(error, path, done) from None


def _no_bucket(path: RemotePath) -> FileError:
    """There is no such bucket, at the server that the environment names."""
    endpoint = _endpoint() if path.scheme == "s3" else ""
    where = f" at {shown(endpoint)}, which AWS_ENDPOINT_URL names" if endpoint else ""
    return FileError(str(path), f"there is no bucket {path.parts[1]!r}{where}.")


def _complaint(error: BaseException, path: RemotePath, done: str) -> TopListError:
    """What went wrong, in the words of this library."""
    low, status = _said(error, path).lower(), _status(error)
    if "no_such_bucket" in low or "nosuchbucket" in low:
        return _no_bucket(path)
    if status in (401, 403) or isinstance(error, PermissionError) or any(mark in low for mark in _DENIED):
        usual = f"set {_USUAL.get(path.scheme, 'them in the environment')}"
        remedy = "is the address signed, and still valid?" if path.scheme in HTTP else f"{usual}."
        return FileError(str(path), f"access is denied: {remedy}")
    if status in (404, 410):
        return FileError(str(path), "there is no such file.")
    if status is None and any(mark in low for mark in _UNREACHED):
        also = ", and AWS_ENDPOINT_URL" if path.scheme == "s3" else ""
        return ResourceError(f"{path}: the server cannot be reached: check the network{also}.")
    if status is None and (isinstance(error, FileNotFoundError) or any(mark in low for mark in _ABSENT)):
        return FileError(str(path), "there is no such file.")
    # However a library wrote the address: without its query and its credentials
    said = re.sub(r"(\w+://)[^/\s@]*@", r"\1", str(error).replace(path.url, str(path)).strip())
    said = re.sub(r"\?[^\s'\")]*=[^\s'\")]*|\s*\(Request ID:.*|\n.*", "", said, flags=re.DOTALL)[:200].rstrip(".")
    said = said or type(error).__name__
    if path.scheme == "s3":
        remedy = "check AWS_ENDPOINT_URL and AWS_REGION"
        return FileError(str(path), f"the server does not answer as S3 does ({said}): {remedy}.")
    return FileError(str(path), f"this cannot be {done}: {said}.")


def _said(error: BaseException, path: RemotePath) -> str:
    """What libraries say of an error and of its causes, without the names of files, which may be any words."""
    text = " ".join(f"{type(one).__name__} {one}" for one in _chain(error))
    key = path.url.partition("://")[2]
    for name in (path.url, key, key.partition("/")[2], unquote(key), path.name):
        text = text.replace(name, "") if name else text
    return text


def _is_of_network(error: BaseException) -> bool:
    library = type(error).__module__.partition(".")[0]
    is_named = any(mark in str(error) for mark in ("AWS Error", "curlCode", "google::cloud"))
    return isinstance(error, ConnectionError | TimeoutError) or library in _CLIENTS or is_named


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    """The status of an answer by HTTP."""
    for cause in _chain(error):
        for holder in (cause, getattr(cause, "response", None)):
            for name in ("status", "status_code"):
                value = getattr(holder, name, None)
                if isinstance(value, int):
                    return value
    found = re.search(r"HTTP status (\d{3})", str(error))
    return None if found is None else int(found.group(1))
