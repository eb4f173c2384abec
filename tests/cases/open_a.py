from tests.cases.casekit import *  # noqa: F403
INIT = "git init -q -b main . && git add -A && git commit -qm base"
def sub(path, a, b, n=1): return lambda f: {path: (as_bytes(f[path]).replace(as_bytes(a), as_bytes(b), n))}

EXP = "const express = require('express');\n\nconst app = express();\n\napp.get('/health', (req, res) => {\n  res.json({ ok: true });\n});\n\napp.listen(3000);\n"
PKG = '{\n  "name": "demo",\n  "version": "1.0.0",\n  "private": true,\n  "dependencies": {\n    "express": "4.19.2"\n  }\n}\n'
def helm(eol="\n"): return ("const helmet = require('helmet');" + eol, "app.use(helmet());" + eol)

crlf = EXP.replace("\n", "\r\n")
C("U01", False, "fix-safety", "astral-sh/ruff#1477 cvisco/eslint-plugin-requirejs#58", "inserted lines in a CRLF file",
  "An Express file with CRLF line endings that needs one new `require` and one new `app.use` line.",
  "The fixer wrote its new lines with LF; the file ended up with mixed endings and a second linter failed.",
  "Take the line ending from the file (the majority one, per file, not per platform) for every inserted line; never rewrite the other lines.",
  {"server.js": crlf, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], fix="fixed",
  checks=[dict(k="eol", path="server.js", eol="crlf"), dict(k="lines_kept", path="server.js"), dict(k="parses", path="server.js", lang="js"), dict(k="contains", path="server.js", text="helmet(")],
  good=lambda f: {"server.js": crlf.replace("const app = express();\r\n", "const app = express();\r\napp.use(helmet());\r\n").replace("require('express');\r\n", "require('express');\r\nconst helmet = require('helmet');\r\n")},
  bad=lambda f: {"server.js": crlf.replace("const app = express();\r\n", "const app = express();\r\napp.use(helmet());\n").replace("require('express');\r\n", "require('express');\r\nconst helmet = require('helmet');\n")})

bom = "\ufeff" + EXP
C("U03", False, "fix-safety", "eslint/eslint#8083", "file that starts with a byte order mark",
  "A UTF-8 file whose first character is U+FEFF.",
  "Over several passes the fixer put ten byte order marks in the middle of the file, because it re-added one in each pass and at the wrong offset.",
  "Keep exactly one BOM at offset 0; compute offsets behind it; insert the first import after it.",
  {"server.js": bom, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], fix="fixed",
  checks=[dict(k="bom", path="server.js", n=1), dict(k="lines_kept", path="server.js"), dict(k="contains", path="server.js", text="helmet")],
  good=sub("server.js", "const app = express();\n", "const app = express();\napp.use(require('helmet')());\n"),
  bad=lambda f: {"server.js": "const helmet = require('helmet');\n" + bom})

uni = 'import os\n\n\ndef banner():\n    """Начало работы — こんにちは 👋"""\n    return "готово ✓"\n\n\nDB_PASSWORD = "%s"  # пароль\nprint("конец", banner())\n' % PW
C("U05", False, "fix-safety", "semgrep/semgrep#2477 astral-sh/ruff#577 trunk-io/plugins#1150", "non-ASCII text before the edit",
  "A Python module with Cyrillic, Japanese and an emoji before a hard-coded password.",
  "Byte offsets were used as character offsets: the edit landed some characters late, kept a stray bracket and cut the next line.",
  "One offset unit through the whole pipeline (say which in the docs); convert at the border to tree-sitter, LibCST and regex; the text around the edit stays.",
  {"settings.py": uni}, scan=[("secret.hardcoded", "settings.py", "DB_PASSWORD")], fix="either",
  checks=[dict(k="parses", path="settings.py", lang="py"), dict(k="contains", path="settings.py", text='print("конец", banner())'), dict(k="contains", path="settings.py", text='return "готово ✓"'),
          dict(k="contains", path="settings.py", text="# пароль"), dict(k="max_changed", path="settings.py", n=1), dict(k="absent", path="settings.py", text=PW, when="changed")],
  good=sub("settings.py", '"%s"' % PW, 'os.environ["DB_PASSWORD"]'), bad=sub("settings.py", '"%s"  # пароль' % PW, 'os.environ["DB_PASSWORD"] пароль'))

