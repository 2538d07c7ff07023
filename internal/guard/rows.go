package guard

import (
	"sort"
	"strings"
)

// row is what is known of a program. A program without a row may do anything
// with a path that it is given.
type row struct {
	name string
	// reads says when operands are only read: "*" for always, or the words of
	// which one has to be given.
	reads string
	// edits are the options with which operands are written after all.
	edits string
	// writes are options whose value is written, beside those whose name says so.
	writes string
	// data says that arguments and input are passed on as they are.
	data bool
}

// rowFor finds the row of a program.
func rowFor(name string) *row {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].name >= name })
	if i == len(rows) || rows[i].name != name {
		return nil
	}
	return &rows[i]
}

// has says whether one of words, which are divided by blanks, is an argument.
func hasWord(argv []arg, words string) bool {
	for _, a := range argv[1:] {
		v, _, _ := strings.Cut(a.prefix(), "=")
		for _, w := range strings.Fields(words) {
			if v == w {
				return true
			}
		}
	}
	return false
}

// byRow judges a program by its row; false if the row says nothing of this use.
func (s *shell) byRow(name string, argv []arg) bool {
	r := rowFor(name)
	if r == nil || !r.data && (r.reads != "*" && !hasWord(argv, r.reads) || hasWord(argv, r.edits)) {
		return false
	}
	for i := range argv[1:] {
		option := optionOf(argv, i+1)
		if option == "" || strings.HasPrefix(argv[i+1].prefix(), "-") && !strings.Contains(argv[i+1].prefix(), "=") && !strings.Contains(argv[i+1].prefix(), "/") {
			continue
		}
		if option != "d" && s.namesOutput(option) || strings.Contains(" "+r.writes+" ", "-"+option+" ") {
			s.argument(argv, i+1)
		}
	}
	s.print(unknown(dynamic))
	return true
}

