#!/bin/bash
# fixture.sh HOME HOST WT OUT lays out what the calls of cases.jsonl speak of: a home, a repository, a worktree
# of it with a little work in Go, node, Python, Rust and C, and another directory outside.
set -euo pipefail
rustup=${RUSTUP_HOME:-$HOME/.rustup}
export HOME=$1 GIT_CONFIG_NOSYSTEM=1
host=$2 wt=$3 out=$4
mkdir -p "$HOME"/{.claude,.config/go,.config/pip,.cache/tool,.cargo,.npm,.ssh,.local/bin,go/bin} "$out"/{keep,drop} \
	"${host%/*}" "${wt%/*}"
if [ -d "$rustup" ]; then ln -s "$rustup" "$HOME/.rustup"; fi
git config --global user.name Ada
git config --global user.email ada@example.com
git config --global init.defaultBranch main
echo 'alias ll="ls -l"' >"$HOME/.bashrc"
echo '{}' >"$HOME/.claude/settings.json"
echo 'ssh-ed25519 AAAA ada' >"$HOME/.ssh/authorized_keys"
echo cached >"$HOME/.cache/tool/one"
printf '#!/bin/sh\necho tool\n' >"$HOME/go/bin/tool"
chmod +x "$HOME/go/bin/tool"
echo 'a diary' >"$out/diary.txt"
printf '%s\n' one two three >"$out/keep/rows.csv"
sqlite3 "$out/keep/rows.db" 'create table rows (n)' 2>/dev/null || :
git init -q "$out/lib"
(cd "$out/lib" && echo lib >lib.txt && git add . && git commit -qm lib)

git init -q "$host"
cd "$host"
mkdir -p calc cmd/calc web/lib py/shapes py/tests rs/src c docs
printf 'module example.com/calc\n\ngo 1.21\n' >go.mod
printf 'package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n' >calc/calc.go
printf 'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n' \
	>calc/calc_test.go
printf 'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/calc/calc"\n)\n\nfunc main() { fmt.Println(calc.Add(2, 3)) }\n' \
	>cmd/calc/main.go
cat >web/package.json <<'END'
{"name": "web", "version": "1.0.0", "private": true, "main": "lib/index.js",
 "scripts": {"build": "node build.js", "test": "node --test", "prepare": "echo prepared"}}
END
echo 'exports.twice = n => 2 * n' >web/lib/index.js
printf 'const fs = require("fs")\nfs.mkdirSync("dist", {recursive: true})\nfs.copyFileSync("lib/index.js", "dist/index.js")\n' \
	>web/build.js
printf 'const t = require("node:test")\nconst a = require("assert")\nt("twice", () => a.equal(require("./lib").twice(2), 4))\n' \
	>web/index.test.js
echo 'def area(a, b): return a * b' >py/shapes/__init__.py
printf 'import unittest\nfrom shapes import area\n\nclass T(unittest.TestCase):\n    def test_area(self): self.assertEqual(area(2, 3), 6)\n' \
	>py/tests/test_area.py
touch py/tests/__init__.py
printf '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n' >rs/Cargo.toml
printf 'pub fn half(n: u32) -> u32 { n / 2 }\n\n#[test]\nfn halves() { assert_eq!(half(4), 2) }\n' >rs/src/lib.rs
printf '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n' >c/hi.c
printf 'all: hi\nhi: c/hi.c\n\tcc -o $@ $<\nclean:\n\trm -f hi\n' >Makefile
printf '%s\n' '# calc' '' 'A calculator.' >README.md
echo 'how to' >docs/how.md
printf 'hi\nweb/dist\nweb/node_modules\nrs/target\n__pycache__\n.cco/\n' >.gitignore
git add .
git commit -qm 'first'
git tag v1
for n in 2 3 4 5; do
	echo "step $n" >>docs/how.md
	git commit -qam "step $n"
done
git branch release HEAD~2
git branch topic HEAD~1
git remote add origin https://git.invalid/calc.git
git notes add -m 'seen' HEAD
echo stashed >>docs/how.md
git stash -q
git worktree add -q "$out/second" topic
git worktree add -q -b task "$wt"
cd "$wt"
echo 'from the task' >>README.md
git commit -qam 'task: begin'
echo unfinished >>docs/how.md
echo scratch >scratch.txt
echo mine >>"$host/README.md"
