import hashlib
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain import command_rules, redaction, secret_shapes
from tokeneconomizer.domain.command_templates import TEMPLATE_CHARACTERS_MAX
from tokeneconomizer.domain.redaction import (
    COMMAND_CHARACTERS_MAX,
    COMMAND_INPUT_CHARACTERS_MAX,
    command_template,
    redact_command,
    scrub,
)

HOME = "/home/somebody"

# Secrets are made here from parts, so that no scanner takes this file for a leak.
BASE_62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
BASE_36 = "abcdefghijklmnopqrstuvwxyz0123456789"
BASE_32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
HEXADECIMAL = "0123456789abcdef"
BASE_64 = BASE_62 + "+/"


def chance(label: str, length: int, alphabet: str = BASE_62) -> str:
    seed = b"".join(hashlib.sha256(f"{label}{part}".encode()).digest() for part in range(8))
    return "".join(alphabet[byte % len(alphabet)] for byte in seed[:length])


SECRETS = {
    "aws key id": "AK" + "IA" + chance("a", 16, BASE_32),
    "aws session key id": "AS" + "IA" + chance("b", 16, BASE_32),
    "aws secret": chance("c", 40, BASE_64),
    "github classic": "gh" + "p_" + chance("d", 36),
    "github app": "gh" + "s_" + chance("e", 36),
    "github fine-grained": "github" + "_pat_" + chance("f", 22) + "_" + chance("g", 59),
    "gitlab": "gl" + "pat-" + chance("h", 20),
    "slack bot": "xo" + "xb-" + chance("i", 11, "0123456789") + "-" + chance("j", 24),
    "slack app": "xa" + "pp-1-" + chance("k", 40),
    "slack hook": "https://hooks.example.com/services/T"
    + chance("l", 8, BASE_32)
    + "/B0AAAAAA/"
    + chance("m", 24),
    "model key": "sk" + "-proj-" + chance("n", 48),
    "model key of another": "sk" + "-ant-api03-" + chance("o", 90) + "AA",
    "stripe live": "sk" + "_live_" + chance("p", 24),
    "stripe restricted": "rk" + "_test_" + chance("q", 24),
    "web hook": "whs" + "ec_" + chance("r", 32),
    "npm": "np" + "m_" + chance("s", 36),
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + chance("t", 60),
    "rubygems": "ruby" + "gems_" + chance("u", 48, HEXADECIMAL),
    "json web token": "ey" + "J" + chance("v", 30) + ".ey" + "J" + chance("w", 40) + "." + chance("x", 43),
    "google key": "AI" + "za" + chance("y", 35),
    "google oauth": "ya" + "29." + chance("z", 60),
    "google client": "GOC" + "SPX-" + chance("aa", 28),
    "sendgrid": "S" + "G." + chance("ab", 22) + "." + chance("ac", 43),
    "hugging face": "h" + "f_" + chance("ad", 34, BASE_62[:52]),
    "digitalocean": "do" + "p_v1_" + chance("ae", 64, HEXADECIMAL),
    "shopify": "shp" + "at_" + chance("af", 32, HEXADECIMAL),
    "age": "AGE-SECRET" + "-KEY-1" + chance("ag", 58, BASE_32),
    "twilio": "A" + "C" + chance("ah", 32, HEXADECIMAL),
    "mailgun": "ke" + "y-" + chance("ai", 32, HEXADECIMAL),
    "docker": "dck" + "r_pat_" + chance("aj", 27),
    "vault": "hv" + "s." + chance("ak", 90),
    "linear": "lin" + "_api_" + chance("al", 40),
    "databricks": "da" + "pi" + chance("am", 32, HEXADECIMAL),
    "atlassian": "ATA" + "TT3xFfGF0" + chance("an", 60),
    "figma": "fig" + "d_" + chance("ao", 40),
    "new relic": "NR" + "AK-" + chance("ap", 27, BASE_32),
    "supabase": "sb" + "p_" + chance("aq", 40, HEXADECIMAL),
    "tailscale": "ts" + "key-auth-" + chance("ar", 12) + "-" + chance("as", 20),
    "pulumi": "pu" + "l-" + chance("at", 40, HEXADECIMAL),
    "square": "sq" + "0atp-" + chance("au", 22),
    "nuget": "oy" + "2" + chance("av", 43, BASE_36),
    "telegram": chance("aw", 9, "123456789") + ":A" + "A" + chance("ax", 33),
    "grafana": "gl" + "sa_" + chance("ay", 32) + "_" + chance("az", 8, HEXADECIMAL),
    "uuid": "-".join(chance(f"ba{length}", length, HEXADECIMAL) for length in (8, 4, 4, 4, 12)),
    "hexadecimal": chance("bb", 64, HEXADECIMAL),
    "base 36": chance("bc", 32, BASE_36),
    "base 62": chance("bd", 40),
    "base 64": chance("be", 86, BASE_64) + "==",
}
FRAMES = [
    "deploy {}",
    "deploy --token {} --dry-run",
    "deploy --api-key={}",
    "deploy '{}'",
    "API_TOKEN={} ./run.sh",
    "export SERVICE_PASSWORD='{}'",
    "$env:API_TOKEN = '{}'",
    "curl -H 'Authorization: Bearer {}' https://api.example.com/v1",
    "curl -H Authorization:\\ Bearer\\ {} https://api.example.com/v1",
    'curl -H "X-Api-Key: {}" -d \'{{"key": "{}"}}\' https://api.example.com/v1',
    "curl -u me:{} https://api.example.com",
    "curl https://me:{}@api.example.com/v1",
    "curl 'https://api.example.com/v1?key={}&page=2'",
    "git clone https://oauth2:{}@git.example.com/owner/name.git",
    "mysql -u root -p{} app",
    "echo {} | docker login -u me --password-stdin",
    "docker login -u me -p {} registry.example.com",
    "printf '%s' \"{}\" > key.txt",
    "python3 -c \"import app; app.login('{}')\"",
    "cat > .env <<EOF\nTOKEN={}\nEOF\nls",
    "grep -rn {} src",
    "bash -lc \"deploy --token '{}' && ls\"",
    "npm config set //registry.example.com/:_authToken={}",
    "aws configure set aws_secret_access_key {}",
    "deploy <<< {}",
    "git commit -m {}",
    'ssh host "TOKEN={} run"',
    "cd /srv/{}/x && ls",
]


