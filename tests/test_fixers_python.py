"""The same steps on Python programs."""

from __future__ import annotations

from typing import Any

import pytest

from fixaudit.fixers.base import Refusal
from fixaudit.snapshot import ChangeSet
from tests.fixers_kit import after, again, plan, row, rule, situation
from tests.test_fixers_secret import PASSWORD, TOKEN, follow_ups, moved

MANIFEST = {"requirements.txt": "flask\n"}


def changed(step: dict[str, Any], content: str, at: str, **more: Any) -> str:
    made = situation(rule(step), {**MANIFEST, "a.py": content}, row("a.py", content, at), stacks=("python",), **more)
    return after(made).get("a.py", content)


@pytest.mark.parametrize(
    ("before", "at", "code", "expected"),
    [
        ("import flask\n\nkey = 'x'\n", "'x'", '{{ env("KEY") }}',
         "import os\n\nimport flask\n\nkey = os.environ['KEY']\n"),
        ('import os\n\nf(a=["*"], b=1)\n', '["*"]', '{{ env_optional("O") }}.split(",")',
         'import os\n\nf(a=os.environ.get("O", "").split(","), b=1)\n'),
        ('"""Doc."""\r\nfrom __future__ import annotations\r\n\r\nx = "a"\r\n', '"a"', '{{ env("K") }}',
         '"""Doc."""\r\nfrom __future__ import annotations\r\n\r\nimport os\r\n\r\nx = os.environ["K"]\r\n'),
        ("import os\nif x == 'a':\n    pass\n", "'a'", "b or c", "import os\nif x == (b or c):\n    pass\n"),
    ],
)  # fmt: skip
def test_replace(before: str, at: str, code: str, expected: str) -> None:
    assert changed({"replace": {"capture": "VALUE", "with": code}}, before, at) == expected


def test_insert_with_an_import() -> None:
    before = "from fastapi import FastAPI\n\n\ndef make():\n    app = FastAPI()\n    return app\n"
    step = {
        "insert": {
            "anchor": {"capture": "ROW"},
            "code": "app.add_middleware(\n    {{ hosts }},\n    allowed_hosts=[],\n)",
            "imports": {"hosts": {"package": "starlette.middleware.trustedhost", "export": "TrustedHostMiddleware"}},
        }
    }
    assert changed(step, before, "app = FastAPI()") == (
        "from fastapi import FastAPI\nfrom starlette.middleware.trustedhost import TrustedHostMiddleware\n\n\n"
        "def make():\n    app = FastAPI()\n    app.add_middleware(\n        TrustedHostMiddleware,\n"
        "        allowed_hosts=[],\n    )\n    return app\n"
    )


def test_add_argument() -> None:
    step = {"add_argument": {"capture": "ROW", "name": "pool_size", "value": 10}}
    assert changed(step, "e = create_engine(URL)\n", "create_engine(URL)") == "e = create_engine(URL, pool_size=10)\n"
    content = "e = create_engine(URL, **kw)\n"
    planned = plan(
        situation(rule(step), {**MANIFEST, "a.py": content}, row("a.py", content, "create_engine(URL, **kw)"))
    )
    assert isinstance(planned, Refusal)
    same = "e = create_engine(URL, pool_size=10)\n"
    assert changed(step, same, "create_engine(URL, pool_size=10)") == same


def test_add_argument_writes_the_languages_constants() -> None:
    step = {"add_argument": {"capture": "ROW", "name": "debug", "value": False}}
    assert changed(step, "run(app)\n", "run(app)") == "run(app, debug=False)\n"


def test_remove() -> None:
    assert changed({"remove": {"capture": "ROW"}}, "a()\nb()\nc()\n", "b()") == "a()\nc()\n"


SETTINGS = "from pydantic_settings import BaseSettings\n\n\nclass S(BaseSettings):\n"


@pytest.mark.parametrize(
    ("before", "expected", "key"),
    [
        (f'import stripe\n\nstripe_token = "{TOKEN}"\n',
         'import os\n\nimport stripe\n\nstripe_token = os.environ.get("STRIPE_TOKEN")\n', "STRIPE_TOKEN"),
        (f"def connect():\n    api_key = '{TOKEN}'\n    return api_key\n",
         "import os\n\n\ndef connect():\n    api_key = os.environ['API_KEY']\n    return api_key\n", "API_KEY"),
        (f'import os\n\nSECRET_KEY = os.environ.get("SECRET_KEY", "{TOKEN}")\n',
         'import os\n\nSECRET_KEY = os.environ.get("SECRET_KEY")\n', "SECRET_KEY"),
        (f'import os\n\ndb = connect(password="{PASSWORD}")  # пароль\n',
         'import os\n\ndb = connect(password=os.environ.get("DB_PASSWORD"))  # пароль\n', "DB_PASSWORD"),
        (f'from dotenv import load_dotenv\n\nload_dotenv()\nTOKEN = "{TOKEN}"\n',
         'import os\n\nfrom dotenv import load_dotenv\n\nload_dotenv()\nTOKEN = os.environ["TOKEN"]\n', "TOKEN"),
        (f'{SETTINGS}    api_key: str = "{TOKEN}"\n', f"{SETTINGS}    api_key: str = None\n", "API_KEY"),
        (f'import os\n\nmail = dict(password="{PASSWORD}")\n',
         'import os\n\nmail = dict(password=os.environ.get("MAIL_PASSWORD"))\n', "MAIL_PASSWORD"),
        (f'import os\n\nkey = os.environ.get("API_KEY") or "{TOKEN}"\n',
         'import os\n\nkey = os.environ.get("API_KEY")\n', "API_KEY"),
        (f'from decouple import config\n\nkey = config("API_KEY", default="{TOKEN}")\n',
         'from decouple import config\n\nkey = config("API_KEY")\n', "API_KEY"),
        (f'SIGNING_SECRET = b"{TOKEN}"\n',
         'import os\n\nSIGNING_SECRET = os.environ["SIGNING_SECRET"].encode()\n', "SIGNING_SECRET"),
    ],
)  # fmt: skip
def test_externalize_secret(before: str, expected: str, key: str) -> None:
    secret = PASSWORD if PASSWORD in before else TOKEN
    files = moved({"requirements.txt": "x\n", "a.py": before}, "a.py", stacks=("python",))
    assert files == {"a.py": expected, ".env.example": f"{key}=\n", ".env": f"{key}={secret}\n"}


def test_follow_ups_of_python() -> None:
    texts = follow_ups({"requirements.txt": "x\n", "a.py": f'token = "{TOKEN}"\n'}, "a.py", stacks=("python",))
    assert texts[0] == ("nothing loads .env here: export TOKEN before the program starts", "set -a; . ./.env; set +a")


def test_planning_again_gives_nothing() -> None:
    content = "app = make()\n"
    step = {"insert": {"anchor": {"capture": "ROW"}, "code": "app.debug = False"}}
    made = situation(
        rule(step), {**MANIFEST, "a.py": content}, row("a.py", content, "app = make()"), stacks=("python",)
    )
    assert again(made) == ChangeSet()