C("U06", False, "fix-safety", "microsoft/TypeScript#15515 codemod/codemod!387 swc-project/plugins!517", "directive prologue must stay first",
  "One CommonJS file that begins with a licence comment and `'use strict'`, and one React file that begins with `'use client'`.",
  "The new import went to line 1; the directive became a plain string expression: strict mode silently off, the React build failed.",
  "Insert after shebang, leading comments and all directives, before or among the existing imports.",
  {"server.js": "/* Demo licence header */\n'use strict';\n\n" + EXP, "ui/Panel.jsx": "'use client';\n\nimport { useState } from 'react';\n\nexport default function Panel() {\n  const [n, setN] = useState(0);\n  return <button onClick={() => setN(n + 1)}>{n}</button>;\n}\n", "package.json": PKG},
  scan=[("express.helmet-missing", "server.js")], fix="fixed",
  checks=[dict(k="order", path="server.js", texts=["/* Demo licence header */", "'use strict'", "helmet"]), dict(k="order", path="ui/Panel.jsx", texts=["'use client'", "import "]), dict(k="lines_kept", path="server.js"), dict(k="parses", path="server.js", lang="js")],
  good=sub("server.js", "const app = express();\n", "const helmet = require('helmet');\nconst app = express();\napp.use(helmet());\n"),
  bad=lambda f: {"server.js": "const helmet = require('helmet');\n" + f["server.js"]}, notes="A rule pack that adds imports to JSX must show the same for `ui/Panel.jsx`; the base packs may leave it alone.")

alias = 'import logging\n\ntry:\n    import os as _os\nexcept ImportError:\n    _os = None\n\nlog = logging.getLogger(__name__)\n\n\ndef key():\n    return _os.environ.get("API_KEY")\n\n\nTOKEN = "%s"\n' % GH_PAT
C("U08", False, "fix-safety", "pixee/codemodder-python#517 pixee/codemodder-python!106", "the import exists, but under an alias or in a block",
  "A module which already has `os`, imported as `_os` inside a `try` block.",
  "The codemod added a second `import`, because it looked only for the exact top-level form.",
  "Either use a proper new top-level `import os` once, or the bound name; never a duplicate of a binding that is there, never shadow an existing name, and no second copy when the fix runs again.",
  {"app.py": alias}, scan=[("secret.hardcoded", "app.py", "TOKEN =")], fix="either",
  checks=[dict(k="parses", path="app.py", lang="py"), dict(k="count", path="app.py", text="import os as _os", n=1), dict(k="max_changed", path="app.py", n=1), dict(k="absent", path="app.py", text=GH_PAT, when="changed")],
  good=lambda f: {"app.py": f["app.py"].replace("import logging\n", "import logging\nimport os\n").replace('"%s"' % GH_PAT, 'os.environ["TOKEN"]')},
  bad=lambda f: {"app.py": f["app.py"].replace("import logging\n", "import logging\nimport os as _os\n").replace('"%s"' % GH_PAT, '_os.environ["TOKEN"]')})

ESM = "import express from 'express';\n\nconst app = express();\n\napp.get('/health', (req, res) => res.json({ ok: true }));\n\napp.listen(3000);\n"
C("U09", False, "fix-safety", "es-tooling/module-replacements-codemods!42 facebookarchive/nuclide#329", "ES modules get an import, CommonJS gets a require",
  "A package with `\"type\": \"module\"` whose server uses `import`.",
  "One codemod knew only one module system and did nothing for the other; another added a `require` beside every `import` that was already there.",
  "Decide per file: extension, then nearest package.json `type`, then the syntax in the file; insert the matching form.",
  {"server.js": ESM, "package.json": PKG.replace('"private"', '"type": "module",\n  "private"')}, scan=[("express.helmet-missing", "server.js")], fix="fixed",
  checks=[dict(k="contains", path="server.js", text="import helmet from 'helmet'"), dict(k="absent", path="server.js", text="require("), dict(k="lines_kept", path="server.js")],
  good=lambda f: {"server.js": ESM.replace("from 'express';\n", "from 'express';\nimport helmet from 'helmet';\n").replace("express();\n", "express();\napp.use(helmet());\n", 1)},
  bad=lambda f: {"server.js": "const helmet = require('helmet');\n" + ESM})