def windows(secret: str, length: int = 14) -> list[str]:
    return [secret[start : start + length] for start in range(max(len(secret) - length, 0) + 1)]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_survives(name: str, frame: str) -> None:
    secret = SECRETS[name]
    random_part = secret.removeprefix("https://hooks.example.com/services/")
    for text in (redact_command(frame.replace("{}", secret)), command_template(frame.replace("{}", secret))):
        assert not [window for window in windows(random_part) if window in text]


@pytest.mark.parametrize(
    "command",
    [
        "PGPASSWORD={} psql -h db app",
        "curl -u me:{} https://example.com",
        "mysql -p{} app",
        "sshpass -p {} ssh host",
        "redis-cli -a {} ping",
        "deploy --password {}",
        "deploy --db-password={}",
        "psql postgres://app:{}@db.example.com:5432/app",
        "psql postgres://app:x/{}@db.example.com/app",
        "openssl rsa -passin pass:{} -in key.pem",
        "curl -b session={} https://example.com",
        "http -a me:{} example.com",
        "Authorization: Bearer {}",
        "unzip -P {} a.zip",
    ],
)
def test_a_short_password_is_hidden_by_its_place(command: str) -> None:
    assert "hunter2" not in redact_command(command.replace("{}", "hunter2"))


def test_a_private_key_is_hidden_also_where_it_was_cut_off() -> None:
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    body = "\n".join(chance(f"k{line}", 64, BASE_64) for line in range(3))
    assert secret_shapes.mask_private_keys(f"add {begin}\n{body}\n{end} now") == "add <secret> now"
    assert secret_shapes.mask_private_keys(f"add {begin}\n{body}") == "add <secret>"
    assert redact_command(f'tool --key "{begin}\n{body}\n{end}"') == "tool --key <secret>"


