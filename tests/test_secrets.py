"""The `secret` relation: what is a credential, what is not, and the spans that a fix works with.

Every credential-shaped value is put together at run time, from a seeded generator: none was ever issued.
"""

from __future__ import annotations

import base64
import json
import random
import string

import pytest

from fixaudit.facts import Memo, SourceFile
from fixaudit.relations.base import Row
from fixaudit.relations.secrets import SECRET, secret_rows
from fixaudit.secrets.names import credential_kind, environment_key
from fixaudit.secrets.providers import is_issued
from fixaudit.secrets.values import is_key, is_password, is_placeholder

_DRAW = random.Random(20261130)


def drawn(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(_DRAW.choice(alphabet) for _ in range(length))


HEX = "0123456789abcdef"
GITHUB = "gh" + "p_" + drawn(36)
STRIPE = "sk" + "_live_" + drawn(24)
AWS_ID = "AK" + "IA" + drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
AWS_SECRET = drawn(40)
PASSWORD = "Vq7" + "!mZ2" + "rT9w" + "Lk4e"
PEM_LINES = [drawn(64) for _ in range(12)]
BEGIN, END = "-----BEGIN PRI" + "VATE KEY-----", "-----END PRI" + "VATE KEY-----"


def rows(path: str, content: str | bytes) -> list[Row]:
    data = content.encode() if isinstance(content, str) else content
    return list(secret_rows(SourceFile(path, "digest", data, Memo())))


def only(path: str, content: str) -> Row:
    (row,) = rows(path, content)
    return row


def at(content: str, row: Row, span: str) -> str:
    return content[slice(*row.spans[span])]


def line(content: str, row: Row) -> int:
    return content.count("\n", 0, row.span[0]) + 1


PROVIDER_VALUES = [
    ("github", GITHUB),
    ("github", "github" + "_pat_" + drawn(22) + "_" + drawn(59)),
    ("gitlab", "gl" + "pat-" + drawn(20)),
    ("slack", "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(12, string.digits) + "-" + drawn(24)),
    (
        "slack",
        "https://hooks." + "slack.com/services/T" + drawn(9, "ABC123X") + "/B" + drawn(9, "ABC12X") + "/" + drawn(24),
    ),
    ("stripe", STRIPE),
    ("aws", AWS_ID),
    ("google", "AI" + "za" + drawn(35)),
    ("sendgrid", "S" + "G." + drawn(22) + "." + drawn(43)),
    ("npm", "np" + "m_" + drawn(36)),
    ("pypi", "py" + "pi-AgEI" + drawn(70)),
    ("digitalocean", "do" + "p_v1_" + drawn(64, HEX)),
    ("shopify", "sh" + "pat_" + drawn(32, HEX)),
    ("telegram", drawn(10, "123456789") + ":A" + "A" + drawn(33)),
    ("anthropic", "sk-" + "ant-api03-" + drawn(93)),
    ("openai", "sk-" + "proj-" + drawn(60)),
    ("huggingface", "h" + "f_" + drawn(34)),
    ("databricks", "da" + "pi" + drawn(32, HEX)),
    ("vault", "hv" + "s." + drawn(90)),
    ("azure", "DefaultEndpointsProtocol=https;AccountName=a;Account" + "Key=" + drawn(86) + "=="),
]


@pytest.mark.parametrize(
    ("provider", "value"), PROVIDER_VALUES, ids=[f"{p}-{i}" for i, (p, _) in enumerate(PROVIDER_VALUES)]
)
@pytest.mark.parametrize("path", ["notes.md", "tests/test_a.py", "package-lock.json", "data.csv"])
def test_provider_tokens_are_found_everywhere(provider: str, value: str, path: str) -> None:
    content = f"# x\nx = '{value}'\n"
    row = only(path, content)
    assert row.values["PROVIDER"] == provider
    assert at(content, row, "VALUE") in value
    assert row.values["CONFIDENCE"] == "high"
    assert value not in row.text("MASKED")


@pytest.mark.parametrize(
    "value",
    [
        "AK" + "IAIOSFODNN7" + "EXAMPLE",
        "gh" + "p_" + "x" * 36,
        "gh" + "p_" + "1234567890" * 3 + "123456",
        "gh" + "p_" + "abcdefghijklmnopqrstuvwxyz0123456789",
        "sk" + "_live_" + "X" * 24,
        "AK" + "IA" + "X" * 16,
    ],
)
def test_tokens_that_nobody_issued(value: str) -> None:
    assert not is_issued(value)
    assert rows("a.py", f"KEY = '{value}'\n") == []


def test_stop_words_do_not_reach_provider_tokens() -> None:
    token = GITHUB[:12] + "test" + GITHUB[16:]
    assert only("example/test_a.py", f"# example, dummy, changeme\nTOKEN = '{token}'\n").values["PROVIDER"] == "github"


@pytest.mark.parametrize(
    ("code", "name", "key"),
    [
        ("const dbPassword = '{}';", "dbPassword", "DB_PASSWORD"),
        ("export const apiKey: string = '{}';", "apiKey", "API_KEY"),
        ("let client_secret = `{}`;", "client_secret", "CLIENT_SECRET"),
        ("connect({{ host: 'h', password: '{}' }});", "password", "PASSWORD"),
        ("const o = {{ 'smtp-password': '{}' }};", "smtp-password", "SMTP_PASSWORD"),
        ("class A {{ static authToken = '{}'; }}", "authToken", "AUTH_TOKEN"),
        ("class A {{ constructor() {{ this.accessToken = '{}'; }} }}", "accessToken", "ACCESS_TOKEN"),
        ("function f(password = '{}') {{}}", "password", "PASSWORD"),
        ("const {{ secret = '{}' }} = options;", "secret", "SECRET"),
        ("const jwtSecret = process.env.JWT_KEY || '{}';", "jwtSecret", "JWT_KEY"),
        ("const jwtSecret = process.env.JWT_SECRET ?? '{}';", "jwtSecret", "JWT_SECRET"),
        ("use(process.env.JWT_SECRET || '{}');", "JWT_SECRET", "JWT_SECRET"),
        ("const token = '{}' as const;", "token", "TOKEN"),
        ("config['SECRET_KEY'] = '{}';", "SECRET_KEY", "SECRET_KEY"),
        ("const schlüsselToken = '{}';", "schlüsselToken", None),
        ("module.exports = {{ auth: {{ user: 'u', pass: '{}' }} }};", "pass", "PASS"),
        ("const password = live ? '{}' : '';", "password", "PASSWORD"),
    ],
)
def test_names_in_typescript(code: str, name: str, key: str | None) -> None:
    content = code.format(PASSWORD) + "\n"
    row = only("src/a.ts", content)
    assert (row.values["NAME"], row.values["KEY"], row.values["SHAPE"]) == (name, key, "whole")
    assert (row.values["PROVIDER"], row.values["CONFIDENCE"], row.values["KIND"]) == ("generic", "medium", "source")
    assert at(content, row, "VALUE") == PASSWORD
    assert at(content, row, "WHOLE")[1:-1] == PASSWORD
    assert row.values["FALLBACK"] is ("process.env" in code)


@pytest.mark.parametrize(
    ("code", "name", "key"),
    [
        ("DB_PASSWORD = '{}'", "DB_PASSWORD", "DB_PASSWORD"),
        ("api_key: str = '{}'", "api_key", "API_KEY"),
        ("class Settings:\n    secret_key: str = '{}'", "secret_key", "SECRET_KEY"),
        ("def f(password='{}'):\n    pass", "password", "PASSWORD"),
        ("connect(host='h', password='{}')", "password", "PASSWORD"),
        ("D = {{'password': '{}'}}", "password", "PASSWORD"),
        ("app.config['SECRET_KEY'] = '{}'", "SECRET_KEY", "SECRET_KEY"),
        ("k = os.environ.get('SECRET_KEY', '{}')", "SECRET_KEY", "SECRET_KEY"),
        ("k = os.getenv('SECRET_KEY') or '{}'", "SECRET_KEY", "SECRET_KEY"),
        ("k = config('DJANGO_SECRET_KEY', default='{}')", "DJANGO_SECRET_KEY", "DJANGO_SECRET_KEY"),
        ("requests.get(url, auth=('svc', '{}'))", "auth", "AUTH"),
    ],
)
def test_names_in_python(code: str, name: str, key: str) -> None:
    content = code.format(PASSWORD) + "\n"
    row = only("src/a.py", content)
    assert (row.values["NAME"], row.values["KEY"], row.values["SHAPE"]) == (name, key, "whole")
    assert at(content, row, "VALUE") == PASSWORD
    assert at(content, row, "WHOLE") == f"'{PASSWORD}'"


def test_fallback_spans_the_whole_expression() -> None:
    content = f"const s = process.env.JWT_SECRET || '{PASSWORD}';\n"
    row = only("a.js", content)
    assert at(content, row, "FALLBACK") == f"process.env.JWT_SECRET || '{PASSWORD}'"
    assert at(content, row, "STATEMENT") == content.strip()


def test_annotation_and_target_of_a_typed_declaration() -> None:
    content = f"export const apiKey: string = '{STRIPE}';\n"
    row = only("a.ts", content)
    assert at(content, row, "ANNOTATION") == "string"
    assert at(content, row, "NAME") == "apiKey"
    assert content[slice(*row.span)] == f"apiKey: string = '{STRIPE}'"
    assert row.values["PROVIDER"] == "stripe"


@pytest.mark.parametrize("value", ["Sup3r" + "S3cret!", "correct-horse-7", "hunter2", "admin123", "P@ss" + "word!"])
def test_passwords_that_people_type(value: str) -> None:
    assert is_password(value)
    assert only("a.js", f'const dbPassword = "{value}";\n').values["NAME"] == "dbPassword"


@pytest.mark.parametrize("value", ["sk_live_" + "9a8b7c6d5e", "tok_" + "51H8xyzABCDEF", drawn(32, HEX), drawn(40)])
def test_keys_by_name(value: str) -> None:
    assert is_key(value)
    assert only("a.js", f'const apiKey = "{value}";\n').values["NAME"] == "apiKey"


@pytest.mark.parametrize(
    "value",
    [
        "changeme", "your-token-here", "YOUR_API_KEY", "example-password1", "xxxxxxxx", "<password>", "${PASSWORD}",
        "{{ password }}", "$PASSWORD", "%(password)s", "password", "secret", "test1234", "", "user@example.com",
        "Password must be 8 characters", "Required!", "/run/secrets/db", "./secrets/key1.pem", "https://login.x.dev/v2",
        "input-password-2", "password_field_1", "access_token", "client_secret_basic", "API_TOKEN_V2", "v1.2.3",
        "2024-01-01", "123456789", "sha256-" + drawn(43), "$2b$" + "12$" + drawn(53), "vault:secret/data/db",
        "arn:aws:secretsmanager:eu-west-1:1:secret:x", "process.env.X1", "********", "pk_live_" + drawn(24),
        "123e4567-e89b-12d3-a456-426614174000", "Passwort vergessen?", "пароль123",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["password", "apiToken", "secret"])
def test_values_that_are_no_credentials(name: str, value: str) -> None:
    assert rows("src/a.js", f'const {name} = "{value}";\n') == []
    assert rows("config.yaml", f'{name}: "{value}"\n') == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password", "password"), ("DB_PASSWORD", "password"), ("dbPassword2", "password"), ("dbpassword", "password"),
        ("smtpPass", "password"), ("pwd", "password"), ("passphrase", "password"), ("jwtSecret", "secret"),
        ("AWS_SECRET_ACCESS_KEY", "key"), ("client-secret", "secret"), ("SECRET_KEY_BASE", "key"), ("apiKey", "key"),
        ("apikey", "token"), ("githubToken", "token"), ("_authToken", "token"), ("privateKey", "key"),
        ("tokenUrl", None), ("passwordField", None), ("secretName", None), ("keyCode", None), ("KEY_NAME", None),
        ("KMS_KEY_ALIAS", None), ("DB_PASSWORD_FILE", None), ("TOKEN_URL", None), ("PUBLIC_KEY", None), ("CC", None),
        ("NODE_AUTH_VERSION", None), ("NEXT_PUBLIC_API_KEY", None), ("publishableKey", None), ("nextToken", None),
        ("csrfToken", None), ("key", None), ("cacheKey", None), ("primaryKey", None), ("vaultKey", None),
        ("apiKeyName", None), ("bypass", None), ("compass", None), ("author", None), ("monkey", None),
    ],
)  # fmt: skip
def test_names_by_their_last_words(name: str, kind: str | None) -> None:
    assert credential_kind(name) == kind


def test_keys_with_symbols() -> None:
    drawn_key = "k9#f(2d-" + "w@1z)x^7=q!b5&m0*" + "u_8+y3$e6%n4hT2vLpRkQ"
    for value in (drawn_key, "django-" + "insecure-" + drawn_key):
        assert only("app/settings.py", f"SECRET_KEY = '{value}'\n").values["PROVIDER"] == "generic"
    pattern = "^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9@$!%*?&]{8,64}$"
    assert rows("app/forms.py", f"PASSWORD = SECRET_KEY = '{pattern}'\n") == []
    assert rows("app/urls.py", "API_TOKEN = 'https://x.example.dev/a/b?token=12345678901234567890&x=1'\n") == []


@pytest.mark.parametrize(
    "code", ["jwt.sign(claims, '{}');", "crypto.createHmac('sha256', '{}');", "app.use(cookieParser('{}'));"]
)
def test_arguments_that_are_keys_by_their_place(code: str) -> None:
    row = only("a.js", code.format(PASSWORD) + "\n")
    assert (row.values["NAME"], row.values["KEY"], row.values["SHAPE"]) == (None, None, "whole")
    assert at(code.format(PASSWORD), row, "WHOLE") == f"'{PASSWORD}'"


def test_uri_in_a_comment_is_text() -> None:
    row = only("a.js", f"// postgres://app:{PASSWORD}@db.acme.dev/app\nconst a = 1;\n")
    assert row.values["SHAPE"] == "text"
    assert "WHOLE" not in row.spans


def test_a_token_in_a_longer_literal_is_one_row() -> None:
    (row,) = rows("a.js", f"const password = 'p1-{GITHUB}';\n")
    assert row.values["SHAPE"] == "part"


def test_environment_keys() -> None:
    assert environment_key("dbPassword") == "DB_PASSWORD"
    assert environment_key("AWSSecretKey") == "AWS_SECRET_KEY"
    assert environment_key("smtp-password2") == "SMTP_PASSWORD2"
    assert environment_key("spring.datasource.password") == "SPRING_DATASOURCE_PASSWORD"
    assert environment_key("пароль") is None
    assert environment_key("") is None


def test_generic_values_in_tests_examples_and_documentation_are_made_up() -> None:
    code = f"const dbPassword = '{PASSWORD}';\n"
    for path in ("tests/a.js", "src/a.test.ts", "examples/a.js", "src/Login.stories.tsx", "node_modules/x/a.js"):
        assert rows(path, code) == [], path
    assert rows("README.md", f"DB_PASSWORD={PASSWORD}\n") == []
    assert rows("locales/en.json", json.dumps({"password": PASSWORD})) == []
    assert len(rows("src/a.js", code)) == 1


def test_part_of_a_template_is_never_a_whole_literal() -> None:
    content = f"const auth = `Basic ${{Buffer.from(`svc:{PASSWORD}`).toString('base64')}}`;\n"
    row = only("auth.js", content)
    assert (row.values["SHAPE"], row.values["PROVIDER"]) == ("part", "basic_auth")
    assert at(content, row, "VALUE") == PASSWORD
    assert "WHOLE" not in row.spans
    content = f"const h = `token ${{x}} {GITHUB}`;\n"
    assert only("a.js", content).values["SHAPE"] == "part"
    content = f"fetch(u, {{ headers: {{ Authorization: 'token {GITHUB}' }} }});\n"
    assert only("a.js", content).values["SHAPE"] == "part"


def test_literals_that_the_syntax_wants_are_parts() -> None:
    assert only("a.tsx", f'const x = <Login password="{PASSWORD}" />;\n').values["SHAPE"] == "part"
    assert only("a.tsx", f'const x = <Login password={{"{PASSWORD}"}} />;\n').values["SHAPE"] == "whole"
    assert only("a.ts", f'enum E {{ Token = "{STRIPE}" }}\n').values["SHAPE"] == "part"


def test_comments_are_text() -> None:
    row = only("a.js", f"// old: {GITHUB}\nconst a = 1;\n")
    assert row.values["SHAPE"] == "text"
    assert set(row.spans) == {"VALUE", "NAME"}


def test_non_ascii_before_the_value_and_byte_order_mark() -> None:
    content = f'"""Начало — こんにちは 👋"""\nDB_PASSWORD = "{PASSWORD}"  # пароль\n'
    row = only("settings.py", content)
    assert at(content, row, "WHOLE") == f'"{PASSWORD}"'
    (row,) = rows("settings.py", b"\xef\xbb\xbf" + content.encode())
    assert at(content, row, "WHOLE") == f'"{PASSWORD}"'
    crlf = content.replace("\n", "\r\n")
    assert at(crlf, only("settings.py", crlf), "WHOLE") == f'"{PASSWORD}"'


def test_uri_is_one_unit() -> None:
    uri = f"postgres://app:{PASSWORD}@db.internal.example.invalid:5432/app"
    content = f"module.exports = {{\n  db: '{uri}',\n  docs: 'https://user:pass@example.com/',\n}};\n"
    row = only("config.js", content)
    assert (row.values["PROVIDER"], row.values["SHAPE"], row.values["NAME"]) == ("uri", "uri", "db")
    assert at(content, row, "WHOLE") == f"'{uri}'"
    assert at(content, row, "VALUE") == PASSWORD
    assert line(content, row) == 2
    assert only("a.js", f"const dbPassword = '{uri}';\n").values["SHAPE"] == "uri", "not a second row by its name"
    assert only("a.js", f"log('cannot reach {uri}: down');\n").values["SHAPE"] == "part"


@pytest.mark.parametrize(
    "uri",
    [
        "https://${username}:${password}@api.example.invalid/", "https://svc:$SVC_PASSWORD@api.example.invalid",
        "postgres://user:password@localhost:5432/app", "jdbc:postgresql://db:5432/app", "https://<user>:<password>@host/",
        "amqp://guest:guest@127.0.0.1/", "redis://cache:6379/0", "postgres://postgres:postgres@db/app",
        "https://user:pass@example.com/", "mongodb://root:example@mongo:27017/", "https://example.com/a:b@c",
        "postgres://app:{}@localhost/x".format("Vq7mZ2rT9w"), "http://a:********@b.c/", "http://{user}:{password}@h.io",
    ],
)  # fmt: skip
def test_uris_without_a_credential(uri: str) -> None:
    for path in ("urls.env.example", "a.py", "README.md", "config.yaml"):
        assert rows(path, f"A={uri}\n" if path != "a.py" else f"a = '{uri}'\n") == [], path


def test_token_in_a_lock_file_uri() -> None:
    content = json.dumps(
        {
            "packages": {
                "a": {"integrity": "sha512-" + drawn(38) + "aWs" + drawn(45) + "=="},
                "b": {"resolved": f"https://x-access-token:{GITHUB}@packages.example.invalid/b-1.0.0.tgz"},
            }
        },
        indent=2,
    )
    row = only("package-lock.json", content)
    assert (row.values["PROVIDER"], row.values["NAME"], row.values["KIND"]) == ("github", "resolved", "lockfile")
    assert rows("gradle.lockfile", "com.acme:token-api:3.1.4=compileClasspath\n") == []
    assert rows("go.sum", f"github.com/acme/auth v0.5.11 h1:{drawn(43)}=\n") == []
    assert rows("poetry.lock", f'name = "token-auth"\nfiles = [{{hash = "sha256:{drawn(64, HEX)}"}}]\n') == []


def test_private_keys_over_real_and_escaped_newlines() -> None:
    escaped = json.dumps({"private_key": "\n".join([BEGIN, *PEM_LINES, END, ""])})
    row = only("sa.json", escaped)
    assert (row.values["PROVIDER"], row.values["NAME"]) == ("private_key", "private_key")
    assert at(escaped, row, "VALUE").startswith(BEGIN) and at(escaped, row, "VALUE").endswith(END)
    for newline in ("\n", "\r\n"):
        plain = newline.join([BEGIN, *PEM_LINES, END, ""])
        assert line(plain, only("id_rsa.txt", plain)) == 1
    assert rows("README.md", f"Set `private_key` to `{BEGIN}\\n...\\n{END}\\n`.\n") == []
    assert rows("a.py", f"if '{BEGIN}' in text: pass\n") == []
    literal = "const key = '" + "\\n".join([BEGIN, *PEM_LINES, END]) + "\\n';\n"
    assert only("a.js", literal).values["SHAPE"] == "whole"


def test_kubernetes_secrets_are_decoded_once() -> None:
    encoded = base64.b64encode(f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}\nTOKEN={GITHUB}\n".encode()).decode()
    plain = base64.b64encode(b"hello").decode()
    content = f"apiVersion: v1\ndata:\n  a.txt: {plain}\n  creds.env: {encoded}\nkind: Secret\nmetadata:\n  name: app\n"
    row = only("k8s/secret.yaml", content)
    assert (line(content, row), row.values["NAME"]) == (4, "creds.env")
    assert at(content, row, "VALUE") == encoded
    weak = base64.b64encode(b"quobyte").decode()
    assert rows("k8s/s.yaml", f"kind: Secret\ndata:\n  password: {weak}\n") == []
    sealed = f"kind: SealedSecret\nspec:\n  encryptedData:\n    password: Ag{drawn(120)}\n"
    assert rows("k8s/sealed.yaml", sealed) == []
    assert rows("sops.yaml", f"password: {drawn(32)}\nsops:\n  mac: ENC[AES256_GCM,data:x]\n") == []


def test_words_that_are_no_secrets() -> None:
    keys = '[\n  { "key": "ctrl+alt+pageup", "command": "cursorDown" },\n  { "key": "ctrl+k ctrl+shift+alt+f12" }\n]\n'
    assert rows("keybindings.json", keys) == []
    assert (
        rows("List.jsx", "export const L = ({ xs }) => xs.map((x) => <li key={x.id + '-row-item'}>{x.t}</li>);\n") == []
    )
    yaml = "secrets:\n  - vaultKey: 'team-db-02-secret-id'\n    cacheKey: node-v20-deps-{{ hash }}\n"
    yaml += "    apiKeyName: X-Api-Key\n    tokenUrl: https://login.example.invalid/oauth2/token\n"
    assert rows("ci.yml", yaml) == []
    assert rows(".github/workflows/a.yml", f"      - uses: actions/checkout@{drawn(40, HEX)}\n") == []
    workflow = "    env:\n      POSTGRES_PASSWORD: postgres1\n      TOKEN: ${{ secrets.GITHUB_TOKEN }}\n"
    assert rows(".github/workflows/a.yml", workflow) == []


def test_published_examples_are_exact() -> None:
    identifier = "AK" + "IAIOSFODNN7" + "EXAMPLE"
    secret = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCY" + "EXAMPLEKEY"
    text = f"export AWS_ACCESS_KEY_ID={identifier}\nexport AWS_SECRET_ACCESS_KEY={secret}\n"
    assert rows("deploy.sh", text) == [] == rows("README.md", text)
    real = f"#!/bin/sh\n# example\nexport AWS_ACCESS_KEY_ID={AWS_ID}\nexport AWS_SECRET_ACCESS_KEY={AWS_SECRET}\n"
    found = rows("deploy.sh", real)
    assert [(line(real, row), row.values["PROVIDER"], row.values["NAME"]) for row in found] == [
        (3, "aws", "AWS_ACCESS_KEY_ID"),
        (4, "aws", "AWS_SECRET_ACCESS_KEY"),
    ]


def test_dockerfile_environment() -> None:
    content = (
        "FROM debian:12.5-slim\nENV CC=/usr/bin/clang\nENV KEY_NAME=main KMS_KEY_ALIAS=alias/app\n"
        "ENV DB_PASSWORD_FILE=/run/secrets/db\nENV TOKEN_URL=https://login.example.invalid/token\n"
        "ENV PUBLIC_KEY=abc NODE_AUTH_VERSION=3\nENV REF=${FROM_OUTSIDE}\nARG NPM_TOKEN\n"
        f"ENV DB_PASSWORD={PASSWORD}\nENV A=1 API_TOKEN={GITHUB}\n"
    )
    found = rows("Dockerfile", content)
    assert [(line(content, row), row.values["NAME"]) for row in found] == [(9, "DB_PASSWORD"), (10, "API_TOKEN")]
    assert only("Dockerfile", f"FROM a\nENV DB_PASSWORD {PASSWORD}\n").values["NAME"] == "DB_PASSWORD"


@pytest.mark.parametrize(
    ("path", "content", "name"),
    [
        ("config.yaml", "db:\n  password: {}\n", "password"),
        ("config.yaml", 'db: {{ password: "{}" }}\n', "password"),
        ("app.json", '{{"db": {{"password": "{}"}}}}\n', "password"),
        ("app.toml", 'password = "{}"\n', "password"),
        ("app.ini", "[db]\npassword = {}\n", "password"),
        ("app.properties", "spring.datasource.password={}\n", "spring.datasource.password"),
        ("main.tf", 'resource "x" "y" {{\n  password = "{}"\n}}\n', "password"),
        (".env.production", 'export DB_PASSWORD="{}"\n', "DB_PASSWORD"),
        ("docker-compose.yml", "    environment:\n      - DB_PASSWORD={}\n", "DB_PASSWORD"),
        ("run.sh", "export DB_PASSWORD='{}'\n", "DB_PASSWORD"),
        ("App.java", 'String dbPassword = "{}";\n', "dbPassword"),
        ("main.go", 'dbPassword := "{}"\n', "dbPassword"),
        ("pom.xml", "<password>{}</password>\n", "password"),
        ("App.config", '<add key="DbPassword" value="{}" />\n', "DbPassword"),
    ],
)
def test_other_formats(path: str, content: str, name: str) -> None:
    text = content.format(PASSWORD)
    row = only(path, text)
    assert (row.values["NAME"], row.values["SHAPE"]) == (name, "text")
    assert at(text, row, "VALUE") == PASSWORD
    assert at(text, row, "NAME") == name


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("main.tf", "password = var.db_password1\n"),
        ("app.toml", "password = 12345678\n"),
        ("config.yaml", "password: !vault |\n  a1b2c3d4e5\n"),
        ("config.yaml", "# password: {}\n"),
        (".env.example", "DB_PASSWORD=your-password-1\nAPI_KEY=\nSECRET=changeme123\n"),
        ("openapi.yaml", "password: {}\n"),
        ("main.go", "password := os.Getenv(name1)\n"),
        ("app.yaml", "password: ${{DB_PASSWORD1}}\n"),
        ("a.css", "password: {}\n"),
    ],
)
def test_other_formats_without_a_credential(path: str, content: str) -> None:
    assert rows(path, content.format(PASSWORD)) == []