tl = "const region = process.env.REGION;\nconst auth = `Basic ${Buffer.from(`svc:%s`).toString('base64')}`;\nconst price = '$' + '{' + 'amount' + '}';\n\nmodule.exports = { auth, region, price };\n" % PW
C("U12", False, "fix-safety", "rome/tools#3451 samchon/ttsc#363 typescript-eslint/typescript-eslint!8688", "secret inside a nested template literal",
  "A password which is only a part of a template literal, nested in another one, near text such as `'$' + '{'`.",
  "Text-level rewriting produced a live `${` or an unescaped backtick: a syntax error, or another value at run time.",
  "Replace only whole literals. If the secret is a part of a string, refuse: manual review with file, line and reason. Do not touch neighbouring strings.",
  {"auth.js": tl}, scan=[("secret.hardcoded", "auth.js", "const auth")], fix="either",
  checks=[dict(k="parses", path="auth.js", lang="js"), dict(k="contains", path="auth.js", text="const price = '$' + '{' + 'amount' + '}';"), dict(k="contains", path="auth.js", text="toString('base64')")])

ts = "import express, { type Request, type Response } from 'express';\n\nconst MODES = ['a', 'b'] as const;\ntype Mode = (typeof MODES)[number];\n\nfunction pick<T,>(xs: readonly T[]): T | undefined {\n  return xs[0];\n}\n\nconst app = express();\n\napp.get('/mode', (_req: Request, res: Response) => {\n  const m = pick<Mode>(MODES)!;\n  res.json({ m: m satisfies Mode });\n});\n\nexport default app;\n"
C("U13", False, "fix-safety", "typescript-eslint/typescript-eslint#172 eslint/typescript-eslint-parser#343", "TypeScript-only syntax around the edit",
  "A typed Express file with `as const`, a generic arrow comma, `!`, `satisfies` and inline `type` imports.",
  "A fixer rewrote `Array<infer E>` into invalid syntax; with a TypeScript parser another one corrupted the text round a JSX expression.",
  "Parse with the TypeScript grammar (TSX for .tsx), edit by insertion only, keep every other byte.",
  {"src/app.ts": ts, "package.json": PKG, "tsconfig.json": '{\n  // comments are legal here\n  "compilerOptions": { "strict": true, "esModuleInterop": true, },\n}\n'},
  scan=[("express.helmet-missing", "src/app.ts")], fix="fixed",
  checks=[dict(k="lines_kept", path="src/app.ts"), dict(k="same", path="tsconfig.json"), dict(k="contains", path="src/app.ts", text="helmet"), dict(k="absent", path="src/app.ts", text="require(")],
  good=lambda f: {"src/app.ts": ts.replace("from 'express';\n", "from 'express';\nimport helmet from 'helmet';\n").replace("express();\n", "express();\napp.use(helmet());\n", 1)})

cm = "const express = require('express');\nconst cors = require('cors');\n\nconst app = express();\n\napp.use(cors({\n  // partners asked for this in 2021, see ADR-7\n  origin: '*',\n  /* cookies are needed by the portal */\n  credentials: true, // do not drop\n}));\n\nmodule.exports = app;\n"
C("U14", False, "fix-safety", "astral-sh/ruff#3185 astral-sh/ruff#8105 astral-sh/ruff#18282", "comments inside the replaced code",
  "A CORS options object in which three comments explain the choices.",
  "The fixer rebuilt the expression and dropped every comment between its old ends.",
  "Replace the smallest node (the value of `origin`), not the call. If a comment would be lost, refuse or ask for an explicit unsafe flag.",
  {"app.js": cm}, scan=[("express.cors-wildcard", "app.js", "origin: '*'")], fix="either",
  checks=[dict(k="contains", path="app.js", text="see ADR-7"), dict(k="contains", path="app.js", text="/* cookies are needed by the portal */"), dict(k="contains", path="app.js", text="// do not drop"), dict(k="parses", path="app.js", lang="js"), dict(k="max_changed", path="app.js", n=1)],
  good=sub("app.js", "'*'", "process.env.CORS_ORIGIN"), bad=lambda f: {"app.js": cm[:cm.index("app.use")] + "app.use(cors({ origin: process.env.CORS_ORIGIN, credentials: true }));\n\nmodule.exports = app;\n"})