@pytest.mark.parametrize(
    ("command", "redacted"),
    [
        ("pytest -q tests/test_app.py::test_one", "pytest -q tests/test_app.py::test_one"),
        ('pytest -q "tests/test_app.py::test_one"', "pytest -q tests/test_app.py::test_one"),
        ("npm run test 2>&1 | tail -20", "npm run test 2>&1 | tail -20"),
        ('git commit -m "fix: the parser"', "git commit -m <text>"),
        ("git commit -am fix", "git commit -am <text>"),
        ('git commit -m "$(cat <<\'EOF\'\nfix "it"\nEOF\n)" && git push', "git commit -m <text> && git push"),
        ("python - <<'EOF'\nimport os\nprint(1)\nEOF\nls", "python - <<EOF …(2 lines); ls"),
        ("cat > a.py <<-EOF\n\tx = 1\n\tEOF\nls", "cat > a.py <<-EOF …(1 lines); ls"),
        ("cat <<A <<B\n1\nA\n2\n3\nB\nls", "cat <<A <<B …(3 lines); ls"),
        ("cat <<EOF\nno end", "cat <<EOF …(1 lines)"),
        ("bash -c 'cat <<EOF\nx\nEOF'\nls", "bash -c cat <<EOF …(1 lines); ls"),
        ("python -c 'print(1)' && ls", "python -c <code> && ls"),
        ("python3.11 -Ic import", "python3.11 -Ic <code>"),
        ("node -e \"require('x')\" a", "node -e <code> a"),
        ("perl -i -pe 's/a/b/' src/a.pl", "perl -i -pe <code> src/a.pl"),
        ("psql -d app -c 'select 1'", "psql -d app -c <code>"),
        ("sed -i '' s/a/b/ src/a.c", "sed -i '' <code> src/a.c"),
        ("sed -n -e 1p -e 3p a.txt", "sed -n -e <code> -e <code> a.txt"),
        ("awk -F , '{print $1}' a.csv", "awk -F , <code> a.csv"),
        ("jq --arg a b '.x | .y' a.json", "jq --arg a b <code> a.json"),
        ("jq -r .name a.json", "jq -r <code> a.json"),
        ("echo a 'b c' > out.txt; ls", "echo <text> > out.txt; ls"),
        ("grep -rn 'def main' src --include=*.py", "grep -rn <pattern> src --include=*.py"),
        ("grep -A 3 secretName src", "grep -A 3 <pattern> src"),
        ("rg -e one -e two src -r three", "rg -e <pattern> -e <pattern> src -r <pattern>"),
        ("git log --grep='fix' -S'needle' --oneline", "git log --grep=<text> -S<text> --oneline"),
        ("bash -lc 'cd src && make test'", "bash -lc cd src && make test"),
        ("CI=1 NODE_ENV=test npm test", "CI=1 NODE_ENV=<value> npm test"),
        ("TOKEN=1234 run", "TOKEN=<secret> run"),
        ("pip install 'django==4.2'", "pip install django==4.2"),
        (
            "curl -s 'https://me:pw@example.com:8443/a/b?q=1#top' -o x",
            "curl -s https://example.com:8443/a/b -o x",
        ),
        ("docker run -u 1000:1000 -p 80:80 image", "docker run -u 1000:1000 -p 80:80 image"),
        ("ls /home/somebody/src /home/somebodyelse", "ls ~/src /home/somebodyelse"),
        ("cc -I/home/somebody/include file:///home/somebody/a", "cc -I~/include file://~/a"),
        ("cd a\nmake # build it | now\n\nls", "cd a; make; ls"),
        ("run a \\\n  b", "run a b"),
        ("x=$(git rev-parse HEAD)\nls", "x=$(git rev-parse HEAD); ls"),
        ("ls a\\ file", "ls <text>"),
        ("", ""),
    ],
)
def test_keeps_what_tells_of_the_work_and_drops_what_is_quoted(command: str, redacted: str) -> None:
    assert redact_command(command, HOME) == redacted


