"""What a secret looks like: the shapes of issuers' tokens, names that announce one, and randomness."""

import re

from tokeneconomizer.domain.shell_words import HIDDEN

# Shorter runs are names, versions and abbreviated hashes far more often than secrets.
RANDOM_CHARACTERS_MIN = 20
# How often small letters, capitals and digits change within a run: random text has 0.3 (UUID, base 32) to 0.6
# (base 62) changes a character, names that hold a number below 0.2, as their words are parted by signs.
RANDOM_CHANGES_PER_CHARACTER_MIN = 0.22
# Without any digit only long runs are doubtful, and only where the changes are denser than in camel case.
RANDOM_LETTERS_CHARACTERS_MIN = 32
RANDOM_LETTERS_CHANGES_PER_CHARACTER_MIN = 0.33
# No issuer's token is shorter than this with its prefix.
KNOWN_SECRET_CHARACTERS_MIN = 15

_KNOWN_SHAPES = (
    r"A(?:KIA|SIA|GPA|IDA|ROA|NPA)[0-9A-Z]{12,}",  # AWS access keys
    r"gh[pousr]_\w{16,}",  # GitHub
    r"github_pat_\w{16,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w.-]{16,}",  # GitLab
    r"glsa_\w{16,}",  # Grafana
    r"xox[a-z]-[\w-]{10,}",  # Slack
    r"xapp-[\w-]{10,}",
    r"sk-[\w-]{16,}",  # OpenAI, Anthropic and others
    r"[srp]k_(?:live|test)_\w{10,}",  # Stripe
    r"whsec_[\w+/=]{10,}",
    r"npm_\w{16,}",
    r"pypi-[\w-]{16,}",
    r"rubygems_\w{16,}",
    r"eyJ[\w-]{8,}(?:\.[\w-]*){0,4}",  # JSON web tokens
    r"AIza[\w-]{20,}",  # Google
    r"ya29\.[\w.-]{10,}",
    r"GOCSPX-[\w-]{10,}",
    r"1//0[\w-]{20,}",
    r"SG\.[\w-]{10,}\.[\w-]{10,}",  # SendGrid
    r"hf_[A-Za-z]{16,}",  # Hugging Face
    r"d(?:op|oo|or)_v1_\w{16,}",  # DigitalOcean
    r"shp(?:at|ca|pa|ss)_\w{16,}",  # Shopify
    r"AGE-SECRET-KEY-1\w{16,}",
    r"(?:AC|SK)[0-9a-f]{32}",  # Twilio
    r"key-[0-9a-f]{20,}",  # Mailgun
    r"dckr_(?:pat|oat)_[\w-]{10,}",
    r"hv[bsr]\.[\w-]{16,}",  # Vault
    r"lin_(?:api|oauth)_\w{16,}",
    r"(?:secret|ntn)_[A-Za-z0-9]{20,}",  # Notion
    r"dapi[0-9a-f]{16,}",  # Databricks
    r"ATATT[\w=-]{16,}",  # Atlassian
    r"fig[dour]_[\w-]{16,}",
    r"PMAK-[\w-]{16,}",
    r"NR(?:AK|RA|JS|II)-[\w-]{10,}",
    r"sb[pt]_\w{16,}",  # Supabase
    r"gsk_\w{16,}",
    r"xai-[\w-]{16,}",
    r"pplx-\w{16,}",
    r"r8_\w{16,}",
    r"tskey-[\w-]{10,}",
    r"dp\.(?:pt|st|ct|sa)\.[\w.-]{16,}",  # Doppler
    r"pul-[0-9a-f]{16,}",
    r"sq0[a-z]{3}-[\w-]{16,}",  # Square
    r"EAA[A-Za-z0-9]{20,}",  # Facebook
    r"oy2[a-z0-9]{20,}",  # NuGet
    r"[0-9]{8,10}:AA[\w-]{20,}",  # Telegram
    r"services/T\w{6,}/B\w{6,}/\w{10,}",  # Slack web hooks
    r"webhooks/[0-9]{10,}/[\w-]{16,}",  # Discord web hooks
    r"[MNO][\w-]{22,}\.[\w-]{6}\.[\w-]{20,}",  # Discord bots
)
_KNOWN = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_KNOWN_SHAPES)})")
# Trying all shapes at every character is slow: only runs long enough for one are looked at.
_KNOWN_CANDIDATE = re.compile(rf"[\w.:/+=-]{{{KNOWN_SECRET_CHARACTERS_MIN},}}")

