"""
The closed vocabulary of failures: all that a signature may say in words.

What stands in an output is foreign text. A word of it is repeated only where it is in these tables, which
name public things alone: exceptions of standard libraries, codes of compilers and linters, POSIX errors and
phrases of well-known programs.
"""

import builtins
import re

_PYTHON = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and name[0].isupper() and issubclass(value, BaseException)
)
_PYTHON_LIBRARIES = frozenset(
    {
        *(
            "JSONDecodeError",
            "CalledProcessError",
            "TimeoutExpired",
            "BadZipFile",
            "DecimalException",
            "InvalidOperation",
        ),
        *("PicklingError", "UnpicklingError", "HTTPError", "URLError", "OperationalError", "IntegrityError"),
        *(
            "ProgrammingError",
            "DatabaseError",
            "DataError",
            "InterfaceError",
            "ImproperlyConfigured",
            "FieldError",
        ),
        *(
            "ValidationError",
            "DoesNotExist",
            "ConnectTimeout",
            "ReadTimeout",
            "SSLError",
            "ProxyError",
            "MaxRetryError",
        ),
        *("InvalidSpecifier", "InvalidVersion", "ResolutionImpossible", "DistributionNotFound", "UsageError"),
        *(
            "CancelledError",
            "InvalidStateError",
            "BrokenProcessPool",
            "TemplateNotFound",
            "TemplateSyntaxError",
        ),
        *(
            "FrozenInstanceError",
            "ParseError",
            "ConfigError",
            "LinAlgError",
            "KeyringError",
            "BrokenBarrierError",
        ),
    },
)
_JAVASCRIPT = frozenset(
    {
        *(
            "TypeError",
            "RangeError",
            "ReferenceError",
            "SyntaxError",
            "EvalError",
            "URIError",
            "AggregateError",
        ),
        *(
            "InternalError",
            "DOMException",
            "AbortError",
            "NotFoundError",
            "DataCloneError",
            "FetchError",
            "AxiosError",
        ),
        *(
            "AssertionError",
            "SystemError",
            "TestingLibraryElementError",
            "CompileError",
            "LinkError",
            "RuntimeError",
        ),
    },
)
_JAVA = frozenset(
    {
        *("NullPointerException", "IllegalArgumentException", "IllegalStateException", "ClassCastException"),
        *("IndexOutOfBoundsException", "ArrayIndexOutOfBoundsException", "StringIndexOutOfBoundsException"),
        *(
            "NumberFormatException",
            "ArithmeticException",
            "UnsupportedOperationException",
            "RuntimeException",
        ),
        *(
            "ConcurrentModificationException",
            "NoSuchElementException",
            "ClassNotFoundException",
            "IOException",
        ),
        *(
            "NoClassDefFoundError",
            "NoSuchMethodError",
            "NoSuchFieldError",
            "NoSuchMethodException",
            "SQLException",
        ),
        *("NoSuchFieldException", "FileNotFoundException", "InterruptedException", "TimeoutException"),
        *("ExecutionException", "OutOfMemoryError", "StackOverflowError", "ExceptionInInitializerError"),
        *(
            "UnsatisfiedLinkError",
            "LinkageError",
            "VerifyError",
            "InvocationTargetException",
            "SecurityException",
        ),
        *("UncheckedIOException", "ConnectException", "SocketException", "SocketTimeoutException"),
        *("UnknownHostException", "DateTimeParseException", "CompletionException", "CancellationException"),
        *("ComparisonFailure", "AssertionFailedError", "MultipleFailuresError", "BuildException"),
        *("LifecycleExecutionException", "MojoExecutionException", "MojoFailureException", "GradleException"),
    },
)
_DOTNET = frozenset(
    {
        *("ArgumentException", "ArgumentNullException", "ArgumentOutOfRangeException", "FormatException"),
        *(
            "InvalidOperationException",
            "NullReferenceException",
            "NotImplementedException",
            "KeyNotFoundException",
        ),
        *("NotSupportedException", "InvalidCastException", "IndexOutOfRangeException", "OverflowException"),
        *("DivideByZeroException", "ObjectDisposedException", "AggregateException", "TaskCanceledException"),
        *("OperationCanceledException", "UnauthorizedAccessException", "DirectoryNotFoundException"),
        *(
            "TypeLoadException",
            "MissingMethodException",
            "HttpRequestException",
            "JsonException",
            "XmlException",
        ),
    },
)
_RUBY_AND_PHP = frozenset(
    {
        *(
            "NoMethodError",
            "ArgumentError",
            "LoadError",
            "FrozenError",
            "StandardError",
            "ScriptError",
            "FloatDomainError",
        ),
        *("ZeroDivisionError", "EncodingError", "FiberError", "ThreadError", "RegexpError", "LocalJumpError"),
        *(
            "RecordNotFound",
            "RecordInvalid",
            "StatementInvalid",
            "RoutingError",
            "ArgumentCountError",
            "ValueError",
        ),
        *(
            "ErrorException",
            "InvalidArgumentException",
            "LogicException",
            "DomainException",
            "LengthException",
        ),
        *("OutOfRangeException", "UnexpectedValueException", "PDOException", "BadMethodCallException"),
    },
)
_RUST_GO_AND_OTHERS = frozenset(
    {
        *(
            "ParseIntError",
            "ParseFloatError",
            "ParseBoolError",
            "Utf8Error",
            "FromUtf8Error",
            "BorrowMutError",
        ),
        *(
            "TryFromIntError",
            "RecvError",
            "SendError",
            "PoisonError",
            "AddrParseError",
            "PathError",
            "SyscallError",
        ),
        *("ArithmeticError", "CompileError", "UndefinedFunctionError", "FunctionClauseError", "MatchError"),
        *("DecodingError", "EncodingError", "URLError", "CocoaError", "StateError", "FlutterError"),
    },
)
EXCEPTION_NAMES = (
    _PYTHON | _PYTHON_LIBRARIES | _JAVASCRIPT | _JAVA | _DOTNET | _RUBY_AND_PHP | _RUST_GO_AND_OTHERS
)