wf = "# owner: platform team\nname:   'CI'   # keep the quotes\n\non: [push]\n\njobs:\n    build:            # four spaces, on purpose\n        runs-on: ubuntu-22.04\n        steps:\n        -   uses: actions/checkout@8f4b7f84864484a7bf31766abe9204da3cbe65b3   # v3.5.0\n        -   run: \"npm test\"\n\n# end of file\n"
C("U15", False, "fix-safety", "zizmor#1058".replace("zizmor#", "zizmorcore/zizmor#") + " pre-commit/pre-commit#210 pycontribs/ruyaml#115", "workflow comments, quotes and indent",
  "A workflow with comments, aligned spaces, four-space indent and single and double quotes, that lacks `permissions`.",
  "A load-and-dump round trip lost comments (those between blank lines above all) and re-indented the lists.",
  "Edit YAML as text at a computed place; the only diff is the added lines.",
  {".github/workflows/ci.yml": wf}, scan=[("gha.permissions-missing", ".github/workflows/ci.yml")], fix="fixed",
  checks=[dict(k="lines_kept", path=".github/workflows/ci.yml"), dict(k="parses", path=".github/workflows/ci.yml", lang="yaml"), dict(k="contains", path=".github/workflows/ci.yml", text="permissions:")],
  good=sub(".github/workflows/ci.yml", "on: [push]\n", "on: [push]\n\npermissions:\n    contents: read\n"), bad=sub(".github/workflows/ci.yml", "name:   'CI'   # keep the quotes", "permissions:\n  contents: read\nname: CI"))

longrun = "name: long\non: push\njobs:\n  a:\n    runs-on: ubuntu-22.04\n    steps:\n      - run: python tools/report.py --input data/2026/quarterly/all-regions/summary.csv --output build/report.html --title \"Quarterly report\" --flag-a --flag-b\n      - run: >-\n          echo one\n          two\n      - run: |+\n          echo keep the trailing newline\n\n"
C("U17", False, "fix-safety", "treeverse/dvc#9397 apache/buildstream!2046 pycontribs/ruyaml#114", "long scalar lines are not wrapped",
  "A workflow with a 150-character command, a folded scalar and a `|+` scalar.",
  "The YAML writer has a default width of 80 and broke long commands and URLs over two lines: noise in every diff, failing tests.",
  "No re-flow of any scalar; see U15.",
  {".github/workflows/long.yml": longrun}, scan=[("gha.permissions-missing", ".github/workflows/long.yml")], fix="fixed",
  checks=[dict(k="lines_kept", path=".github/workflows/long.yml"), dict(k="parses", path=".github/workflows/long.yml", lang="yaml")],
  good=sub(".github/workflows/long.yml", "on: push\n", "on: push\npermissions:\n  contents: read\n"))

onkey = "name: t\n\non:\n  pull_request:\n  push:\n    branches: [main]\n\njobs:\n  t:\n    runs-on: ubuntu-22.04\n    env:\n      DEBUG: on\n      COUNTRY: NO\n      VERSION: 3.10\n      MODE: 0755\n    steps:\n      - run: make\n"
C("U18", False, "fix-safety", "yaml/pyyaml#470 yaml/pyyaml#679 yaml/pyyaml#855", "`on:` is not `true:`",
  "A normal workflow; the trigger key is `on`, and some values look like YAML 1.1 booleans, floats or octals.",
  "A YAML 1.1 loader turned the key into `True`: rules on triggers never matched, and a dump wrote `true:`.",
  "Read workflows with YAML 1.2 core rules; write back text, not values: `on:`, `NO`, `3.10`, `0755` stay as typed.",
  {".github/workflows/t.yml": onkey}, scan=[("gha.permissions-missing", ".github/workflows/t.yml")], fix="fixed",
  checks=[dict(k="lines_kept", path=".github/workflows/t.yml"), dict(k="absent", path=".github/workflows/t.yml", text="true:")],
  good=sub(".github/workflows/t.yml", "\njobs:", "\npermissions:\n  contents: read\n\njobs:"), bad=sub(".github/workflows/t.yml", "on:\n", "true:\n"),
  notes="A rule that looks at `on.pull_request` must see it here.")

