from tests.cases.casekit import *  # noqa: F403
from tests.cases.open_a import INIT, EXP, PKG, sub
HELM = EXP.replace("const app = express();\n", "const app = express();\napp.use(require('helmet')());\n")
# ---- git
C("U41", False, "git", "lint-staged/lint-staged#550 pre-commit/pre-commit#176 pre-commit/pre-commit-hooks#1035 lint-staged/lint-staged#62", "partly staged file and a failing hook",
  "A file with one change staged and another not staged; the hook run fails.",
  "The unstaged changes were put in a patch or stash that was not restored; users lost work and did not know where it was.",
  "Never stash. Read the index for the check; write only files the fix needs; on any failure index and working tree are as before.",
  {"server.js": EXP, "notes.txt": "one\n", "package.json": PKG}, fix="engine",
  setup=INIT + "\nprintf 'app.locals.staged = 1;\\n' >> server.js\ngit add server.js\nprintf 'app.locals.unstaged = 2;\\n' >> server.js\nprintf 'two\\n' >> notes.txt\nprintf 'new\\n' > untracked.txt",
  checks=[dict(k="cmd", sh="git show :server.js | grep -c unstaged", out="0"), dict(k="cmd", sh="git show :server.js | grep -c 'locals.staged'", out="1"), dict(k="contains", path="server.js", text="app.locals.unstaged = 2;"),
          dict(k="contains", path="notes.txt", text="two"), dict(k="contains", path="untracked.txt", text="new"), dict(k="cmd", sh="git stash list | wc -l | tr -d ' '", out="0")],
  run="Run the pre-commit hook (check mode, and again in fix mode) with a rule that fails. All checks hold in both.")
C("U43", False, "git", "kirodotdev/Kiro#6049 anthropics/claude-code#57463 openai/codex#8643", "undo of a bad fix in a dirty tree",
  "The user has uncommitted edits in the file that gets a fix which must be undone.",
  "The tool undid its own mistake with `git checkout -- file` and with it all of the user's uncommitted work.",
  "Undo restores the bytes from just before the fix (own snapshot), never HEAD or the index; no `git checkout`, `restore`, `reset`, `clean` or `stash` on the user's tree.",
  {"app.py": "import os\n\n\ndef load(path):\n    return eval(open(path).read())\n"}, rules='''
rules:
  - id: custom.no-eval         # the fix is invalid, so it must be undone
    detect: {regex: "eval\\\\(open\\\\(path\\\\)\\\\.read\\\\(\\\\)\\\\)", files: ["*.py"]}
    fix: {static: "json.loads((open(path).read()"}
''', fix="engine", setup=INIT + "\nprintf '\\n\\n# two hours of uncommitted work\\nLIMIT = 42\\n' >> app.py\nprintf 'draft\\n' > draft.md",
  checks=[dict(k="contains", path="app.py", text="LIMIT = 42"), dict(k="contains", path="app.py", text="return eval(open(path).read())"), dict(k="contains", path="draft.md", text="draft"), dict(k="parses", path="app.py", lang="py")])
C("U45", False, "git", "bufbuild/buf#2463 MFlowCode/MFC#1776", "linked worktree: `.git` is a file",
  "A linked worktree made with `git worktree add`.",
  "`.git/index: Not a directory`; elsewhere the hook read the index of the main checkout and failed on files not in the commit.",
  "Ask git (`rev-parse --git-path`, `--show-toplevel`) for every path; never build `.git/...` by hand; install the hook in the common hooks path.",
  {"server.js": EXP, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], fix="engine",
  setup=INIT + "\ngit worktree add -q -b side wt\nprintf 'app.locals.here = 1;\\n' >> wt/server.js", checks=[dict(k="same", path="server.js"), dict(k="contains", path="wt/server.js", text="app.locals.here = 1;"), dict(k="cmd", sh="git -C wt rev-parse --abbrev-ref HEAD", out="side")],
  run="Run scan, fix and `git commit` (with the hook) inside `wt/`. Only files below `wt/` change.")
C("U46", False, "git", "Aider-AI/aider#4374 agent-ix/quoin#237 sk-/git-lint!97", "submodule",
  "A repository with a changed submodule (a gitlink in the index, a directory on disk).",
  "The gitlink was opened as a file (`Is a directory`); another tool formatted 93 files in a pinned submodule and made it dirty.",
  "List files with their modes; skip mode 160000; do not scan or edit submodule content unless asked with its own run.",
  {"server.js": EXP, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], clean=[("express.helmet-missing", "vendor/lib/server.js")], fix="engine",
  setup="mkdir -p ../u46sub.$$ && cp server.js ../u46sub.$$/ && (cd ../u46sub.$$ && git init -q -b main . && git add -A && git commit -qm sub)\n" + INIT +
        "\ngit -c protocol.file.allow=always submodule add -q \"$(cd ../u46sub.$$ && pwd)\" vendor/lib && git commit -qm submodule\nrm -rf ../u46sub.$$\nprintf '// local\\n' >> vendor/lib/server.js",
  checks=[dict(k="cmd", sh="git -C vendor/lib diff --stat | grep -c server.js", out="1"), dict(k="cmd", sh="grep -c helmet vendor/lib/server.js", out="0")], run="Fix the parent: it may change `server.js` only.")