@pytest.mark.parametrize(
    ("step", "command", "expected"),
    [
        (redaction.cut_input, "a b", "a b"),
        (redaction.cut_input, "x" * (COMMAND_INPUT_CHARACTERS_MAX + 1), "…"),
        (redaction.drop_heredoc_bodies, "a <<X\nb\nX\nc", "a <<X …(1 lines)\nc"),
        (redaction.drop_heredoc_bodies, "a <<< X\nb", "a <<< X\nb"),
        (redaction.drop_url_secrets, "a ssh://u:p@h/x?y", "a ssh://h/x"),
        (redaction.unwrap_shells, 'sh -c "a \\"b\\"" c', 'sh -c a "b" c'),
        (redaction.drop_quotes, "a 'b' 'c d' \"\" $'e'", "a b <text> '' e"),
        (redaction.to_one_line, "a  b\n\n# c\nd &&\ne\n", "a b; d && e"),
        (redaction.drop_long_words, "a " + "b" * 201, "a <text>"),
        (redaction.hide_here_strings, "a <<< b c", "a <<< <text> c"),
        (command_rules.hide_inline_code, "ruby -e puts x", "ruby -e <code> x"),
        (command_rules.hide_echoed_texts, "sudo printf a b | c", "sudo printf <text> | c"),
        (command_rules.hide_search_patterns, "xargs grep -l a b", "xargs grep -l <pattern> b"),
        (
            command_rules.hide_messages,
            "gh pr create -t a -b b --draft",
            "gh pr create -t <text> -b <text> --draft",
        ),
        (command_rules.hide_values, "A=b c --secret d", "A=<value> c --secret <secret>"),
        (secret_shapes.mask_known_secrets, "a np" + "m_" + "x" * 36, "a <secret>"),
        (secret_shapes.mask_random_words, f"a/{chance('r', 24)}/b", "a/<secret>/b"),
        (redaction.cut_output, "ab " * 300, "ab " * 166 + "…"),
    ],
)
def test_each_step_does_one_thing(step: object, command: str, expected: str) -> None:
    assert callable(step)
    assert step(command) == expected


@pytest.mark.parametrize(
    "name",
    [
        "src/components/landing/EnsProfileCard.astro",
        "tests/test_parser_v2_reads_2024_files.py",
        "06-26-feat_sns-links_2nd-try",
        "TestExtraPromptTransientPWSHNewline",
        "/usr/lib/python3.11/site-packages/yaml",
        "AbstractSingletonProxyFactoryBean",
        "1234567890123456789012345",
        "node_modules/@scope/package-name/dist",
    ],
)
def test_names_are_not_taken_for_secrets(name: str) -> None:
    assert redact_command(f"cat {name}") == f"cat {name}"


@pytest.mark.parametrize(
    ("command", "template"),
    [
        ("pytest -q tests/test_app.py", "pytest -q <path>"),
        ("uv run pytest tests/a.py tests/b.py -k x", "uv run pytest <path> -k <word>"),
        ("python3 -m pytest -x", "python -m pytest -x"),
        ('git commit -m "a b"', "git commit -m <text>"),
        ("npm run test -- --watch=no", "npm run test -- --watch=<value>"),
        ("go test ./...", "go test ./..."),
        ("cargo test parser", "cargo test <word>"),
        ("docker compose up -d", "docker compose up -d"),
        ("A=1 sudo /usr/bin/make build", "sudo make build"),
        ("X=1 && ls", "<value> && ls"),
        ("gh pr view 12 --json title", "gh pr view <number> --json <word>"),
        ("cd /srv/app && ls 2>/dev/null | head -5", "cd <path> && ls 2> /dev/null | head -5"),
        ("curl -s https://example.com/a", "curl -s <url>"),
        ("$RUNNER x", "<program> <word>"),
        ("", ""),
    ],
)
def test_a_template_names_programs_and_flags_alone(command: str, template: str) -> None:
    assert command_template(command) == template