mainref = "name: rel\non: push\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-22.04\n    steps:\n      - uses: some-org/deploy@main\n      - uses: ./.github/actions/local\n      - uses: docker://alpine:3.19\n      - uses: other-org/lint@v2-beta\n"
C("U21", False, "fix-safety", "zizmorcore/zizmor!1860 zizmorcore/zizmor#1869 zizmorcore/zizmor#1554", "pin of a branch or prerelease ref",
  "Steps that use `@main`, a prerelease tag, a local action and a docker image.",
  "`@main` was pinned to whatever the branch was at that moment; for a prerelease tag the fix reported success on every run and never converged; without access to the network the documented fix was not there, and nothing said why.",
  "Report branch and tag refs. Pin only tags that look like versions and only if the SHA is really known (cache or network allowed by the user); never guess a SHA. Everything else: manual. Local and docker refs are not actions to pin by SHA.",
  {".github/workflows/rel.yml": mainref}, scan=[("gha.unpinned-action", ".github/workflows/rel.yml", "deploy@main"), ("gha.unpinned-action", ".github/workflows/rel.yml", "v2-beta")],
  clean=[("gha.unpinned-action", ".github/workflows/rel.yml", "./.github/actions/local")], fix="manual", checks=[dict(k="same", path=".github/workflows/rel.yml")], run="No network.")

C("U22", False, "fix-safety", "gotgenes/getignore#5 netlify/cli!3229 tj/git-extras#476 microsoft/vscode#30162", ".gitignore without a final newline",
  "A `.gitignore` whose last line has no newline.",
  "The tool appended text and made one line out of two: `dist/.env`. Both rules were lost.",
  "Before appending, end the last line with the file's own newline; after it, end with one newline.",
  {".gitignore": "node_modules/\ndist/", ".env.example": "PORT=3000\n", "package.json": PKG}, scan=[("gitignore.env-missing", ".gitignore")], fix="fixed",
  checks=[dict(k="lines_kept", path=".gitignore"), dict(k="absent", path=".gitignore", text="dist/."), dict(k="cmd", sh="git init -q . && git check-ignore .env", out=".env"), dict(k="cmd", sh="git init -q . ; git check-ignore -q --no-index .env.example && echo ignored || echo kept", out="kept")],
  good=lambda f: {".gitignore": "node_modules/\ndist/\n.env\n"}, bad=lambda f: {".gitignore": "node_modules/\ndist/.env\n"})

pj = '{\n\t"name": "demo",\n\t"version": "1.0.0",\n\t"scripts": { "start": "node server.js", "test": "node --test" },\n\t"dependencies": {\n\t\t"express": "4.19.2",\n\t\t"zod": "3.23.8"\n\t},\n\t"files": ["lib", "bin"]\n}'
C("U24", False, "fix-safety", "npm/npm!3299 mweststrate/relative-deps#64 arfeo/npm-add-dependencies#26 commitizen/cz-cli#72", "package.json keeps its format",
  "A tab-indented package.json with one-line arrays and objects and no newline at the end; a fix must add the `helmet` dependency.",
  "Parse-and-dump re-indented everything to two spaces, exploded the arrays and added or dropped the final newline.",
  "Insert one line with the surrounding indent; sort only if the list was sorted; leave the end of the file as it was.",
  {"package.json": pj, "server.js": EXP}, scan=[("express.helmet-missing", "server.js")], fix="fixed",
  checks=[dict(k="parses", path="package.json", lang="json"), dict(k="contains", path="package.json", text='\t"files": ["lib", "bin"]\n}'), dict(k="contains", path="package.json", text='\t"scripts": { "start"'), dict(k="max_changed", path="package.json", n=1)],
  good=lambda f: {"package.json": pj.replace('"4.19.2",\n', '"4.19.2",\n\t\t"helmet": "7.1.0",\n')}, bad=lambda f: {"package.json": json.dumps(json.loads(pj), indent=2) + "\n"},
  notes="Whether a fixer adds the dependency itself or asks for it in manual review is the project's choice; if it edits, these checks hold.")