def test_public_by_design() -> None:
    google = "AI" + "za" + drawn(35)
    web = f"initializeApp({{\n  apiKey: '{google}',\n  authDomain: 'x.firebaseapp.com',\n  projectId: 'x',\n}});\n"
    assert rows("src/firebase.js", web) == []
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")  # noqa: E731
    token = lambda role: f"{part({'alg': 'HS256'})}.{part({'iss': 'supabase', 'role': role})}.{drawn(43)}"  # noqa: E731
    assert rows("src/a.js", f"const anonKey = '{token('anon')}';\n") == []
    assert only("src/a.js", f"const serviceKey = '{token('service_role')}';\n").values["PROVIDER"] == "supabase"


def test_rows_hold_no_value_and_are_in_order() -> None:
    content = f'PASSWORD = "{PASSWORD}"\nTOKEN = "{GITHUB}"\n'
    found = rows("app.py", content)
    assert [row.values["NAME"] for row in found] == ["PASSWORD", "TOKEN"]
    for row in found:
        assert set(row.values) == set(SECRET.columns)
        for column in row.values:
            assert PASSWORD not in row.text(column) and GITHUB not in row.text(column)


def test_minified_files_are_read_for_high_patterns_only() -> None:
    bundle = (
        "!function(){"
        + ";".join(f"var a{i}=function(b){{return b+{i}}}" for i in range(3000))
        + f";var t='{GITHUB}'}}();"
    )
    assert only("public/vendor.js", bundle).values["KIND"] == "bundle"
    assert rows("public/vendor.js", bundle.replace(GITHUB, PASSWORD).replace("var t", "var password")) == []


def test_binary_and_empty_files_have_no_rows() -> None:
    assert rows("a.bin", b"\0" + GITHUB.encode()) == []
    assert rows("a.js", b"") == []
    assert rows("a.py", b"\xff" + GITHUB.encode()) == []


def test_placeholders() -> None:
    assert is_placeholder("your_password")
    assert not is_placeholder(PASSWORD)