// rows are in the order of their names.
var rows = [...]row{
	{name: "7z", reads: "l t i"},
	{name: "7za", reads: "l t i"},
	{name: "7zz", reads: "l t i"},
	{name: "actionlint", reads: "*"},
	{name: "ar", reads: "t p tv"},
	{name: "ast-grep", reads: "*", edits: "-U --update-all -i --interactive"},
	{name: "autopep8", reads: "*", edits: "-i --in-place"},
	{name: "b3sum", reads: "*"},
	{name: "bandit", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "banner", data: true},
	{name: "basedpyright", reads: "*"},
	{name: "black", reads: "--check --diff"},
	{name: "boxes", data: true},
	{name: "checkbashisms", reads: "*"},
	{name: "checkov", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "checkstyle", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "clang-format", reads: "*", edits: "-i --i"},
	{name: "clang-tidy", reads: "*", edits: "-fix --fix -fix-errors --fix-errors", writes: "-export-fixes --export-fixes"},
	{name: "clip.exe", data: true},
	{name: "codespell", reads: "*", edits: "-w --write-changes"},
	{name: "comby", reads: "*", edits: "-i -in-place"},
	{name: "cowsay", data: true},
	{name: "cppcheck", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "cpplint", reads: "*"},
	{name: "csvcut", reads: "*"},
	{name: "csvgrep", reads: "*"},
	{name: "csvjson", reads: "*"},
	{name: "csvlook", reads: "*"},
	{name: "csvsort", reads: "*"},
	{name: "csvstat", reads: "*"},
	{name: "curlie", data: true},
	{name: "dialog", data: true},
	{name: "djlint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "dua", reads: "*"},
	{name: "duf", reads: "*"},
	{name: "dust", reads: "*"},
	{name: "eslint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "espeak", data: true},
	{name: "figlet", data: true},
	{name: "flake8", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "gar", reads: "t p tv"},
	{name: "glow", reads: "*"},
	{name: "gofmt", reads: "*", edits: "-w --write -fix"},
	{name: "gofumpt", reads: "*", edits: "-w --write -fix"},
	{name: "goimports", reads: "*", edits: "-w --write -fix"},
	{name: "golines", reads: "*", edits: "-w --write -fix"},
	{name: "gron", reads: "*"},
	{name: "grpcurl", data: true},
	{name: "grype", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "hadolint", reads: "*"},
	{name: "htmlhint", reads: "*"},
	{name: "isort", reads: "--check --check-only -c --diff"},
	{name: "jar", reads: "tf tvf t --list l p"},
	{name: "javap", reads: "*"},
	{name: "jdeps", reads: "*"},
	{name: "jira", data: true},
	{name: "jless", reads: "*"},
	{name: "jo", reads: "*"},
	{name: "jshint", reads: "*"},
	{name: "jsonlint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "kafkacat", data: true},
	{name: "kcat", data: true},
	{name: "keytool", reads: "-list -printcert"},
	{name: "ktlint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "kube-linter", reads: "*"},
	{name: "kubeconform", reads: "*"},
	{name: "kubeval", reads: "*"},
	{name: "linear", data: true},
	{name: "lolcat", data: true},
	{name: "luacheck", reads: "*"},
	{name: "lychee", reads: "*"},
	{name: "mado", reads: "*"},
	{name: "mail", data: true},
	{name: "mailx", data: true},
	{name: "markdownlint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "md5deep", reads: "*"},
	{name: "mdcat", reads: "*"},
	{name: "mdl", reads: "*"},
	{name: "mosquitto_pub", data: true},
	{name: "mutt", data: true},
	{name: "nats", data: true},
	{name: "ncdu", reads: "*"},
	{name: "notify", data: true},
	{name: "opa", reads: "eval check inspect"},
	{name: "osv-scanner", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "pandoc", reads: "*", writes: "--extract-media --data-dir --lua-filter -F --filter -L"},
	{name: "pbcopy", data: true},
	{name: "pdffonts", reads: "*"},
	{name: "pdfinfo", reads: "*"},
	{name: "prettier", reads: "*", edits: "-w --write -fix"},
	{name: "proselint", reads: "*"},
	{name: "protolint", reads: "*"},
	{name: "pycodestyle", reads: "*"},
	{name: "pydocstyle", reads: "*"},
	{name: "pyflakes", reads: "*"},
	{name: "pylint", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "pyright", reads: "*"},
	{name: "radon", reads: "*"},
	{name: "rhash", reads: "*"},
	{name: "rubocop", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "ruff", reads: "check --check --diff", edits: "--fix --fix-only --unsafe-fixes --add-noqa"},
	{name: "rustfmt", reads: "--check --test -c"},
	{name: "say", data: true},
	{name: "scalafmt", reads: "--check --test -c"},
	{name: "semgrep", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "sendmail", data: true},
	{name: "sg", reads: "*", edits: "-U --update-all -i --interactive"},
	{name: "shfmt", reads: "*", edits: "-w --write -fix"},
	{name: "slack", data: true},
	{name: "sqlfluff", reads: "lint check get"},
	{name: "sqlfmt", reads: "--check --test -c"},
	{name: "standard", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "stylelint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "stylua", reads: "--check --test -c"},
	{name: "swiftlint", reads: "lint check get"},
	{name: "syft", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "taplo", reads: "lint check get"},
	{name: "terminal-notifier", data: true},
	{name: "textlint", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "tflint", reads: "*"},
	{name: "tfsec", reads: "*"},
	{name: "tidy", reads: "*", edits: "--fix -a -A --auto-correct --autocorrect --autocorrect-all -x --reformat -F --format -i --in-place -m -modify -f", writes: "-f -output"},
	{name: "toilet", data: true},
	{name: "trivy", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "tsc", reads: "--noEmit"},
	{name: "typos", reads: "*", edits: "-w --write-changes"},
	{name: "unrar", reads: "tf tvf t --list l p"},
	{name: "vale", reads: "*"},
	{name: "vulture", reads: "*"},
	{name: "wall", data: true},
	{name: "wasm-objdump", reads: "*"},
	{name: "wasm2wat", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "websocat", data: true},
	{name: "whiptail", data: true},
	{name: "wl-copy", data: true},
	{name: "write-good", reads: "*"},
	{name: "xclip", data: true},
	{name: "xh", data: true},
	{name: "xmllint", reads: "*", edits: "--autofix --fix", writes: "--file"},
	{name: "xmlstarlet", reads: "*", edits: "-L --inplace"},
	{name: "xsel", data: true},
	{name: "yamllint", reads: "*"},
	{name: "yapf", reads: "*", edits: "-i --in-place"},
	{name: "zenity", data: true},
	{name: "zipgrep", reads: "*"},
}