_RUN = re.compile(rf"[A-Za-z0-9+_-]{{{RANDOM_CHARACTERS_MIN},}}={{0,2}}")
_RUN_WITH_SLASHES = re.compile(rf"[A-Za-z0-9+/_-]{{{RANDOM_CHARACTERS_MIN},}}={{0,2}}")
_WORDS = re.compile(r"[A-Za-z0-9]+")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_DIGIT = re.compile(r"[0-9]")

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"(?>(?:(?!-----END )[\s\S])*)(?:-----END [A-Z0-9 ]{0,60}-----)?"
)

_ENDING = (
    r"(?:pass|passw(?:or)?d|passphrase|passcode|secrets?|tokens?|api[_-]?keys?|access[_-]?keys?"
    r"|private[_-]?keys?|signing[_-]?keys?|encryption[_-]?keys?|account[_-]?keys?|auth|authorization"
    r"|bearer|credentials?|cookies?|session[_-]?id|passin|passout|accesskeyid)"
)
_SECRET_NAME = re.compile(rf"(?i)(?:^|[\w.:/$-]){_ENDING}$")
_SECRET_FLAG = re.compile(rf"(?i)^--?(?:[\w-]{{0,40}}(?:{_ENDING}|[_-]key)|key)$")
_SECRET_ARGUMENT = re.compile(
    r"(?i)^[\w.:/$-]{0,80}(?:password|passwd|passphrase|auth_?token|[_-]token|[_-]secret|[_-]key)$|^bearer$"
)
# Every word of every command is asked about: most are told apart by how they end.
_SECRET_ARGUMENT_ENDS = ("password", "passwd", "passphrase", "token", "secret", "key", "bearer")
# A command without these names no secret: what parts a name from a value, and parts of the names above.
MAY_NAME_SECRET = re.compile(r"(?i)[=:]|pass|secret|token|key|auth|bearer|credential|cookie|session")
_SECRET_ASSIGNMENT = re.compile(rf"(?i)^([\w.:/$@,-]{{0,80}}?{_ENDING}(?::(?!:)|=(?!=)))(.+)$", re.DOTALL)


def mask_private_keys(text: str) -> str:
    """Hide PEM blocks of private keys, also one that was cut off."""
    return _PRIVATE_KEY.sub(HIDDEN, text) if "-----BEGIN " in text else text


def mask_known_secrets(text: str) -> str:
    """Hide words that have the shape of an issuer's token."""
    return _KNOWN_CANDIDATE.sub(lambda run: _KNOWN.sub(HIDDEN, run.group()), text)


def looks_random(word: str) -> bool:
    """Whether a run of letters, digits and signs is too mixed to be a name or a path."""
    names = _WORDS.findall(word)
    characters = sum(map(len, names))
    changes = len(_PARTS.findall(word)) - len(names)
    if _DIGIT.search(word):
        return changes >= RANDOM_CHANGES_PER_CHARACTER_MIN * characters
    return (
        characters >= RANDOM_LETTERS_CHARACTERS_MIN
        and changes >= RANDOM_LETTERS_CHANGES_PER_CHARACTER_MIN * characters
    )


def mask_random_words(text: str) -> str:
    """Hide long runs that look random: the parts of a path first, then runs that hold slashes (base 64)."""

    def masked(run: re.Match[str]) -> str:
        return HIDDEN if looks_random(run.group()) else run.group()

    return _RUN_WITH_SLASHES.sub(masked, _RUN.sub(masked, text))


def is_secret_name(name: str) -> bool:
    """Whether the value of a variable of this name is to be hidden whatever it looks like."""
    return _SECRET_NAME.search(name) is not None


def announces_secret(word: str) -> bool:
    """Whether a secret follows as the next word: `--password`, `aws_secret_access_key`, `Authorization:`."""
    if word.startswith("-"):
        return _SECRET_FLAG.search(word) is not None
    name = word.removesuffix(":").removesuffix("=")
    if name != word:
        return is_secret_name(name)
    ends_so = word.rstrip("\n").casefold().endswith(_SECRET_ARGUMENT_ENDS)
    return ends_so and _SECRET_ARGUMENT.search(word) is not None


def split_secret_assignment(word: str) -> tuple[str, str] | None:
    """Part the name with its sign from the secret: `--token=…`, `x-api-key:…`, `//host/:_authToken=…`."""
    if "=" not in word and ":" not in word:
        return None
    found = _SECRET_ASSIGNMENT.match(word)
    return (found[1], found[2]) if found else None
