package table

// rows is what the guard knows of programs, one row for a name or a family of names. The first name is the family's;
// code that judges one asks for that. It is laid out by the compiler and costs nothing at start.
var rows = [...]Row{
	{As: ToolRow, names: " git ", does: "is a language of its own: repository, configuration, refs and paths are judged"},
	{As: ToolRow, names: " cp gcp install ginstall ", does: "reads all operands but the last, which it writes",
		opts: "-tSmgo= --target-directory= --suffix= --mode= --group= --owner="},
	{As: ToolRow, names: " mv gmv rename ",
		does: "moves all operands to the last", opts: "-tS= --target-directory= --suffix="},
	{As: ToolRow, names: " ln gln link symlink ", does: "links; the target of a link must lie inside"},
	{As: ToolRow, names: " rm grm rmdir unlink shred srm trash trash-put rimraf del-cli wipe ",
		does: "removes its operands", opts: "-nsg= --random-source= --size= --iterations= --glob=", Rest: RemoveOperands},
	{As: ToolRow, names: " mkdir gmkdir ", does: "makes its operands"},
	{As: ToolRow, names: " chmod chown chgrp gchmod ",
		does: "changes its operands", opts: "--reference=", Rest: WriteOperands},
	{As: ToolRow, names: " touch truncate tee mkfifo mknod sponge fallocate ",
		does: "writes its operands", opts: "-rdtsolm= --reference= --date= --time= --size= --mode=", Rest: WriteOperands},
	{As: ToolRow, names: " dd ", does: "writes of=", Rest: StandardOperands},
	{As: ToolRow, names: " rsync ", does: "writes its last operand",
		opts: "-e! --rsh! --rsync-path! --log-file> --backup-dir> --partial-dir> -T> --temp-dir> --write-batch> " +
			"-BfM= --filter= --suffix= --chmod= --timeout= --max-size= --exclude= --include= --files-from= " +
			"--exclude-from= --compare-dest= --link-dest=",
		Rest: WriteLast, Looks: "-n --dry-run --list-only", Moves: "--remove-source-files"},
	{As: ToolRow, names: " scp sftp ", does: "writes its last operand", opts: "-S! -cDFiJloPX=", Rest: WriteLast},
	{As: ToolRow, names: " tar gtar bsdtar ", does: "reads or writes by its mode",
		opts: "-IF! --use-compress-program! --to-command! --rsh-command! --info-script! --new-volume-script! " +
			"--checkpoint-action~" + tarValues},
	{As: ToolRow, names: " tar gtar bsdtar ", when: "-x|--extract|--get", does: "unpacks",
		opts: "-C> --directory> --one-top-level> -P# --absolute-names# -IF=" + tarValues, Rest: WriteOperands},
	{As: ToolRow, names: " tar gtar bsdtar ",
		when: "-c|-r|-u|-A|--create|--append|--update|--delete|--concatenate", does: "writes an archive",
		opts: "-f> --file> -IF=" + tarValues, Moves: "--remove-files"},
	{As: ToolRow, names: " zip ", does: "writes its first operand",
		opts: "+-TT! --unzip-command! -Ob> --out> --temp-path> -nPtxis= +-tt= +-ws=", Rest: WriteFirst, Moves: "-m|--move"},
	{As: ToolRow, names: " unzip bsdunzip ", does: "unpacks",
		opts: "-d> -Px= -:#", Rest: WriteButFirst, Looks: "-l -t -p -v -z -Z"},
	{As: ToolRow, names: " ssh-agent dircolors lesspipe opam fnm starship zoxide minikube thefuck keychain ",
		does: "prints settings, which are taken as harmless", Rest: StandardOperands},
	{As: ToolRow, names: " lcov genhtml ", opts: "-o> --output-file> --output-directory> -adber="},
	{As: ToolRow, names: " luarocks ", does: "builds", opts: "--tree>", Rest: StandardOperands},
	{As: ToolRow, names: " bazel bazelisk buck buck2 pants plz ",
		does: "builds; labels are no paths", Rest: JudgeOperands},
	{As: ToolRow, names: " sed gsed ", does: "edits operands with -i; its script may write and run",
		opts: "-e! --expression! -f< --file< -li*= --line-length="},
	{As: ToolRow, names: " make gmake bmake remake ", does: "runs a makefile", Rest: JudgeOperands,
		opts: "-C@ --directory@ -fI< --file< --makefile< --include-dir< -jlo= --jobs= --old-file= --what-if="},
	{As: ToolRow, names: " docker podman nerdctl ",
		when: "run|create|container run|container create", does: "runs a container",
		opts: "-v^ --volume^ --mount^ --cidfile>" + containerValues},
	{As: ToolRow, names: " docker podman nerdctl ",
		when: "cp|container cp", does: "copies from and into containers", Rest: WriteOperands},
	{As: ToolRow, names: " docker podman nerdctl ",
		when: "!run|create|container|cp|exec|ps|images|logs|inspect|info|version|stats|top|port|pull|push|tag|stop|start|" +
			"restart|rm|rmi|kill|wait|network|system|history|events",
		does: "works elsewhere", Reads: "build-arg label t tag e env target name platform",
		opts: "-fov~ -HcDl=", Ends: " exec run ", Rest: JudgeOptions},
	{As: ToolRow, names: " curl ", does: "fetches",
		opts: "-oDc> --output> --output-dir> --dump-header> --cookie-jar> --trace> --trace-ascii> --stderr> --etag-save> " +
			"--hsts> --alt-svc> --libcurl> -KTduHAebFXrmYyzUxEtQPwC= --data= --header= --request= --user= --write-out= " +
			"--form= --config= --upload-file= --url= --data-binary= --data-raw= --cacert= --cert= --key="},
	{As: ToolRow, names: " wget ", does: "fetches",
		opts: "-OPoa> --output-document> --directory-prefix> --output-file> --append-output> --save-cookies> " +
			"--warc-file> --use-askpass% -iUtTQwelADRB= --header= --post-data= --user= --password= --execute="},
	{As: ToolRow, names: " aria2c ", does: "fetches", opts: "-dol> --dir> --out> --log> -ij="},
	{As: ToolRow, names: " gcc g++ cc c++ clang clang++ ld as rustc tcc gfortran nvcc emcc em++ swiftc icx protoc ",
		does: "reads its operands; only options that name a place to look in may lead outside",
		opts: "-oJ> -C~ +-MF> +-MJ> +-MT= +-MQ=",
		Reads: "I L isystem iquote idirafter include imacros F B l sysroot isysroot Wl,-rpath D Wall x T " +
			"extern cfg std ffile-prefix-map fdebug-prefix-map fmacro-prefix-map remap-path-prefix target proto_path",
		Rest: JudgeOptions},
	{As: ToolRow, names: " go ", does: "builds and runs what lies in the workspace",
		opts: "+-C@ +-toolexec? +-exec? +-run= +-bench= +-skip= +-tags= +-fuzz= +-list=", Rest: JudgeOperands,
		Ends: " -args --args "},
	{As: ToolRow, names: " vim vi nvim ex gvim ed emacs emacsclient nano kak hx ",
		does: "writes its operands and runs its commands", Rest: JudgeOperands, Waits: "--batch -batch -es -Es"},
	{As: ToolRow, names: " sqlite3 psql mysql mariadb duckdb ",
		does: "writes by commands of the client, which may run too"},
	{As: ToolRow, names: " kill pkill killall skill ",
		does: "ends processes, but not those of the guard or of everybody"},
	{As: ToolRow, names: " apply_patch ", does: "writes the files that the patch names"},
	{As: ToolRow, names: " patch ",
		does: "writes its operands and what its input names; a path outside is denied wherever it stands",
		opts: "-d@ --directory@ -orB> --output> --reject-file> --prefix> -pDFgVYz= --strip= --fuzz=", Rest: JudgeOperands},
	{As: ToolRow, names: " kubectl oc ", does: "works elsewhere; cp writes its last operand",
		opts: "-o> --output> --output-directory> --dump> -fknlc= --filename= --kustomize= --namespace= --selector= " +
			"--container= --kubeconfig= --image=", Data: true, Rest: WriteLast, Ends: " -- "},
	{As: ToolRow, names: " gh glab ", does: "talks to a service",
		opts: "-btnFfSqm= --body-file= --notes-file= --jq= --field= --raw-field=", Rest: JudgeOperands, Data: true},
	{As: ToolRow, names: " aws ",
		does: "writes its last operand, if that is no name of the service", Data: true, Rest: WriteLast},
	{As: ToolRow, names: " gcloud az ",
		when: "!logging read", does: "works elsewhere", opts: "--command=", Rest: JudgeOperands},
	{As: ToolRow, names: " redis-cli ", does: "talks to a service: operands are names there", Rest: JudgeOptions},
	{As: ToolRow, names: " ssh-keygen ",
		does: "makes and signs keys", when: "!-l|-y|-F|-B", opts: "-f> -CNPtbaOIVnzmZDswrEY=", Rest: WriteOperands},
	{As: ToolRow, names: " xargs gxargs ", does: "runs the command behind it with what it reads"},
	{As: ToolRow, names: " find gfind bfs ",
		does: "looks below directories; -exec runs, -delete removes, -fprint writes"},
	{As: ToolRow, names: " fd fdfind ", does: "looks below directories; -x runs"},
	{As: ToolRow, names: " script ", does: "records a terminal",
		opts: "-c! --command! -OIBTmEo=", Rest: WriteOperands, Waits: "-c --command"},
	{As: ToolRow, names: " su runuser sg newgrp ", does: "is another user",
		opts: "-c! --command! -gGsw= --shell=", Rest: WriteOperands, Waits: "-c --command"},
	{As: ToolRow, names: " concurrently npm-run-all run-p run-s hyperfine ", does: "runs each operand as shell text",
		opts: "-nNwrmM= --names= --prefix= --prefix-colors= --prefix-length= --kill-others-on-fail= --max-processes= " +
			"--runs= --min-runs= --max-runs= --warmup= --shell~ --export-json> --export-csv> --export-markdown> -o> " +
			"--output>", Rest: TextOperands},
	{As: ToolRow, names: " nodemon air chokidar ",
		does: "runs a command when files change", opts: "-xc! --exec! --command!", Rest: JudgeOperands},
	{As: WrapperRow, names: " entr watchexec reflex ", does: "runs a command when files change",
		opts: "-sxc! --exec! --command! -ewi~ --ext~ --watch~ --ignore~ --delay~ --exts~"},
	{As: WrapperRow, names: " npx ", opts: "-c! --call! -p= --package= --registry= --cache~ --userconfig~"},
	{As: WrapperRow, names: " npm pnpm yarn bun ",
		does: "runs a package's script, and after exec a command; its settings in the home are denied",
		opts: "-C@ --prefix@ --cwd@ --dir@ -c! --call! -pwrF= --package= --workspace= --filter= --registry= " +
			"--userconfig~ --globalconfig~ --cache~ --modules-folder~ --global-folder~", Sub: "exec x dlx", Early: true},
	{As: ToolRow, names: " tmux screen zellij ",
		does: "runs its arguments in a terminal of its own", opts: "-c@ -e~ -tnsSLFxy=", Rest: TextOperands},
	{As: ToolRow, names: " ssh mosh ",
		does: "runs elsewhere, unless that is this machine", opts: "-E> -F< -BbcDeIiJLlmOopQRSWw="},
	{As: ToolRow, names: " expect ", does: "talks to programs", opts: "-c?", Rest: JudgeOperands},
	{As: ToolRow, names: " nc ncat netcat ", does: "talks to a service", opts: "-ec? --exec? --sh-exec?"},
	{As: ToolRow, names: " socat ", does: "talks to a service", Rest: JudgeOperands},
	{As: ToolRow, names: " start-stop-daemon ", does: "runs a program",
		opts: "-d@ --chdir@ -p> --pidfile> -O> --output>", Rest: JudgeOperands},
	{As: ToolRow, names: " nix-shell nix nix-build ", does: "makes an environment",
		opts: "-c! --run! --command! -o~ --out-link~ --to~ --store~ -pAI=", Rest: WriteOperands},
	{As: ToolRow, names: " gdb lldb ",
		does: "runs a program", opts: "+-ex? +-iex? --eval-command? --ex? -o? --one-line?", Rest: JudgeOperands,
		Waits: "-batch --batch"},
	{As: ToolRow, names: " dc ",
		does: "calculates; what stands behind ! is run", opts: "-e? --expression?", Rest: JudgeOperands,
		Waits: "-e -f --expression --file"},
	{As: WrapperRow, names: " nohup setsid chronic unbuffer catchsegv ccache sccache distcc fakeroot linux64 linux32 " +
		"busybox toybox dbus-run-session rlwrap eatmydata winpty proxychains proxychains4 torsocks tsocks uvx pnpx " +
		"bunx xvfb-run daemonize pipx ", opts: "-aoneupslE~ -c@ --server-args~ --from~ --with~ --python~"},
	{As: WrapperRow, names: " nice ionice ", opts: "-cnpPu~ --adjustment~ --class~ --classdata~"},
	{As: WrapperRow, names: " timeout gtimeout ", opts: "-ks~ --signal~ --kill-after~", Skip: 1},
	{As: WrapperRow, names: " flock ", does: "holds a lock file, which is written, and runs the command behind it",
		opts: "-c! --command! -wE~ --timeout~ --wait~ --conflict-exit-code~", Skip: 1},
	{As: WrapperRow, names: " stdbuf gstdbuf ", opts: "-ioe~ --input~ --output~ --error~"},
	{As: WrapperRow, names: " time gtime ", opts: "-o> -f~ --output> --format~"},
	{As: WrapperRow, names: " sudo doas pkexec ",
		opts: "-ugpCrtTUhac~ -DR@ --user~ --group~ --chdir@ --host~ --prompt~ --role~ --type~ --chroot@", Vars: true},
	{As: WrapperRow, names: " numactl ", opts: "-cpTPDmNCl~ --cpu-list~"},
	{As: WrapperRow, names: " taskset chrt setarch ", opts: "-cpTPDmNCl~ --cpu-list~", Skip: 1},
	{As: WrapperRow, names: " prlimit setpriv caffeinate arch choom cgexec cpulimit ", opts: "-twndvmpegl~"},
	{As: WrapperRow, names: " strace ltrace ", opts: "-o> -epPsauEbISUXO~ --output> --trace~ --attach~"},
	{As: WrapperRow, names: " valgrind firejail rr heaptrack kcov "},
	{As: WrapperRow, names: " watch ", opts: "-nqd~ --interval~", Rest: JoinedOperands},
	{As: WrapperRow, names: " systemd-run ",
		opts: "-pEHMut~ --unit~ --property~ --description~ --slice~ --setenv~ --working-directory@ --uid~ --gid~ " +
			"--on-calendar~ --on-active~"},
	{As: WrapperRow, names: " env genv ", opts: "-uP~ -C@ -S! --unset~ --chdir@ --split-string!", Vars: true},
	{As: WrapperRow, names: " cross-env cross-env-shell ", Vars: true},
	{As: WrapperRow, names: " env-cmd dotenv dotenvx doppler op chamber ", opts: "-fep~", Vars: true, Sub: "run exec"},
	{As: WrapperRow, names: " bundle poetry uv pipenv rye hatch pdm conda mamba micromamba mise asdf rbenv pyenv nodenv " +
		"rtx devbox flox pixi volta corepack fnm rustup ",
		does: "run and exec run the command behind them, in the directory of -C",
		opts: "-npm~ -C@ --directory@ --project@ --python~ --with~ --env~ --name~ --extra~ --group~ --package~ --using~",
		Sub:  "exec run x tool"},
	{As: languageRow, names: " sh bash dash zsh ksh ash mksh rbash fish yash posh csh tcsh osh oil ysh rc ion ",
		does: "runs shell text, which is followed; zsh by its own grammar", Lang: "shell",
		opts: "-oO= --rcfile< --init-file<"},
	{As: languageRow, names: " python pypy ipython jython micropython ", Lang: "python", opts: "-c! -mWXQ=", Last: "cm"},
	{As: languageRow, names: " node nodejs deno tsx ts-node qjs esno jsc d ", Lang: "javascript",
		opts: "-ep! --eval! --print! +-pe! -Ci= -r< --require< --import~ --loader< --experimental-loader<"},
	{As: languageRow, names: " perl raku ", Lang: "perl", opts: "-eE! -IMmxi*F*="},
	{As: languageRow, names: " ruby irb jruby crystal ", Lang: "ruby", opts: "-e! -IrCEi*F*="},
	{As: languageRow, names: " php ", Lang: "php", opts: "-rBRE! --run! -dcfzt="},
	{As: languageRow, names: " lua luajit texlua ", Lang: "lua", opts: "-e! -l="},
	{As: languageRow, names: " awk gawk mawk nawk original-awk ",
		does: "runs a program, which may write and run", Lang: "awk",
		opts: "-e! --source! -fE< --file< --exec< -Fvil= --assign= --field-separator= --include="},
	{As: languageRow, names: " tclsh wish Rscript R julia osascript elixir groovy scala guile swift pwsh powershell " +
		"sbcl clojure bb racket jshell octave ghc runghc ocaml erl swipl hy janet fennel maxima " +
		"gnuplot ghci kotlin scala-cli amm csi gsi ecl clisp newlisp wolframscript ",
		does: "runs program text, in which no path outside may stand but in what is printed or read", Lang: "other",
		opts: "+-e! +-c! +-E! --eval! +-eval! --execute! --expression! +-Command! +-command! +-g! --batch-string! " +
			"+-EncodedCommand# --EncodedCommand# +-encodedcommand# +-enc# +-ec# +-en# +-enco# +-encoded#"},
	{As: ReaderRow, names: " cat ls dir vdir head tail wc stat string file diff cmp comm join paste cut tr od " +
		"hexdump strings nm objdump readelf ldd size which whereis basename dirname realpath readlink pwd printenv " +
		"id whoami who w groups hostname uname date cal uptime df du free ps top htop lsof pgrep pidof " +
		"info apropos whatis locate ag ack jq md5sum sha1sum sha224sum sha256sum sha384sum sha512sum " +
		"b2sum cksum sum shasum md5 column fold fmt nl tac rev expand unexpand seq sleep tput tty stty " +
		"locale getconf lscpu lsblk lspci lsusb lsmod ss netstat ping dig nslookup host traceroute nproc " +
		"arch zcat bzcat xzcat zgrep zless bat batcat exa eza lsd hexyl cloc tokei scc shellcheck grep egrep " +
		"fgrep test [ true false yes env getent tsort factor numfmt pr uuidgen nc vmstat iostat mpstat dmesg " +
		"journalctl last ipcs pstree cmake-lint base32 base64 zipinfo ffprobe identify " +
		"mediainfo sw_vers sysctl logname users tldr diffstat colordiff delta difft " +
		"sha3sum tokenize gettext otool lipo codesign vercmp dpkg-query rpmquery rpm dpkg apt-cache " +
		"echo printf cd pushd popd : type command help wslpath cygpath test-path pkg-config ldconfig " +
		"lsb_release hostnamectl timedatectl loginctl whoami.sh pygmentize zdiff sdiff vimdiff look " +
		"strace-log-merge fc-list xdpyinfo mount findmnt swapon blkid zstdcat lzcat lz4cat gzcat bzgrep xzgrep zstdgrep " +
		"zegrep zfgrep zcmp bzless xzless gcat ghead gtail gls gwc gstat ggrep gcut gdu gdate grealpath greadlink gjoin " +
		"gcomm gpaste gseq gsha256sum gmd5sum ugrep rga wdiff dwdiff icdiff diff3 xxhsum xxh64sum crc32 lsattr getfattr " +
		"getfacl namei pmap pwdx lslocks soxi jpeginfo pngcheck pdfgrep fc-scan fc-query otfinfo mkvinfo " +
		"addr2line c++filt eu-readelf eu-nm llvm-nm llvm-readelf llvm-readobj llvm-objdump llvm-size llvm-strings " +
		"llvm-dwarfdump llvm-addr2line llvm-cxxfilt dwarfdump pahole bloaty checksec h5ls ncdump gdalinfo ogrinfo " +
		"sqldiff sqlite3_analyzer lsar isoinfo rpm2cpio catdoc antiword odt2txt mandoc perldoc uchardet chardetect " +
		"gojq datamash mdls mdfind jsondiff dyff expr bc basenc ascii2uni envsubst "},
	{As: ReaderRow, names: " sort iconv msgcat tree shuf uudecode ", opts: "-o> --output> --compress-program% -kStTfP="},
	{As: ReaderRow, names: " uniq xxd json.tool ",
		does: "reads its first operand and writes the second", opts: "-fswlcs=", Rest: WriteButFirst},
	{As: ReaderRow, names: " rg ", opts: "--pre~ -efgtT="},
	{As: ReaderRow, names: " less more most view ", opts: "-oO> --log-file> -P=", Waits: "--version"},
	{As: ReaderRow, names: " man ", opts: "-P? --pager?", Waits: "--version"},
	{As: ToolRow, names: " gzip gunzip bzip2 xz zstd ",
		does: "replaces its operands", opts: "-o> --output> -SuicCr=", Rest: WriteOperands, Moves: "--rm",
		Looks: "-c --stdout --to-stdout -l --list -t --test -o --output"},
	{As: ToolRow, names: " openssl gpg ", opts: "-o> --output> +-out> +-keyout> -uicCr= +-in= +-CAcreateserial="},
	{As: ReaderRow, names: " fuser ", opts: "-nM= --namespace=", Moves: "-k|--kill"},
	{As: UseRow, names: " actionlint b3sum basedpyright checkbashisms cpplint csvcut csvgrep csvjson csvlook csvsort " +
		"csvstat dua duf dust glow gron hadolint htmlhint javap jdeps jless jo jshint kube-linter kubeconform " +
		"kubeval luacheck lychee mado md5deep mdcat mdl ncdu pdffonts pdfinfo proselint protolint " +
		"pycodestyle pydocstyle pyflakes pyright radon rhash tflint tfsec vale vulture wasm-objdump " +
		"write-good yamllint zipgrep ajv bashate cfn-lint check-jsonschema chktex cmark conftest csvformat csvjoin " +
		"csvstack csvtool cwebp dive doc8 dsq dwebp ec gocloc graphtage h5dump hlint html2text htmlq in2csv jc jd " +
		"jscpd json-diff jsonschema jtbl kustomize lizard ls-lint lynx onefetch parquet-tools pqrs pup qrencode " +
		"redocly rstcheck rsvg-convert sloccount spectral sqlcheck squawk swagger-cli textql toml2json trufflehog " +
		"uplot vnu w3m xsltproc yamale yj zbarimg "},
	{As: UseRow, names: " gitleaks detect-secrets diffoscope jsonnet interrogate ",
		opts: "-mrg~ --baseline~ --html~ --text~ --json~"},
	{As: UseRow, names: " dot neato fdp sfdp twopi circo osage patchwork ", opts: "-o> -T=", Moves: "-O"},
	{As: UseRow, names: " rclone ", opts: "--combined> --differ> --missing-on-src> --missing-on-dst> --match> --error>",
		when: "ls|lsf|lsl|lsd|lsjson|size|cat|check|cryptcheck|md5sum|sha1sum|hashsum|tree|ncdu|about"},
	{As: UseRow, names: " rclone ", when: "copy|copyto|sync", Rest: WriteLast,
		opts: "--backup-dir> --log-file> -f= --filter= --exclude= --include= --filter-from= --exclude-from= --include-from="},
	{As: UseRow, names: " restic ", when: "backup|ls|snapshots|find|diff|stats|cat", opts: "-r~ --repo~ --cache-dir~"},
	{As: UseRow, names: " mlr ", when: "!-I|put|filter|tee|split|case|* then|* * then|* * * then", opts: "--from="},
	{As: UseRow, names: " xsv ", when: "!split|partition|index"},
	{As: UseRow, names: " qsv sox dpkg-deb plutil mutool avro-tools aapt aapt2 plantuml ",
		when: "headers|count|slice|select|search|table|flatten|sniff|--info|--contents|-lint|info|show|getschema|tojson|" +
			"getmeta|dump|-pipe"},
	{As: UseRow, names: " exiftool exiv2 ",
		Moves: "=|-overwrite_original|-tagsfromfile|-TagsFromFile|-w|rm|mv|ad|mo|in|fi|delete|insert|modify|rename"},
	{As: UseRow, names: " pdftotext pdftohtml pdftoppm pdfimages pdfseparate ps2pdf tesseract pod2text rst2html docx2txt ",
		when: "* *", does: "reads its first operand and writes the second",
		opts: "-flrcxyWHo= --tessdata-dir= --psm= --oem= --dpi=", Rest: WriteButFirst},
	{As: UseRow, names: " ffmpeg avconv ", does: "reads what -i names", opts: "+-i=", Rest: JudgeOperands},
	{As: UseRow, names: " bandit checkov checkstyle cppcheck flake8 grype osv-scanner pylint semgrep syft trivy " +
		"wasm2wat xmllint ", opts: "--file~", Moves: "--autofix|--fix"},
	{As: UseRow, names: " black isort rustfmt scalafmt sqlfmt stylua ", when: "--check|--check-only|--diff|--test|-c"},
	{As: UseRow, names: " 7z 7za 7zz ar gar jar unrar ", when: "l|t|i|p|tv|tf|tvf|--list"},
	{As: UseRow, names: " ruff ", when: "check|--check|--diff", Moves: "--fix|--fix-only|--unsafe-fixes|--add-noqa"},
	{As: UseRow, names: " clang-tidy ",
		opts: "+-export-fixes~ --export-fixes~", Moves: "-fix|--fix|-fix-errors|--fix-errors"},
	{As: UseRow, names: " ansible-lint djlint dotenv-linter eslint jsonlint ktlint markdownlint puppet-lint rubocop " +
		"standard stylelint textlint tidy zizmor ", opts: "-f~ +-output~",
		Moves: "--fix|-a|-A|--auto-correct|--autocorrect|--autocorrect-all|-x|fix|--reformat|-F|--format|-i|--in-place|-m|" +
			"-modify|-f"},
	{As: UseRow, names: " gofmt gofumpt goimports golines prettier shfmt codespell typos ",
		Moves: "-w|--write|--write-changes|-fix"},
	{As: UseRow, names: " yq dasel xq tomlq jaq autopep8 yapf clang-format xmlstarlet comby ast-grep sg ",
		Moves: "-i|--i|--in-place|-in-place|--inplace|-w|--write|put|delete|-L|-U|--update-all|--interactive"},
	{As: UseRow, names: " helm ", opts: "-d~ --post-renderer~ --kubeconfig~ --repository-config~ --registry-config~",
		Moves: "create|dependency update|dependency build|dep update|dep build"},
	{As: UseRow, names: " argocd flux istioctl eksctl doctl heroku nomad consul vault stern ",
		opts: "--kubeconfig~ --config~", Moves: "snapshot|operator snapshot|operator raft"},
	{As: ToolRow, names: " rspec jest vitest mocha pytest py.test ",
		does: "runs the tests of the workspace", Rest: JudgeOperands,
		opts: "-etgk= --example= --testNamePattern= --grep= --fgrep="},
	{As: ToolRow, names: " quarto papermill ", does: "runs notebooks", opts: "-P=", Rest: JudgeOperands},
	{As: ToolRow, names: " terraform tofu ", when: "!plan", does: "does as told", opts: "+-chdir@", Rest: JudgeOperands},
	{As: ToolRow, names: " terraform tofu ", when: "plan", does: "plans", opts: "+-chdir@ +-var=", Rest: JudgeOperands},
	{As: UseRow, names: " pandoc ", opts: "--extract-media~ --data-dir~ --lua-filter~ -FL~ --filter~"},
	{As: UseRow, names: " cue sqlfluff swiftlint taplo opa tsc keytool ",
		when: "lint|check|get|eval|vet|export|def|inspect|--noEmit|-list|-printcert"},
	{As: UseRow, names: " banner boxes clip.exe cowsay curlie dialog espeak figlet grpcurl jira kafkacat kcat linear " +
		"lolcat mail mailx mosquitto_pub mutt nats notify http https httpie ab hey wrk vegeta logger notify-send " +
		"pbcopy say sendmail slack terminal-notifier toilet wall " +
		"websocat whiptail wl-copy xclip xh xsel zenity ", does: "passes its arguments and input on as they are"},
	{As: SystemRow, names: " apt apt-get aptitude yum dnf zypper apk pacman brew port snap flatpak emerge pkg winget " +
		"choco ", does: "is denied unless it looks: it alters the machine", Alters: anything, opts: "--prefix=",
		Denial: TheMachine, Spared: "list|show|search|info|policy|depends|outdated|config|doctor|help|leaves|deps|madison"},
	{As: SystemRow, names: " dpkg rpm ", does: "reads, unless it installs or removes", Denial: TheMachine,
		Alters: "-i|-U|-e|-r|-P|--install|--remove|--purge|--erase|--upgrade", Spared: "-q|--query"},
	{As: SystemRow, names: " systemctl service launchctl initctl rc-service supervisorctl ",
		does: "is denied unless it looks", Alters: anything, Denial: TheMachine,
		Spared: "status|list-units|list-unit-files|is-active|is-enabled|show|cat|list|print|is-failed|* status"},
	{As: SystemRow, names: " crontab at batch ldconfig ",
		does: "is denied unless it looks", Alters: Always, Spared: "-l|-p", Denial: TheMachine},
	{As: SystemRow, names: " sysctl ",
		does: "reads, unless it sets", Alters: "-w|--write|-p|--load|=", Denial: TheMachine},
	{As: SystemRow, names: " date ",
		does: "reads, unless it sets the clock", opts: "-dfrIR= --date= --file= --reference=", Alters: "-s|--set",
		Denial: TheMachine},
	{As: SystemRow, names: " mount swapon ",
		does: "shows what is mounted; anything else is denied", Alters: anything, Denial: TheWorkspace},
	{As: SystemRow, names: " umount losetup mount.nfs sshfs fusermount bindfs pivot_root chroot nsenter unshare bwrap " +
		"proot switch_root systemd-nspawn swapoff overlayroot-chroot ",
		does: "is denied: it changes what the workspace is made of", Alters: Always, Denial: TheWorkspace},
	{As: SystemRow, names: " useradd userdel usermod groupadd groupdel adduser deluser passwd chpasswd chsh chfn visudo " +
		"vipw augtool reboot shutdown poweroff halt init telinit modprobe insmod rmmod mkfs mkswap fdisk parted sfdisk " +
		"wipefs iptables ip6tables nft ufw firewall-cmd update-alternatives update-rc.d setcap " +
		"xcode-select scutil csrutil nvram spctl tccutil setenforce semanage loadkeys hwclock netplan nmcli " +
		"swaplabel tune2fs resize2fs debugfs mkfs.ext4 mkfs.xfs cryptsetup lvcreate vgcreate pvcreate ",
		does: "is denied: it alters the machine", Alters: Always, Denial: TheMachine},
	{As: SystemRow, names: " defaults dconf gsettings kwriteconfig5 xdg-settings xdg-mime ",
		does: "is denied unless it looks: it keeps settings in the home", Alters: anything, Denial: TheHome,
		Spared: "read|get|list|list-keys|list-schemas|query|dump"},
	{As: SystemRow, names: " pip pip3 code codium ", does: "may not keep anything in the home", Denial: TheHome,
		Alters: "config set|config unset|config edit|--user|--break-system-packages|--install-extension|" +
			"--uninstall-extension"},
	{As: SystemRow, names: " ipykernel jupyter jupyter-kernelspec ", Denial: TheHome,
		Alters: "install --user|kernelspec install --user"},
	{As: SystemRow, names: " ansible ansible-playbook ", does: "may not become another user on this machine",
		opts: "-ciam= --connection=", Denial: TheMachine,
		Alters: "-b -c|--become -c|-b --connection=local|--become --connection=local|localhost -b|localhost --become"},
	{As: SystemRow, names: " poetry conda opam ", Denial: TheHome, Alters: "config * *", Spared: "--local|--list|--show"},
	{As: SystemRow, names: " composer bundle terraform cargo mise rtx asdf pyenv rbenv nodenv ",
		Denial: TheHome, Alters: "global *|config -g|config --global|login|logout|use -g|use --global"},
	{As: SystemRow, names: " helm ", Denial: TheHome, Alters: "repo|plugin", Spared: "* list"},
	{As: SystemRow, names: " go ", Denial: TheHome, Alters: "env -w|env -u|telemetry *"},
	{As: SystemRow, names: " docker podman nerdctl ",
		does: "may not open a way to the host", Denial: TheWorkspace, opts: containerValues,
		Alters: "--privileged|--device|--volumes-from|--pid=host|--ipc=host|--uts=host|--userns=host|--cap-add=all|" +
			"--cap-add=ALL|--cap-add=SYS*|--cap-add=CAP_SYS*"},
	{As: SystemRow, names: " docker podman nerdctl ", Denial: TheHome, Alters: "login|logout|context",
		Spared: "context ls|context list|context show|context inspect"},
	{As: SystemRow, names: " gh glab aws gcloud az kubectl oc ", Denial: TheHome,
		Alters: "auth login|auth logout|auth setup-git|config set*|config use*|config delete*|alias set|alias import|" +
			"extension install|configure*", Spared: "configure list|configure get"},
	{As: SystemRow, names: " npm pnpm bun yarn ", Denial: TheHome,
		Alters: "-g|--global|--location=global|--location=user|-ig|config set|config delete|config edit|set|login|" +
			"adduser|logout|link|unlink|global",
		Spared: "ls|list|root|prefix|outdated|config get|bin|--location=project|link .*|global list|global bin|global dir|" +
			"exec|dlx|x|run|test"},
	{As: SystemRow, names: " pre-commit lefthook ", does: "may not set up hooks", Alters: "install|uninstall",
		Denial: TheHooks},
	{As: SystemRow, names: " git-worktree git-replace git-sparse-checkout git-scalar ",
		does: "is denied unless it looks", Alters: anything, Spared: "list|-l|--list", Denial: TheRepository},
	{As: SystemRow, names: " git-gc git-prune git-repack git-pack-refs git-prune-packed git-filter-branch " +
		"git-filter-repo git-fast-import git-multi-pack-index git-commit-graph git-unpack-objects git-index-pack " +
		"git-pack-objects git-backfill git-refs ",
		does: "is denied: it changes objects and refs of the host", Alters: Always,
		Spared: "verify|exists|list|--dry-run|-n", Denial: TheRepository},
	{As: SystemRow, names: " git-reflog ",
		does: "reads, unless it changes what is kept", Alters: "expire|delete|drop", Denial: TheRepository},
	{As: SystemRow, names: " git-notes ",
		does: "is denied unless it looks", opts: "-F~ --file~" + gitTexts, Denial: TheRepository,
		Alters: anything, Spared: "show|list|get-ref"},
	{As: SystemRow, names: " git-lfs git-flow git-svn git-p4 ",
		does: "may not be set up", Alters: "install|uninstall|init", Denial: TheRepository},
	{As: SystemRow, names: " git-maintenance git-for-each-repo git-hook git-instaweb git-daemon git-http-backend " +
		"git-shell git-cvsserver git-remote-ext git-remote-fd ",
		does: "is denied: it reaches beyond the repository", Alters: Always, Denial: OtherOnes},
	{As: SystemRow, names: " git-credential git-credential-store git-credential-cache ",
		Denial: TheHome, Alters: Always, Spared: "fill|get"},
	{As: SystemRow, names: " git-tag ", does: "may list tags, but not make or remove any", Denial: TheRefs,
		opts:   "-F~ --file~ -mun= --column= --local-user=" + gitTexts,
		Alters: "*|-d|--delete",
		Spared: "-l|--list|-n|--contains|--no-contains|--merged|--no-merged|--points-at|--sort|--format|-v|--verify|" +
			"--column"},
	{As: SystemRow, names: " git-branch ", does: "may make branches, but not remove or move others", Denial: TheRefs,
		opts:   "-u= --set-upstream-to= --column= --abbrev=" + gitLongTexts,
		Alters: "-d|-D|--delete|-m|-M|--move|-c|-C|--copy",
		Looks: "-l --list -a --all -r --remotes -v -vv --show-current --contains --no-contains --merged --no-merged " +
			"--points-at --format --sort --column"},
	{As: SystemRow, names: " git-branch ", does: "may not set up branches", Denial: TheSettings,
		Alters: "-u|--set-upstream-to|--unset-upstream|--edit-description|-t|--track"},
	{As: SystemRow, names: " git-stash ", does: "may not make branches", Denial: TheRefs, Alters: "branch"},
	{As: SystemRow, names: " git-rebase ",
		does: "moves the branch it is on, but no others", Denial: TheRefs, Alters: "--update-refs",
		opts: "-x! --exec! -sXCS= --onto= --strategy= --strategy-option= --empty= --whitespace="},
	{As: SystemRow, names: " git-update-ref git-symbolic-ref ",
		does: "moves the branch of the workspace, but removes none", Denial: TheRefs, Alters: "--stdin|-d|--delete",
		opts: "-m="},
	{As: SystemRow, names: " git-remote ",
		does: "is denied unless it looks", Denial: TheSettings, opts: "-tm=", Alters: anything,
		Spared: "show|get-url|update|prune"},
	{As: SystemRow, names: " git-log git-diff git-show git-status ",
		does: "reads, as other subcommands of git do; paths must lie inside", opts: "-O~" + gitTexts},
	{As: SystemRow, names: " git-commit git-merge ", does: "moves the branch it is on", opts: "-F~ --file~" + gitTexts},
	{As: SystemRow, names: " git-blame git-ls-files ", does: "reads; paths must lie inside", opts: "-SX~ -L="},
	{As: SystemRow, names: " git-checkout git-switch ", does: "may make branches, but not move others", Denial: TheRefs,
		Alters: "-t|--track", Spared: "-b|-c|--create|--orphan",
		opts: "-bBcC= --orphan= --create= --force-create= --conflict= --source="},
	{As: SystemRow, names: " git-grep ",
		does: "reads; its first operand is a pattern", opts: "-O*! --open-files-in-pager! -eCABmf="},
	{As: SystemRow, names: " git-difftool ", does: "starts a program", opts: "-x! --extcmd! -t= --tool="},
	{As: SystemRow, names: " git-send-email ",
		does: "starts a program", opts: "--smtp-server! --sendmail-cmd!" + gitTexts},
	{As: SystemRow, names: " git-archive git-format-patch git-apply git-am git-bundle git-checkout-index git-read-tree ",
		does: "writes what -o names; paths must lie inside", opts: "-o~ --exec! -mSGb=" + gitLongTexts},
	{As: SystemRow, names: " git-clone git-init git-submodule ", does: "makes a repository",
		opts: "-u! --upload-pack! -c& --config& --reference~ --template~ --separate-git-dir~ -boj= --branch= --origin= " +
			"--initial-branch= --object-format= --depth= --jobs= --name="},
	{As: SystemRow, names: " git-push git-fetch git-pull git-fetch-pack git-ls-remote ",
		does: "may reach repositories over the network, and moves no refs of the host",
		opts: "--receive-pack! --upload-pack! --exec! -jo= --repo= --push-option= --recurse-submodules= --signed= --depth= " +
			"--shallow-since= --refmap= --server-option= --negotiation-tip= --strategy="},
	{As: SystemRow, names: " git-config ", does: "looks, and in a repository that is not shared sets what runs nothing",
		Alters: "* *|--unset|--unset-all|--remove-section|--edit|-e|--add|edit",
		Spared: "get|list|get-color|--get|--get-all|--get-regexp|--get-urlmatch|--list|-l|--get-color|--get-colorbool",
		opts:   "-f~ --file~ -t= --blob= --type= --default= --value= --comment= --url="},
	{As: SystemRow, names: " ssh-keygen ",
		does: "may not make keys in the home", Denial: TheHome, Alters: Always, Spared: "-f|-l|-y|-F"},
	{As: SystemRow, names: " ssh-copy-id ", does: "is denied", Denial: TheHome, Alters: Always},
}

