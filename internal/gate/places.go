package gate

// place is where something takes hold without anybody deciding to run it, or is worth a word. Any change there counts:
// added, changed, removed, moved in or away, made executable, turned into a link. Only a complete and strict parse can
// lower it, when all that has changed are keys that the row names; every other key keeps the row's answer.
type place struct {
	kind   Kind // "" for a place that is known, and harmless
	at     string
	says   string   // what takes hold, and when
	answer Response // if not the kind's
	danger Danger   // if not the kind's
	read   reader   // how its keys are read; nil if nothing lowers it
	keys   []key
	vague  bool // its name says nothing of which tool
	agents bool // what the roster of agents names belongs here too
}

// key is what a row knows of keys in a file. The first that fits counts.
type key struct {
	paths  string // parts apart by slashes; a star is any one part or a piece of it, two at the end any number
	kind   Kind   // "" for a harmless one
	says   string
	answer Response // if not the kind's
}

func (p *place) response() Response {
	if p.answer != "" {
		return p.answer
	}
	if p.kind == "" {
		return Tell
	}
	return p.kind.row().response
}

const depsOf = "dependencies"

// places are those that ask.
var places = [...]place{
	// on install: code that nothing lowers
	{kind: "", at: "gemfile.lock *.gemfile.lock gems.locked"},
	{kind: "install", at: `hatch_build.py *.podspec *.rockspec pre-link.* post-link.* pre-unlink.* recipe/build.*
		recipe/meta.yaml
		conda.recipe/ recipe/recipe.yaml setup.py build.rs extconf.rb *.gemspec binding.gyp *.gypi *.gyp`,
		says: "is code that runs when the package is installed"},
	{kind: "install", at: `.pnpmfile.cjs .pnpmfile.mjs pnpmfile.js pnpmfile.cjs yarn.config.cjs constraints.pro
		.yarn/plugins/ .yarn/releases/ .yarn/patches/`, says: "the package manager runs it at every install"},
	{kind: "install", at: `sitecustomize.py usercustomize.py *.pth *.egg-link`, says: "Python runs it at every start"},
	{kind: "install", at: `/install.sh scripts/install.sh script/install.sh tools/install.sh hack/install.sh bin/install.sh
		/install /setup /bootstrap bootstrap.sh setup.sh /install.ps1 scripts/install.ps1 setup.ps1 bootstrap.ps1 /install.bat
		setup.bat /install.cmd postinstall.js postinstall.cjs postinstall.mjs postinstall.ts
		postinstall.sh postinstall.py preinstall.js preinstall.cjs preinstall.mjs preinstall.sh brewfile .brewfile
		bin/setup bin/bootstrap script/setup script/bootstrap scripts/setup scripts/bootstrap script/install`,
		says: "is what a person or a script runs to install the project"},
	{kind: "install", at: `*.spec pkgbuild apkbuild *.nsi *.iss *.wxs *.ebuild snapcraft.yaml
		*.pkg.tar hooks/build deps/build.jl makefile.pl build.pl *.nimble setup.hs hook/build.dart
		ext/**rakefile`, says: "runs when the package is installed"},
	{kind: "install", at: `gemfile gemfile.* gems.rb`, says: "is code that bundler runs at every install",
		read: readGemfile, keys: []key{{"gem/**", depsOf, "", ""}, {"plain/**", "", "", ""},
			{"source/**", "packages", "decides where gems come from", ""}}},
	{kind: "install", at: `podfile berksfile puppetfile mintfile cpanfile`,
		says: "is code that runs when the packages are installed"},
	{kind: "install", at: `setup.cfg`, says: "runs or decides what runs when the package is installed", read: readINI,
		keys: []key{
			{`metadata/name metadata/version metadata/description metadata/long_description metadata/author
				metadata/author_email metadata/maintainer metadata/maintainer_email metadata/url metadata/license
				metadata/classifiers metadata/keywords metadata/project_urls metadata/license_files metadata/platforms
				metadata/long_description_content_type metadata/license_file options/python_requires options/zip_safe
				metadata/long_description/file options/include_package_data bumpversion/** bumpversion:*/**`, "", "", ""},
			{"options/install_requires options/extras_require options.extras_require/**", depsOf, "", ""},
			{"tool:pytest/** coverage:*/** tox:*/** testenv/**", "test", "decides what tests run, and what runs with them", ""},
			{"flake8/** mypy/** mypy-*/** isort/** pycodestyle/** pydocstyle/** pylint*/** yapf/** black/** pep8/**", "build",
				"linters read it", ""},
			{"options.entry_points/** options/scripts options/packages options.packages.find/** options.package_data/**",
				"build", "decides what is in the package", ""},
		}},
	{kind: "install", at: "package.json package.json5 package.yaml", read: readPackage,
		says: "npm and its like run or trust what is there at install", keys: []key{
			{`scripts/preinstall scripts/install scripts/postinstall scripts/prepare scripts/preprepare scripts/postprepare
				scripts/prepublish scripts/prepublishOnly scripts/prepack scripts/postpack scripts/dependencies
				scripts/predependencies scripts/postdependencies scripts/pnpm:* gypfile`, "install",
				"npm runs it at install or when packing", ""},
			{`husky/** lint-staged/** simple-git-hooks/** pre-commit/** pre-push/** gitHooks/** commitlint/** commitlint
				config/commitizen/** config/ghooks/** config/husky/** nano-staged/** scripts/pre-commit scripts/precommit
				scripts/prepush scripts/commitmsg scripts/pre-push ghooks/** yorkie/**`, "commit", "runs when you commit", ""},
			{`scripts/pretest* scripts/test* scripts/posttest* scripts/*:test scripts/coverage* scripts/e2e* jest/** ava/**
				mocha/** nyc/** c8/** tap/** vitest/** cypress/** jest`, "test", "npm test runs it", ""},
			{`scripts/** scripts wireit/** nx/** bin bin/** babel/** browserify/** eslintConfig/** stylelint/** prettier/**
				prettier postcss/** workspaces/** workspaces xo/** standard/** svelte/** parcel/** alias/** exports/** exports main
				module browser browser/** imports/** directories/** unpkg jsdelivr build/** nodemonConfig/** oclif/** release/**
				semantic-release/** contributes/** activationEvents/** engines/vscode size-limit/** config/** size-limit`,
				"build", "npm runs it, or it decides what is started", ""},
			{"publishConfig/** repository/directory", "packages", "decides where packages go", ""},
			{`dependencies/** devDependencies/** optionalDependencies/** peerDependencies/** overrides/** resolutions/**
				pnpm/overrides/** bundledDependencies/** bundleDependencies/** pnpm/patchedDependencies/** catalog/** catalogs/**
				peerDependenciesMeta/** dependencies devDependencies optionalDependencies peerDependencies
				pnpm/peerDependencyRules/** resolutions overrides bundleDependencies bundledDependencies`, depsOf, "", ""},
			{`name version description keywords/** keywords homepage bugs bugs/** license licenses/** author author/**
				contributors/** maintainers/** funding funding/** files/** files man man/** types typings typesVersions/**
				repository repository/type repository/url private type sideEffects sideEffects/** engines/** os/** cpu/** libc/**
				browserslist/** browserslist displayName categories/** icon publisher galleryBanner/** packageManager
				preferGlobal readme $schema source style sass umd:main esnext es2015 fesm2015 jsnext:main`, "", "", ""},
		}},
	{kind: "install", at: "composer.json", says: "composer runs or trusts what is there at install", read: readJSON,
		keys: []key{
			{"repositories/** minimum-stability prefer-stable config/secure-http", "packages",
				"decides where packages come from", ""},
			{"require/** require-dev/** replace/** provide/** conflict/** suggest/**", depsOf, "", ""},
			{"autoload/psr-4/** autoload/psr-0/** autoload-dev/** autoload/classmap/** bin/** scripts/test* scripts/lint*",
				"build", "decides what PHP loads", ""},
			{`name version description keywords/** homepage license license/** authors/** support/** funding/** type
				config/sort-packages config/platform/** config/optimize-autoloader config/preferred-install readme time
				extra/branch-alias/** scripts-descriptions/** abandoned archive/**`, "", "", ""},
		}},
	{kind: "install", at: "pnpm-workspace.yaml", says: "decides which packages may run scripts at install",
		read: readYAML, keys: []key{
			{`catalog/** catalogs/** overrides/** patchedDependencies/** peerDependencyRules/** packageExtensions/**`, depsOf,
				"", ""},
			{"packages/** packages", "build", "decides which directories are packages", ""},
			{`saveExact savePrefix linkWorkspacePackages autoInstallPeers strictPeerDependencies minimumReleaseAge
				minimumReleaseAgeExclude/** nodeLinker shamefullyHoist publicHoistPattern/** catalogMode cleanupUnusedCatalogs`,
				"packages", "decides how packages are installed", ""},
		}},
	{kind: "install", at: ".npmrc .pnpmrc", says: "decides what runs at every install", read: readINI, keys: []key{
		{`registry @* always-auth strict-ssl cafile ca proxy https-proxy noproxy ~1~1* save-exact engine-strict fund audit
			package-lock legacy-peer-deps strict-peer-dependencies auto-install-peers shamefully-hoist save-prefix loglevel
			progress public-hoist-pattern hoist hoist-pattern node-linker resolution-mode link-workspace-packages
			prefer-workspace-packages save-workspace-protocol access tag-version-prefix message init-* audit-level
			update-notifier min-release-age minimum-release-age lockfile prefer-offline fetch-* maxsockets color
			registry-supports-time-field use-lockfile-v6 dedupe-peer-dependents side-effects-cache`, "packages",
			"decides where packages come from and how they are installed", ""}}},
	{kind: "install", at: ".yarnrc.yml .yarnrc.yaml", says: "decides what yarn runs at every command", read: readYAML,
		keys: []key{{`npmRegistryServer npmScopes/** npmRegistries/** npmAuthToken npmAuthIdent npmAlwaysAuth
			npmPublishRegistry nodeLinker enableTelemetry enableGlobalCache compressionLevel defaultSemverRangePrefix
			npmPublishAccess httpProxy httpsProxy networkSettings/** unsafeHttpWhitelist/** enableStrictSsl caFilePath
			httpsCaFilePath nmHoistingLimits nmMode pnpMode pnpFallbackMode enableProgressBars checksumBehavior
			enableImmutableInstalls packageExtensions/** logFilters/** supportedArchitectures/** cacheFolder preferInteractive
			enableHardenedMode npmMinimalAgeGate`, "packages", "decides where packages come from", ""}}},
	{kind: "install", at: ".yarnrc .bowerrc", says: "decides what runs at every install"},
	{kind: "install", at: "pyproject.toml", says: "decides what runs when the package is installed", read: readTOML,
		keys: []key{
			{`tool/poetry/source/** tool/uv/index/** tool/uv/sources/** tool/uv/*index* tool/uv/find-links/** tool/pdm/source/**
				tool/uv/pip/** tool/rye/sources/** tool/pixi/project/channels/** tool/pixi/workspace/channels/** tool/uv/no-*
				tool/uv/prerelease tool/uv/resolution tool/uv/exclude-newer tool/uv/constraint-dependencies/**
				tool/uv/override-dependencies/**`, "packages", "decides where packages come from", ""},
			{`tool/pytest/** tool/tox/** tool/nox/** tool/hatch/envs/** tool/coverage/** tool/mutmut/** tool/hypothesis/**`,
				"test",
				"decides what tests run, and what runs with them", ""},
			{`project/dependencies/** project/dependencies project/optional-dependencies/** dependency-groups/**
				tool/poetry/dependencies/** tool/poetry/dev-dependencies/** tool/poetry/group/** tool/poetry/extras/**
				tool/pdm/dev-dependencies/** tool/uv/dev-dependencies/** tool/rye/dev-dependencies/** tool/pixi/dependencies/**
				tool/pixi/pypi-dependencies/** tool/pixi/feature/** tool/uv/dev-dependencies tool/flit/metadata/requires/**`,
				depsOf,
				"", ""},
			{`tool/poe/** tool/pdm/scripts/** tool/taskipy/** tool/rye/scripts/** tool/invoke/** tool/pixi/tasks/**
				tool/cibuildwheel/** tool/poetry/scripts/** project/scripts/** project/entry-points/** project/gui-scripts/**
				tool/poetry/plugins/** tool/semantic_release/** tool/commitizen/** tool/bumpversion/** tool/bumpver/**
				tool/poetry/packages/** tool/poetry/include/** tool/setuptools/packages/** tool/setuptools/package-*/**
				tool/uv/workspace/** tool/towncrier/** tool/mypy/plugins tool/mypy/plugins/** tool/pylint/** tool/pixi/workspace/**
				tool/mypy/mypy_path tool/pyright/** tool/basedpyright/** tool/djlint/** tool/pixi/project/**`, "build",
				"runs or is read when the project is built, checked or started", ""},
			{`project/name project/version project/description project/readme project/readme/** project/requires-python
				project/license project/license/** project/authors/** project/maintainers/** project/keywords/**
				project/classifiers/** project/urls/** project/license-files/** project/dynamic/** tool/poetry/name
				tool/poetry/version tool/poetry/description tool/poetry/authors/** tool/poetry/license tool/poetry/readme
				tool/poetry/homepage tool/poetry/repository tool/poetry/documentation tool/poetry/keywords/**
				tool/poetry/classifiers/** tool/poetry/urls/** tool/poetry/maintainers/** tool/poetry/package-mode tool/black/**
				tool/ruff/** tool/isort/** tool/mypy/** tool/codespell/** tool/docformatter/** tool/yapf/** tool/flake8/**
				tool/autopep8/** tool/interrogate/** tool/vulture/** tool/pydocstyle/** tool/bandit/** tool/typos/**
				tool/uv/package tool/uv/required-version tool/uv/default-groups/** tool/refurb/** tool/deptry/** tool/ty/**`,
				"", "",
				""},
		}},
	{kind: "install", at: "cargo.toml", says: "cargo runs what is named there when the crate is built or installed",
		read: readTOML, keys: []key{
			{"lib/proc-macro lib/proc_macro lib/plugin lib/path bin/** workspace/metadata/**", "build",
				"cargo builds or runs it", ""},
			{"patch/** replace/** source/** package/publish/**", "packages", "takes crates from elsewhere", ""},
			{`dependencies/** dev-dependencies/** build-dependencies/** target/*/dependencies/** target/*/dev-dependencies/**
				target/*/build-dependencies/** workspace/dependencies/**`, depsOf, "", ""},
			{`package/name package/version package/version/workspace package/authors/** package/edition package/edition/workspace
				package/description package/license package/license-file package/readme package/homepage package/repository
				package/documentation package/keywords/** package/categories/** package/rust-version package/rust-version/workspace
				package/publish package/exclude/** package/include/** package/default-run package/resolver package/autobins
				package/autotests package/autobenches package/autoexamples package/*/workspace package/metadata/docs/**
				features/** profile/** lints/** workspace/members/** workspace/exclude/** workspace/resolver workspace/package/**
				workspace/lints/** workspace/default-members/** lib/name lib/crate-type/** lib/doctest lib/bench lib/test lib/doc
				example/** bench/** test/** badges/** package/metadata/** lib/edition`, "", "", ""},
		}},
	{kind: "install", at: "bunfig.toml .bunfig.toml", says: "decides what bun runs at every start and install",
		read: readTOML, keys: []key{{"install/registry install/registry/** install/scopes/** install/production" +
			" install/optional" +
			" install/dev install/peer install/exact install/frozenLockfile install/minimumReleaseAge install/linker",
			"packages", "decides where packages come from", ""},
			{"test/coverage* test/timeout test/coverageThreshold/**", "test", "decides what tests run", ""}}},
	{kind: "install", at: ".bundle/config", says: "decides what bundler runs, and where gems come from"},
	{kind: "install", at: ".cargo/config .cargo/config.toml",
		says: "decides what cargo runs in place of the compiler", read: readTOML, keys: []key{
			{"alias/** net/** term/** registries/** registry/** source/** http/** profile/**", "packages",
				"decides where crates come from", ""}}},

	// on commit, checkout or push
	{kind: "commit", at: `.husky/ .githooks/ .git-hooks/ githooks/ git-hooks/ .git_hooks/ .hooks/ hooks/pre-commit
		hooks/pre-push hooks/commit-msg hooks/prepare-commit-msg hooks/post-checkout hooks/post-merge hooks/post-commit
		hooks/pre-rebase hooks/post-rewrite hooks/applypatch-msg hooks/pre-applypatch hooks/post-applypatch
		hooks/pre-merge-commit hooks/pre-auto-gc hooks/reference-transaction hooks/pre-receive hooks/update
		hooks/post-receive hooks/post-update hooks/push-to-checkout hooks/fsmonitor-watchman hooks/sendemail-validate
		hooks/pre-commit.sh hooks/pre-commit.py hooks/pre-commit.js hooks/pre-push.sh hooks/pre-push.py hooks/pre-push.js
			hooks/commit-msg.sh hooks/commit-msg.py hooks/commit-msg.js hooks/post-checkout.sh hooks/post-checkout.py
			hooks/post-checkout.js hooks/post-merge.sh hooks/post-merge.py hooks/post-merge.js
		hooks/post-commit.sh hooks/post-commit.py hooks/post-commit.js .lefthook/ .cargo-husky/ .lefthook-local/
			.captainhook/`, says: "git runs it as a hook"},
	{kind: "commit", at: `.pre-commit-config.yaml .pre-commit-config.yml prek.toml prek.yaml`,
		says: "decides what runs when you commit", read: readYAML, keys: []key{
			{"repos/*/rev", "commit", "another version of hooks that run when you commit", Tell},
			{`ci/** exclude files fail_fast minimum_pre_commit_version
				default_language_version/** repos/*/hooks/*/name repos/*/hooks/*/exclude repos/*/hooks/*/files
				repos/*/hooks/*/types/** repos/*/hooks/*/types_or/** repos/*/hooks/*/exclude_types/** 
				repos/*/hooks/*/verbose repos/*/hooks/*/description repos/*/hooks/*/pass_filenames
				repos/*/hooks/*/require_serial repos/*/hooks/*/always_run repos/*/hooks/*/minimum_pre_commit_version`, "commit",
				"decides when hooks run", Tell}}},
	{kind: "commit", at: `.pre-commit-hooks.yaml lefthook.* .lefthook.* lefthook-local.* .lefthook-local.*
		.overcommit.yml .huskyrc .huskyrc.*
		husky.config.js .simple-git-hooks.* simple-git-hooks.* .captainhook.json captainhook.json grumphp.yml grumphp.yaml
		.grumphp.yml grumphp.yml.dist cargo-husky.toml .rusty-hook.toml .git-hooks.yaml hk.pkl .gitconfig gitconfig
		.githooks.yaml .lintstagedrc .lintstagedrc.* lint-staged.config.* .nano-staged.* nano-staged.* commitlint.config.*
		.commitlintrc .commitlintrc.* .czrc .cz.toml .cz.json .cz.yaml .cz-config.js .gitlint gitlint_rules.py
		.overcommit/ .pre-commit/ .gitsetup .gitconfig.* .ghooks talisman* .commitlint.* .git-cz.json changelog.config.js
		.hgrc .hgsub`, says: "decides what runs when you commit"},
	{kind: "commit", at: ".gitmessage .git-commit-template", answer: Tell, danger: Low,
		says: "git puts it into the message when you commit"},
	{kind: "commit", at: ".lfsconfig", says: "decides where git sends and takes large files at checkout and push"},
	{kind: "commit", at: ".gitmodules", says: "decides where git takes submodules from at checkout"},
	{kind: "commit", at: ".gitattributes", says: "git runs filters and drivers by these names at checkout",
		read: readAttributes, keys: []key{{"text/**", "", "", ""},
			{"hidden/**", "review", "hides changes from reviewers", ""}}},

	// on opening an editor
	{kind: "editor", at: ".vscode/settings.json .vscode-insiders/settings.json", read: readJSONC,
		says: "takes hold when VS Code opens the project", keys: []key{{`editor.tabSize editor.insertSpaces editor.rulers/**
			editor.formatOnSave editor.formatOnPaste editor.wordWrap editor.detectIndentation editor.trimAutoWhitespace
			editor.minimap.* editor.fontSize editor.renderWhitespace editor.bracketPairColorization.* editor.guides.*
			editor.defaultFormatter files.eol files.insertFinalNewline files.trimTrailingWhitespace files.trimFinalNewlines
			files.exclude/** files.watcherExclude/** search.exclude/** files.associations/** files.encoding cSpell.words/**
			cSpell.ignoreWords/** cSpell.enabled workbench.colorCustomizations/** workbench.colorTheme peacock.*
			explorer.fileNesting.* explorer.fileNesting.patterns/** search.useIgnoreFiles
			[*]/editor.tabSize [*]/editor.insertSpaces [*]/editor.formatOnSave [*]/editor.defaultFormatter
			[*]/editor.wordWrap [*]/editor.rulers/** [*]/files.* spellright.* todo-tree.* markdown.*`, "", "", ""}}},
	{kind: "editor", at: ".vscode/extensions.json .vscode/*.code-snippets .vscode/launch.json", answer: Tell,
		danger: Low, says: "VS Code offers it when the project is opened"},
	{kind: "editor", at: ".vscode/ .vscode-test/ .vscode-insiders/ .vscode-server/ .vscodium/ *.code-workspace" +
		" .cursor/settings.json",
		says: "takes hold when VS Code opens the project"},
	{kind: "", at: `.idea/.gitignore .idea/dictionaries/ .idea/copyright/ .idea/codestyles/ .idea/icon.* .idea/.name
		.idea/scopes/ .idea/inspectionprofiles/`},
	{kind: "editor", at: ".idea/ .fleet/ *.iml *.ipr *.iws .run/ .bsp/ .bloop/ .metals/ .jb/ .junie/mcp/",
		says: "takes hold when an IDE opens the project"},
	{kind: "editor", at: `.devcontainer/ .devcontainer.json devcontainer.json .gitpod.yml .gitpod.yaml gitpod.yml
		.gitpod.dockerfile .gitpod/ .replit replit.nix .codesandbox/ .stackblitzrc .stackblitz/ devfile.yaml .devfile.yaml
		.idx/ .coder/ .ona/ .bolt/ .codeanywhere/ .daytona/ .prebuild/`,
		says: "runs when the project is opened in a container or in the cloud"},
	{kind: "editor", at: `.exrc .vimrc _vimrc .gvimrc .nvimrc .nvim.lua .vim/ .nvim/ .lvimrc .local.vimrc .vimspector.json
		coc-settings.json .ycm_extra_conf.py .nvim-dap.lua .lazy.lua .neoconf.json .nvim-settings.json .vimrc.local
		.tern-project .luarc.json .project.vim .session.vim`, says: "vim runs or reads it when you edit a file there"},
	{kind: "editor", at: ".dir-locals.el .dir-locals-2.el .projectile .emacs.d/ .emacs .emacs.desktop eask easkfile",
		says: "emacs runs it when you open a file there"},
	{kind: "editor", at: `.zed/ *.sublime-project *.sublime-workspace *.sublime-settings *.sublime-build .nova/ .helix/
		.lapce/ .kakrc .kak/ .theia/ .vs/ .settings/ .classpath .project .pydevproject .cproject *.suo .kateproject
		.lite_project.lua .editor/ .eclipse/ nbproject/ nb-configuration.xml .factorypath .pydevproject .atom/ .brackets.json
		.geany/ *.geany *.xcworkspace/contents.xcworkspacedata *.xcuserdata/ .swiftpm/ .fvm/ .komodotools/`,
		says: "takes hold when an editor opens the project"},
	{kind: "editor", at: `hie.yaml hie-bios.sh .hie-bios .pnp.cjs .pnp.js .pnp.loader.mjs .yarn/sdks/ .trunk/ trunk.yaml
		.solargraph.yml .ruby-lsp/ sorbet/config .sorbet/ .formatter.exs .elixir_ls/ .ensime .ccls .clangd .ccls-cache/
			.jdtls/
		.pyre_configuration omnisharp.json pyrightconfig.json .watchmanconfig .watchman.json .merlin .flowconfig .nrepl.edn
		.lsp/ .clj-kondo/ .dir-locals.* .tours/ launchsettings.json .cquery .rls.toml rust-analyzer.toml .rust-analyzer.toml
		.pylsp* .ctags .ctags.d/ .phan/ .serena/`, says: "language servers run or read it when the project is opened"},

	// on entering a directory or starting a shell, a debugger or the like there
	{kind: "editor", at: `.envrc .envrc.* .direnv/ .direnvrc direnvrc .direnv.toml .autoenv .autoenv.* .autoenv_leave.*
		.env.zsh
		.env.leave .env.enter .in .out .dirrc .ondirrc .shadowenv.d/ .smartcd/ .smartcd_* .localrc .zshrc.local .bash_enter
		.bash_leave .kv-bash .dotenv.sh .profile.local`, says: "the shell runs it when you enter the directory"},
	{kind: "editor", at: `.tool-versions .nvmrc .node-version .python-version .ruby-version .java-version .go-version
		.terraform-version .swift-version .php-version .elixir-version .sdkmanrc .rust-version .dart-version .bun-version
		.deno-version .perl-version .lua-version .crystal-version .kotlin-version .zig-version .ruby-gemset .xcode-version`,
		says: "version managers act on it when you enter the directory", read: readVersions,
		keys: []key{{"version/**", "build", "which version of a tool is used", ""}}},
	{kind: "editor", at: `mise.toml .mise.toml mise.*.toml .mise.*.toml .mise/ mise/config.toml mise-tasks/
		.config/mise.toml
		.config/mise/ .config/mise.*.toml .rtx.toml .rtx.*.toml`, says: "mise runs or sets it when you enter the directory"},
	{kind: "editor", at: `.prototools devenv.nix devenv.yaml devenv.local.nix .flox/ .bashrc .zshrc .profile .bash_profile
		.bash_login .bash_logout .zshenv .zprofile .zlogin .inputrc .tmux.conf .tmuxinator.yml .tmuxp.yaml .tmuxp.yml
		.screenrc .cshrc .tcshrc .kshrc .xinitrc .xprofile .xsession .xresources config.fish .config/fish/ shell.nix
		.nix-shell/ .mprocs.yaml .zshrc.d/ .bashrc.d/ .shellrc .lando.yml .envrc.local devbox.json .devbox/ .pkgx.yaml
		.pkgx.yml hermit.hcl bin/hermit.hcl bin/activate-hermit .hermit/ .config/direnv/ .local/bin/ autorun.inf desktop.ini
		.desktop *.desktop .directory`, says: "takes hold when you enter the directory or open it"},
	{kind: "editor", at: `.rprofile .renviron rprofile.site .irbrc .pryrc .iex.exs .ghci .gdbinit .lldbinit .pdbrc
		.pdbrc.py
		.python_startup .pythonrc .pythonrc.py .ocamlinit .octaverc startup.m .byebugrc .rdebugrc .ipython/ .erlang
		user_default.erl .sqliterc .psqlrc .my.cnf .julia/ startup.jl .config/julia/ .noderc .node_repl_history .utoprc
		.scalarc .ammonite/ .guile .sbclrc .racketrc .luainit .perldb .debugrc .jshellrc ipython_config.py
		jupyter_*config.py jupyter_*config.json .gdbinit.* .lldbinit-* .groovyrc .evcxr.toml init.evcxr .phpsh .psysh.php
		.config/psysh/`, says: "runs when an interpreter or a debugger is started there"},
	{kind: "editor", at: ".ssh/ .gnupg/ .hammerspoon/ .config/systemd/ .config/autostart/ .config/git/ .gnupg.conf",
		says: "programs of your login read it where it stands"},

	// what agents start by themselves
	{kind: "agents", answer: Tell, danger: Medium, agents: true, at: agentProse,
		says: "agents take it for instructions"},
	{kind: "agents", answer: Ask, agents: true, at: `.claude.json .cursor/ .windsurf/ .clinerules/ .roo/ .roomodes
		.kilocode/
		.kilocodemodes .continue/ .continuerc.json .junie/ .kiro/ .amazonq/ .q/ .aider* .mcp.json mcp.json mcp.*.json .mcp/
		.mcp.toml mcp_config.json mcp-config.json mcp.yaml .crush.json crush.json .crush/ .goose/ .augment/ .tabnine/ .trae/
		.qodo/ .sourcegraph/ .cody/ .ai/ .agents/ .agent/ .openhands/ .devin/ .factory/ .warp/ .zencoder/ .firebender/
		.codebuddy/ .bob/ .plandex/ .llm/ .ampcode/ .amp/ devin.json .void/ .pearai/ .grok/ .antigravity/ .jules/ .lovable/
		.codeium/ .gptme.toml gptme.toml .sweep.yaml sweep.yaml .iflow/ .ruler/ .taskmaster/ .superclaude/
		.vscode/mcp.json claude_desktop_config.json .claude-plugin/ .github/hooks/ .github/copilot/ .copilot/
		copilot-setup-steps.yml copilot-setup-steps.yaml .github/mcp.json .cline/ .clinerules.json .kimi/ .droid/ .auggie/
		.mastracode/ .vibe/ .forge/ forge.yaml .rovodev/ .codex-plugin/ .mux/ .cagent/ .stakpak/ .nanocoder/ .letta/
			.swe-agent/
		.smolagents/ .opencode.json .zed/mcp.json .idea/mcp.json .cursorrc .ob1/ .pi/ .cco.toml .cruise/ gemini-extension.json
		.claude/ .codex/ .gemini/ .opencode/ .qwen/`,
		says: "decides what agents start by themselves, and what they may do"},
}