# An exception that we do not know may be named after the user's own work: its kind alone is told.
EXCEPTION_KINDS = ("Exception", "Warning", "Error")
# Java's longest are about 50; a longer run of letters is no class name.
_CLASS_NAME_CHARACTERS_MAX = 60
CLASS_NAME = re.compile(rf"\b[A-Z][A-Za-z0-9]{{2,{_CLASS_NAME_CHARACTERS_MAX}}}\b")

# TypeScript, .NET, Rust, pylint, linkers, MSBuild, NuGet, ShellCheck, hadolint, rules of ruff and flake8.
CODE = re.compile(
    r"\b(?:TS|CS|FS|BC|VB|LNK|MSB|NU|NETSDK|CA|IDE|SC|DL|SA|S|E|F|W|C|R|D|N|B|A|I|UP|RUF|ANN|ARG|BLE|COM|DTZ|EM"
    r"|ERA|EXE|FA|FBT|FURB|G|ICN|INP|ISC|LOG|NPY|PD|PERF|PGH|PIE|PL[CERW]|PT|PTH|PYI|Q|RET|RSE|SIM|SLF|SLOT|TC"
    r"|TCH|TD|TID|TRY|YTT)\d{3,5}\b",
)
HTTP_STATUS = re.compile(r"\b(?:HTTP(?:/\d(?:\.\d)?)?|[Ss]tatus(?: [Cc]ode)?)[ :=]{1,3}([45]\d\d)\b")

ERRNO_NAMES = frozenset(
    {
        *("EACCES", "EADDRINUSE", "EADDRNOTAVAIL", "EAGAIN", "EBADF", "EBUSY", "ECHILD", "ECONNABORTED"),
        *(
            "ECONNREFUSED",
            "ECONNRESET",
            "EDEADLK",
            "EEXIST",
            "EFAULT",
            "EFBIG",
            "EHOSTUNREACH",
            "EINTR",
            "EINVAL",
        ),
        *(
            "EIO",
            "EISDIR",
            "ELOOP",
            "EMFILE",
            "EMLINK",
            "ENAMETOOLONG",
            "ENETUNREACH",
            "ENFILE",
            "ENODEV",
            "ENOENT",
        ),
        *(
            "ENOEXEC",
            "ENOMEM",
            "ENOSPC",
            "ENOSYS",
            "ENOTCONN",
            "ENOTDIR",
            "ENOTEMPTY",
            "ENOTFOUND",
            "ENOTSUP",
        ),
        *("ENXIO", "EPERM", "EPIPE", "EPROTO", "ERANGE", "EROFS", "ESRCH", "ETIMEDOUT", "ETXTBSY", "EXDEV"),
        *(
            "ELIFECYCLE",
            "ERESOLVE",
            "EUSAGE",
            "ETARGET",
            "EJSONPARSE",
            "EINTEGRITY",
            "EBADENGINE",
            "EAI_AGAIN",
        ),
    },
)
ERRNO = re.compile(r"\bE[A-Z_]{2,13}\b")

# Looked for in small letters; each is shown as it stands here.
PHRASES = (
    "no such file or directory",
    "command not found",
    "permission denied",
    "is a directory",
    "not a directory",
    "file exists",
    "directory not empty",
    "string to replace not found",
    "file has not been read yet",
    "file has been modified since read",
    "file does not exist",
    "path does not exist",
    "no such tool available",
    "timed out",
    "connection refused",
    "connection reset",
    "could not resolve host",
    "no space left on device",
    "out of memory",
    "segmentation fault",
    "bus error",
    "broken pipe",
    "core dumped",
    "killed",
    "cannot find module",
    "module not found",
    "no module named",
    "cannot find package",
    "cannot find symbol",
    "undefined reference",
    "undefined symbol",
    "undefined variable",
    "unresolved import",
    "unresolved reference",
    "no matching distribution found",
    "missing script",
    "unknown option",
    "unrecognized option",
    "unrecognized arguments",
    "invalid option",
    "unexpected token",
    "unexpected end of file",
    "unterminated quoted string",
    "syntax error",
    "parse error",
    "not a git repository",
    "merge conflict",
    "not something we can merge",
    "pathspec",
    "non-fast-forward",
    "authentication failed",
    "unauthorized",
    "forbidden",
    "address already in use",
    "already exists",
    "input validation error",
    "no tests ran",
    "no tests found",
    "test failed",
    "tests failed",
    "build failed",
    "compilation failed",
    "fatal error",
    "panic:",
    "panicked at",
    "assertion failed",
    "access denied",
    "quota exceeded",
    "rate limit",
    "usage:",
)
TEST_FAILED = re.compile(r"\bFAIL(?:ED|URE)?\b")

# A line that holds one of these, in small letters, tells of a failure.
ERROR_MARKS = (
    *(
        "error",
        "exception",
        "fail",
        "fatal",
        "panic",
        "traceback",
        "not found",
        "no such",
        "denied",
        "cannot",
    ),
    *("can't", "could not", "couldn't", "unable to", "undefined", "unresolved", "timed out", "timeout"),
    *(
        "refused",
        "not been read",
        "modified since",
        "invalid",
        "illegal",
        "missing",
        "unknown",
        "unrecognized",
    ),
    *("unexpected", "aborted", "killed", "assert", "does not exist", "conflict", "forbidden", "unauthorized"),
    "usage:",
    *("segmentation", "out of memory", "no space", "is a directory", "already exists", "\u2716", "\u2717"),
)