C("U49", False, "git", "The01Geek/prflow#1217 evilmartians/lefthook!987 bmad-code-org/bmad-loop#783", "file names with spaces and non-ASCII letters",
  "Staged files called `café route.js` and `модуль.py`.",
  "Git printed them quoted (`\"caf\\303\\251...\"`), so the tool opened a name that does not exist; the files were silently skipped, or the hook failed.",
  "Use `-z` everywhere and split on NUL; pass paths after `--`.",
  {"src/café route.js": EXP, "src/модуль.py": 'TOKEN = "%s"\n' % GH_PAT, "src/-dash.js": EXP, "package.json": PKG},
  scan=[("express.helmet-missing", "src/café route.js"), ("secret.hardcoded", "src/модуль.py", "TOKEN"), ("express.helmet-missing", "src/-dash.js")], fix="engine", setup="git init -q -b main . && git add -A", checks=[dict(k="cmd", sh="ls src | wc -l | tr -d ' '", out="3")],
  run="Scan, and scan with staged files only: same three findings, real names in text, JSON and SARIF.")
C("U50", False, "git", "pre-commit/pre-commit#3303 antonbabenko/pre-commit-terraform!33", "two runs at the same time",
  "pre-commit splits the file list and starts the hook several times at once; or an editor and a terminal both run `fix`.",
  "Two processes wrote the same files; some ended with 0 bytes.",
  "The published hook sets `require_serial: true`; a lock per repository makes a second writer wait or stop with a clear message and its own exit code; a stale lock is recognised by pid.",
  {**{"src/f%02d.js" % i: EXP.replace("/health", "/h%02d" % i) for i in range(12)}, "package.json": PKG}, fix="engine", setup=INIT,
  checks=[dict(k="cmd", sh="find src -size 0 | wc -l | tr -d ' '", out="0"), dict(k="cmd", sh="for f in src/*.js; do node --check $f || echo bad; done", out=""), dict(k="cmd", sh="for f in src/*.js; do [ $(grep -c 'express()' $f) = 1 ] || echo twice; done", out="")], run="Start four fix runs in parallel, wait for all.")
C("U51", False, "git", "Gusto/committer#2 pre-commit/pre-commit#1977 linuxfoundation/insights!118 pre-commit/pre-commit#1099", "the hook does not stage what the user did not stage",
  "One hunk of a file is staged, another is not; the hook applies a fix.",
  "The tool ran `git add file` (or `git add .`) and committed half-finished work and unrelated files.",
  "Default: fix the working tree, leave the index alone, fail the commit and say what to do. An opt-in `--stage-fixed` may update the index only for files with no unstaged change.",
  {"server.js": EXP, "other.js": EXP, "package.json": PKG}, fix="engine",
  setup=INIT + "\nprintf '// ready\\n' >> server.js\ngit add server.js\nprintf 'HALF DONE(\\n' >> other.js\nprintf '// not ready\\n' >> server.js",
  checks=[dict(k="cmd", sh="git diff --cached --name-only", out="server.js"), dict(k="cmd", sh="git show :server.js | grep -c 'not ready'", out="0"), dict(k="contains", path="other.js", text="HALF DONE(")])