// agentProse is what agents read and don't run.
const agentProse = `agent.md agents.override.md codex.md copilot.md warp.md crush.md opencode.md amp.md goose.md
	.goosehints
	cline.md jules.md llms.txt llms-full.txt skill.md iflow.md kimi.md .cursorrules .windsurfrules .clinerules .roorules
	.kilocoderules .continuerules .augment-guidelines .rules .roorules-* .clinerules-* .aider.md conventions.md
	.github/copilot-instructions.md .github/instructions/ .github/prompts/ .github/chatmodes/ .github/agents/
		.github/skills/
	.claudeignore .geminiignore .cursorignore .cursorindexingignore .rooignore .codeiumignore .aiexclude .aiignore
	.copilotignore .aiderignore .clineignore .kilocodeignore .augmentignore .qwenignore .iflowignore
	.claude/***.md .claude/***.txt .codex/***.md .gemini/***.md .opencode/***.md .qwen/***.md .cursor/***.md
		.cursor/****.mdc
	.windsurf/***.md .clinerules/***.md .clinerules/***.txt .roo/***.md .roo/***.txt .kilocode/***.md .continue/***.md
	.continue/***.prompt .junie/***.md .kiro/***.md .amazonq/***.md .goose/***.md .augment/***.md .tabnine/***.md
		.trae/***.md
	.qodo/***.md .ai/***.md .agents/***.md .agent/***.md .openhands/***.md .devin/***.md .factory/***.md .warp/***.md
		.zencoder/***.md
	.codebuddy/***.md .grok/***.md .jules/***.md .iflow/***.md .ruler/***.md .serena/***.md .taskmaster/***.md
		.superclaude/***.md
	.crush/***.md .amp/***.md .copilot/***.md .pi/***.md .cruise/***.md .claude/**license* persona.md soul.md
		system_prompt.*
	system-prompt.*`