// tarValues and containerValues are options with a value of which no more is to be known.
const (
	tarValues = " -fCTXbgHVKNL= --file= --directory= --files-from= --exclude= --exclude-from= --transform= " +
		"--one-top-level= --owner= --group= --mtime="
	containerValues = " -HDepuwmlhac= --host= --context= --config= --log-level= --name= --network= --net= --env= " +
		"--env-file= --workdir= --user= --entrypoint= --publish= --platform= --memory= --cpus= --label= --add-host= " +
		"--cap-add= --cap-drop= --device= --hostname= --restart= --security-opt= --shm-size= --tmpfs= --ulimit= " +
		"--pull= --pid= --ipc= --uts= --userns= --gpus= --link= --expose= --log-driver= --health-cmd= " +
		"--stop-signal= --volumes-from= --init-path= --runtime="
)

// gitTexts are the options of git's subcommands whose value is text, not a path.
const (
	gitTexts     = " -mSGeCcULnMBXl=" + gitLongTexts
	gitLongTexts = " --message= --grep= --author= --committer= --format= --pretty= --date= --since= --until= --after= " +
		"--before= --sort= --contains= --no-contains= --merged= --no-merged= --points-at= --trailer= --fixup= --squash= " +
		"--reuse-message= --reedit-message= --max-count= --skip= --diff-filter= --word-diff-regex= --glob= --branches= " +
		"--tags= --exclude= --strategy= --strategy-option= --onto= --source= --branch= --origin= --depth= " +
		"--inter-hunk-context= --unified= --color= --encoding= --cleanup= --subject= --in-reply-to= --to= --cc="
)