C("U52", False, "git", "gitpython-developers/GitPython#1616 git-lfs/git-lfs#5399", "git refuses the repository (dubious ownership)",
  "CI in a container: the checkout belongs to another uid.",
  "The git layer raised `SHA could not be resolved` deep in a library; nobody saw that `safe.directory` was the cause.",
  "Run one cheap git command first; pass on git's own message and the remedy; exit with the code for environment errors; do not change the user's git config. `scan` without git features still works.",
  {"server.js": EXP, "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], fix="engine", setup=INIT, checks=[dict(k="same", path="server.js")],
  run="Set `GIT_TEST_ASSUME_DIFFERENT_OWNER=1` (git's own switch for its tests). `fix` must refuse with the words `dubious ownership` or `safe.directory`; no traceback.")
C("U53", False, "git", "rust-lang/cargo#5737 rust-lang/cargo#14176 astral-sh/ruff#18449 codemod/codemod!1618", "dirty tree needs a word from the user",
  "Uncommitted changes; the user starts `fix` for the first time.",
  "The changes of the tool and of the user were mixed and could not be told apart. With cargo the reverse: two flags were needed for one wish.",
  "Default: refuse if a file that a fix would touch has uncommitted changes, list them; `--allow-dirty` permits it (staged changes included). Unrelated dirty files do not block. Outside git, say that there is no net and ask for a flag.",
  {"server.js": EXP, "README.md": "demo\n", "package.json": PKG}, scan=[("express.helmet-missing", "server.js")], fix="engine", setup=INIT + "\nprintf '// mine\\n' >> server.js\nprintf 'more\\n' >> README.md",
  checks=[dict(k="contains", path="server.js", text="// mine"), dict(k="contains", path="README.md", text="more")], run="`fix`: non-zero, names `server.js`, no edit. `fix --allow-dirty`: fixed, `// mine` still there.")
# ---- baseline, ignore
TOK = 'TOKEN = "%s"\n' % GH_PAT
C("U54", False, "ux", "Yelp/detect-secrets#602 PyCQA/bandit#511 Yelp/detect-secrets!586", "baseline made on Windows, used on Linux",
  "A baseline file whose paths have backslashes.",
  "No entry matched on the other system: every accepted finding came back in CI.",
  "Write paths with `/`, relative to the root; when reading, treat `\\` as `/` unless such a file really exists. The format is versioned.",
  {"src/conf/keys.py": TOK}, scan=[], clean=[("secret.hardcoded", "src/conf/keys.py")], run="1. make a baseline. 2. replace `/` by `\\\\` in its paths. 3. scan with it: no finding. 4. update it: paths are written with `/`.", checks=[dict(k="same", path="src/conf/keys.py")])
C("U56", False, "ux", "Yelp/detect-secrets!394 IBM/mcp-context-forge#5758 manavgup/wikimind#274", "baseline does not churn",
  "An accepted finding; then ten lines are added above it.",
  "The stored line number and a timestamp changed in every branch: merge conflicts in each PR, hooks that failed for no reason.",
  "Identity = rule + path + hash of the normalised matched line (+ ordinal), no line numbers needed to match, no timestamps, sorted, one entry per line group so that merges are clean; an unchanged result rewrites nothing.",
  {"keys.py": "# header\n" + TOK}, clean=[("secret.hardcoded", "keys.py")], run="Baseline; insert 10 blank lines at the top; scan with the baseline: no finding, the baseline file is byte-identical. Add a second, different token: exactly one new finding.", checks=[dict(k="same", path="keys.py")])
C("U57", False, "ux", "semgrep/semgrep!6157 fallow-rs/fallow#2066 semgrep/semgrep-action#406", "renamed file",
  "A file with an accepted finding is moved with `git mv`.",
  "Because the path is part of the identity, all old findings showed up as new in the pull request.",
  "If a baseline entry has no match at its path, try the same fingerprint in a renamed file (git's rename detection or equal content); a copy of the file is new.",
  {"old/keys.py": TOK}, setup=INIT, run="Baseline; `git mv old new`; scan with the baseline: no new finding. Then `cp new/keys.py new/copy.py`: one new finding.", clean=[("secret.hardcoded", "old/keys.py")])
C("U58", False, "ux", "semgrep/semgrep#3521 semgrep/semgrep#8172 ast-grep/ast-grep#1347", "where an inline ignore may stand",
  "Ignore comments at the end of the line, on the line before, and after the closing bracket where a formatter put it.",
  "Only one of the places worked; after auto-formatting the suppression silently stopped working.",
  "Accept: same line as the start, line before (comment only), and last line of a finding that spans lines. Needs a rule id; an ignore without effect is reported. A fixer never drops or moves one.",
  {"a.py": 'A = "%s"  # fixaudit: ignore[secret.hardcoded]\n# fixaudit: ignore[secret.hardcoded]\nB = "%s"\nC = connect(\n    "db",\n    "%s",\n)  # fixaudit: ignore[secret.hardcoded]\nD = 1  # fixaudit: ignore[secret.hardcoded]\nE = "%s"\n' % (GH_PAT, GH_PAT, GH_PAT, GH_PAT)},
  scan=[("secret.hardcoded", "a.py", "E = "), ("ignore.unused", "a.py", "D = 1")], clean=[("secret.hardcoded", "a.py", "A = "), ("secret.hardcoded", "a.py", "B = ")], fix="either", checks=[dict(k="count", path="a.py", text="fixaudit: ignore[", n=4)], notes="The comment syntax is a stand-in for the project's own.")