C("U25", False, "fix-safety", "sile/efmt#103 DanielGavin/ols#1622 ziglang/zig#5616 cheshirekow/cmake_format#143", "executable bit",
  "A Node script with a shebang and mode 755.",
  "Write-temp-then-rename created the new file with mode 644; the script no longer ran, and the change was easy to miss in a diff.",
  "Keep mode (and owner where possible) of the replaced file.",
  {"bin/serve.js": X("#!/usr/bin/env node\n" + EXP), "package.json": PKG}, scan=[("express.helmet-missing", "bin/serve.js")], fix="fixed",
  checks=[dict(k="mode", path="bin/serve.js", mode="755"), dict(k="order", path="bin/serve.js", texts=["#!/usr/bin/env node", "helmet"]), dict(k="lines_kept", path="bin/serve.js")],
  good=lambda f: {"bin/serve.js": X(f["bin/serve.js"].replace("const app = express();\n", "const app = express();\napp.use(require('helmet')());\n"))},
  bad=lambda f: {"bin/serve.js": f["bin/serve.js"].replace("const app = express();\n", "const app = express();\napp.use(require('helmet')());\n") + ""})

C("U27", False, "security", "DavidAnson/markdownlint-cli2#931 pre-commit/pre-commit!333 rohan21895/memory-engine#96", "symlink that leaves the repository",
  "A repository in which `config/shared.py` is a link to a file above the repository root, and a directory link makes a loop.",
  "The scan followed links: it listed and fixed files outside the tree, and walked the loop until the system stopped it.",
  "Resolve each path; never read or write outside the repository root; do not follow directory links; report a skipped link once at debug level.",
  {"repo/config/__init__.py": "", "repo/config/shared.py": Link("../../outside/shared.py"), "repo/loop": Link("."), "outside/shared.py": 'DB_PASSWORD = "%s"\n' % PW},
  clean=[("secret.hardcoded", "repo/config/shared.py")], checks=[dict(k="same", path="outside/shared.py"), dict(k="symlink", path="repo/config/shared.py", to="../../outside/shared.py")],
  setup="cd repo && " + INIT, run="Run the tool with `repo/` as the root; it must end in seconds.")

C("U28", False, "fix-safety", "oxc-project/oxc#22858 caffeinelabs/mops!589 jangtrinh/design-os#261", "a read-only file does not stop the run",
  "Two files with the same fixable finding; one is mode 444 (a frozen, generated file).",
  "The tool crashed with a permission error before it fixed the other file; an unreadable file lost the findings of all its siblings.",
  "Skip the file, say so once, fix the others, exit non-zero because a finding remains. Never chmod.",
  {"frozen/app.js": EXP, "live/app.js": EXP, "package.json": PKG}, scan=[("express.helmet-missing", "frozen/app.js"), ("express.helmet-missing", "live/app.js")], fix="fixed",
  checks=[dict(k="same", path="frozen/app.js"), dict(k="mode", path="frozen/app.js", mode="444"), dict(k="contains", path="live/app.js", text="helmet")], setup="chmod 444 frozen/app.js",
  run="Not as root: root can write a 444 file; the rule (honour the mode bits, do not chmod) is the same.",
  good=lambda f: {"live/app.js": EXP.replace("const app = express();\n", "const app = express();\napp.use(require('helmet')());\n")})

png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
C("U30", False, "fix-safety", "Aider-AI/aider#1247 YunoHost/package_linter#166 albertas/deadcode#10", "binary content under a text name",
  "A PNG saved as `logo.js`, a file with NUL bytes called `.env.bak`, and one normal file with a finding.",
  "A decode error in one file ended the whole run with a traceback.",
  "Detect binary (NUL in the first block, or undecodable), skip it with its name at info level, go on; never write to it.",
  {"assets/logo.js": png, "data/.env.bak": b"A=1\x00\x00B=2\n", "server.js": EXP, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], clean=[("express.helmet-missing", "assets/logo.js")], fix="fixed",
  checks=[dict(k="same", path="assets/logo.js"), dict(k="same", path="data/.env.bak"), dict(k="contains", path="server.js", text="helmet")],
  good=sub("server.js", "const app = express();\n", "const app = express();\napp.use(require('helmet')());\n"))