FRAGMENTS = st.sampled_from(
    [
        *(
            " ",
            "  ",
            "\n",
            "\t",
            "'",
            '"',
            "\\",
            "$",
            "$(",
            ")",
            "(",
            "`",
            "|",
            "&&",
            ";",
            "&",
            "#",
            "=",
            ":",
        ),
        *("<<EOF", "EOF", "\nEOF\n", "<<<", "<<-", ">", "2>&1", "<", "~", "…", "…(2 lines)", "''", "-", "--"),
        *(
            "echo",
            "grep",
            "-e",
            "python",
            "-c",
            "sed",
            "awk",
            "bash",
            "git",
            "-m",
            "export",
            "TOKEN=",
            "-u",
            "me:pw",
        ),
        *(
            "--password",
            "https://",
            "a@b",
            "?q",
            "<text>",
            "<code>",
            "<secret>",
            "bearer",
            "/home/somebody",
            "src/a.py",
        ),
        *(
            "ab",
            "x1",
            "\x00",
            "\x1b[0m",
            "\ud800",
            "é",
            "0a1B2c3D4e5F6g7H8i9J0k",
            "mysql",
            "-p",
            "login",
            "env:",
        ),
    ],
)
COMMANDS = st.lists(FRAGMENTS, max_size=30).map("".join) | st.text(max_size=120)


@given(COMMANDS)
@settings(max_examples=500, deadline=None)
def test_redacting_twice_changes_nothing(command: str) -> None:
    once = redact_command(command, HOME)
    assert redact_command(once, HOME) == once


@given(COMMANDS | COMMANDS.map(lambda command: command * 40))
@settings(max_examples=200, deadline=None)
def test_the_result_is_one_bounded_line_without_control_characters(command: str) -> None:
    for text, limit in (
        (redact_command(command, HOME), COMMAND_CHARACTERS_MAX),
        (command_template(command), TEMPLATE_CHARACTERS_MAX),
    ):
        assert len(text) <= limit
        assert not [character for character in text if unicodedata.category(character) in {"Cc", "Cs"}]


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "a ",
            "'",
            '"',
            "$(",
            '"$(',
            "<<E\n",
            "<<",
            "://",
            "a://b:",
            "\\",
            "…",
            "<text>",
            "echo ",
            "a=",
            "0a",
        ),
        *("a1/", "x-", "#", "\n", "(", "`", "bearer ", "token", "eyJ.", "&&", "\ud800", "sed -e "),
        "-----BEGIN " + "PRIVATE KEY-----",
    ],
)
def test_a_huge_command_is_no_burden(piece: str) -> None:
    assert len(redact_command(piece * (1_000_000 // len(piece)))) <= COMMAND_CHARACTERS_MAX


def test_scrub_replaces_what_no_store_takes() -> None:
    assert scrub("a\x00b\x1b\ud83d\x85\r\n\té😀") == "a�b�����\n\té😀".replace("�����", "�" * 4)


@given(st.text(alphabet=st.characters()))
def test_scrubbed_text_is_valid_and_scrubbing_twice_changes_nothing(text: str) -> None:
    scrubbed = scrub(text)
    assert scrub(scrubbed) == scrubbed
    assert len(scrubbed) == len(text)
    assert scrubbed.encode().decode() == scrubbed
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", scrubbed)