mini = "!function(){" + ";".join("var a%d=function(b){return b+%d}" % (i, i) for i in range(12000)) + "}();\n"
C("U31", False, "performance", "semgrep/semgrep#1496 semgrep/semgrep#978 semgrep/semgrep#2078", "minified bundle of one line",
  "A vendored, minified bundle (one line, several hundred kB) beside a normal source file.",
  "Parsing and matching the bundle ran into time-outs or took minutes; by default nothing was said about it.",
  "Skip minified files by default (size, mean line length, `.min.` name), list them in the summary, never edit them; a per-file time limit guards the rest.",
  {"public/vendor.min.js": mini, "public/vendor.js": mini, "server.js": EXP, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")],
  checks=[dict(k="same", path="public/vendor.min.js"), dict(k="same", path="public/vendor.js")], run="Scan of this tree in under 5 s; the summary names both bundles as skipped.")

C("U33", False, "fix-safety", "astral-sh/ruff#26480 drahnr/cargo-spellcheck#214 lbliii/bengal!459", "interrupted write",
  "Forty files with one fixable finding each; the user presses Ctrl-C during the fix run.",
  "In-place writes were cut off: several files were left with 0 bytes, old and new content both gone.",
  "Write to a temporary file in the same directory, fsync, rename; on SIGINT finish or undo the current file, stop, exit 130, and leave no temporary files.",
  {**{"src/f%02d.js" % i: EXP.replace("/health", "/h%02d" % i) for i in range(40)}, "package.json": PKG},
  checks=[dict(k="cmd", sh="find src -name '*.js' -size 0 | wc -l | tr -d ' '", out="0"), dict(k="cmd", sh="ls src | wc -l | tr -d ' '", out="40"), dict(k="cmd", sh="for f in src/*.js; do node --check $f || echo bad; done", out="")],
  fix="engine", setup=INIT, run="Start the fix, send SIGINT after about 0.2, 0.5 and 1 s (three runs, three copies). Every file is either the original or complete.")

C("U34", False, "fix-safety", "astral-sh/ruff#3523 astral-sh/ruff#1970 semgrep/semgrep!6419", "a fix that makes a syntax error is undone, alone",
  "Two rules: a good one, and one whose replacement text is not valid Python.",
  "Either the broken code was written, or all changes of the file were thrown away, the good ones too.",
  "Parse after each single fix; undo that one fix byte for byte, keep the earlier good ones, send the finding to manual review with `fix produced a syntax error`.",
  {"app.py": "import os\n\nDEBUG = True\n\n\ndef load(path):\n    return eval(open(path).read())\n"},
  rules='''
rules:
  - id: custom.debug-on        # good STATIC fix
    detect: {regex: "^DEBUG = True$", files: ["*.py"]}
    fix: {static: 'DEBUG = os.environ.get("DEBUG") == "1"'}
  - id: custom.no-eval         # bad STATIC fix, on purpose
    detect: {regex: "eval\\\\(open\\\\(path\\\\)\\\\.read\\\\(\\\\)\\\\)", files: ["*.py"]}
    fix: {static: "json.loads((open(path).read()"}
''', scan=[("custom.debug-on", "app.py", "DEBUG = True"), ("custom.no-eval", "app.py", "eval(")], fix="engine",
  checks=[dict(k="parses", path="app.py", lang="py"), dict(k="contains", path="app.py", text='os.environ.get("DEBUG")'), dict(k="contains", path="app.py", text="return eval(open(path).read())")],
  good=sub("app.py", "DEBUG = True", 'DEBUG = os.environ.get("DEBUG") == "1"'), bad=sub("app.py", "eval(open(path).read())", "json.loads((open(path).read()"))

C("U35", False, "fix-safety", "semgrep/semgrep!6647 semgrep/semgrep#3577", "two fixes on the same text",
  "Two rules that match overlapping text on one line, and two matches of one rule on one line.",
  "Both edits were applied with the positions of the first scan, so the second one landed inside the text of the first.",
  "One fix at a time, then scan again; never use positions from before an edit. If the two rules exclude each other, the first by documented order wins, and the other is scanned again.",
  {"m.py": 'def title():\n    return "left" + ", " + "right"\n\n\ndef conn():\n    return connect("db", timeout=None, verify=False)\n'},
  rules='''
rules:
  - id: custom.mark-text
    detect: {regex: '(?<!_\\()"(?P<s>left|right)"', files: ["m.py"]}
    fix: {parametric: '_("{s}")'}
  - id: custom.timeout
    detect: {regex: 'timeout=None, verify=False', files: ["m.py"]}
    fix: {static: 'timeout=10, verify=False'}
  - id: custom.verify
    detect: {regex: ', verify=False', files: ["m.py"]}
    fix: {static: ''}
''', scan=[("custom.mark-text", "m.py", '"left"'), ("custom.timeout", "m.py", "timeout=None"), ("custom.verify", "m.py", "verify=False")], fix="engine",
  checks=[dict(k="contains", path="m.py", text='return _("left") + ", " + _("right")'), dict(k="contains", path="m.py", text='return connect("db", timeout='), dict(k="parses", path="m.py", lang="py"), dict(k="absent", path="m.py", text="verify=False")],
  good=lambda f: {"m.py": f["m.py"].replace('"left" + ", " + "right"', '_("left") + ", " + _("right")').replace("timeout=None, verify=False", "timeout=10")},
  bad=lambda f: {"m.py": f["m.py"].replace('"left" + ", " + "right"', '_("le_("right") + ", " + "right"')},
  notes="If `custom.verify` is fixed first, `custom.timeout` no longer matches; `connect(\"db\", timeout=None)` is then right too.")

C("U37", False, "fix-safety", "eslint/eslint#17609 eslint/eslint#19321 astral-sh/ruff#18729", "two rules that undo each other",
  "Rule A adds a line, rule B removes it.",
  "The tool went round ten (or a hundred) times and stopped without a word; the file's last state depended on the pass count.",
  "See a repeated state by its content hash; stop, restore the state before the pair began, name both rules in the output, exit non-zero.",
  {"conf.py": "NAME = 'demo'\n"}, rules='''
rules:
  - id: custom.need-future
    detect: {absent: "from __future__ import annotations", files: ["conf.py"]}
    fix: {static_prepend: "from __future__ import annotations\\n"}
  - id: custom.no-future
    detect: {regex: "^from __future__ import annotations\\\\n", files: ["conf.py"]}
    fix: {static: ""}
''', scan=[("custom.need-future", "conf.py")], fix="engine", checks=[dict(k="same", path="conf.py")], bad=lambda f: {"conf.py": "from __future__ import annotations\nNAME = 'demo'\n"},
  run="At most 5 cycles; the report names `custom.need-future` and `custom.no-future` as a conflict.")

many = "import os\n\n" + "".join("KEY_%02d = 'TODO-%02d'\n" % (i, i) for i in range(40))
C("U39", False, "fix-safety", "astral-sh/ruff#6754 astral-sh/ruff#14563", "forty honest fixes in one file",
  "One file with forty separate findings of one rule.",
  "Each pass fixed one, the pass limit was hit, and the tool said it had a bug; a second and third run fixed more.",
  "The limits (3 attempts per issue, 5 cycles) count attempts per issue and full cycles, not single fixes: all forty are fixed in one run. If some limit is hit, say which, and how many remain.",
  {"keys.py": many}, rules='''
rules:
  - id: custom.todo-key
    detect: {regex: "^(?P<n>KEY_\\\\d+) = 'TODO-\\\\d+'$", files: ["keys.py"]}
    fix: {parametric: "{n} = os.environ['{n}']"}
''', scan=[("custom.todo-key", "keys.py", "KEY_00"), ("custom.todo-key", "keys.py", "KEY_39")], fix="engine",
  checks=[dict(k="absent", path="keys.py", text="TODO-"), dict(k="count", path="keys.py", text="os.environ[", n=40), dict(k="parses", path="keys.py", lang="py")],
  good=lambda f: {"keys.py": re.sub(r"(KEY_\d+) = 'TODO-\d+'", r"\1 = os.environ['\1']", many)}, run="One run; well under 10 s.")

C("U40", False, "fix-safety", "openrewrite/rewrite#5767 openrewrite/rewrite#4388", "the second run changes nothing",
  "A small project with several fixable findings.",
  "The recipe reported a change in every run though the text was already right; loops and CI diffs never became quiet.",
  "`fix` twice: the second run makes no edit, reports zero fixes, and exits by the remaining findings only.",
  {"server.js": EXP, "package.json": PKG, ".gitignore": "node_modules/\n", "Dockerfile": "FROM node:20.11.1-slim\nWORKDIR /app\nCOPY . .\nRUN npm ci\nCMD [\"node\", \"server.js\"]\n", ".github/workflows/ci.yml": wf},
  scan=[("express.helmet-missing", "server.js"), ("docker.user-root", "Dockerfile"), ("gitignore.env-missing", ".gitignore"), ("gha.permissions-missing", ".github/workflows/ci.yml")], fix="engine", checks=[dict(k="parses", path="server.js", lang="js")],
  setup=INIT, run="Run fix, hash every file, run fix again, hash again: the hashes are equal.")
