package gate

// row is one kind of risky change: which files, which lines in them, and what to tell a person.
//
// A pattern is a name in any directory, a directory with a slash at its end, a path from the root with a slash in
// front, or a name with stars. All of it is in lower case, as paths are before they are compared.
type row struct {
	kind  Kind
	files string
	not   string // exceptions, as patterns
	// has is text that a changed line must contain, words apart by a bar; "" for any line.
	has string
	// line is an expression for the same.
	line string
	// except are lines that don't count, as an expression.
	except  string
	removed bool   // lines that were removed count too, and so does a removed file
	danger  Danger // if not the kind's
	says    string
}

// catalogue is what is known of files by their names and lines. It is laid out by the compiler.
var catalogue = [...]row{
	// install
	{kind: "install", files: "setup.py setup.cfg", says: "runs when the package is installed",
		except: `^(name|version|description|author|author_email|url|license|classifiers|long_description)\s*=|` +
			`^\[metadata\]$`},
	{kind: "install", files: "binding.gyp *.gypi", says: "node-gyp runs it at npm install"},
	{kind: "install", files: ".pnpmfile.cjs pnpmfile.js .pnpmfile.mjs", says: "pnpm runs it at every install"},
	{kind: "install", files: ".yarn/plugins/ .yarn/releases/",
		says: "yarn runs it at every command"},
	{kind: "install", files: "extconf.rb *.gemspec", says: "runs when the gem is installed",
		except: `\.(version|summary|description|authors?|email|homepage|license)\s*=`},
	{kind: "install",
		files: `install.sh /install bootstrap.sh setup.sh /setup /bootstrap install.ps1 postinstall.* preinstall.*
		post_install.* brewfile .brewfile bootstrap.ps1`, says: "is what a person runs to install the project"},
	{kind: "install", files: "yarn.config.cjs constraints.pro .yarn/constraints.pro", says: "yarn runs it"},
	{kind: "install", files: "pnpm-workspace.yaml",
		has:  "onlyBuiltDependencies|neverBuiltDependencies|dangerously|allowBuilds",
		says: "lets packages run scripts at install"},
	{kind: "install", files: "gemfile gemfile.* gems.rb podfile",
		line: `\b(?:system|exec|spawn|eval|instance_eval|load|require_relative|popen|fork|post_install|pre_install|` +
			`plugin)\b|%x|Open3|\x60|\bFile\.(?:write|open)|\bKernel\b`,
		says: "runs when the packages are installed"},
	{kind: "install", files: ".npmrc .yarnrc .yarnrc.yml",
		line: `(?i)script-shell|node-options|\byarn-?path\b|^\s*plugins\s*:|ignore-scripts\s*=\s*false|` +
			`enableScripts:\s*true|\bgit\s*=|^\s*shell\s*=|\bprefix\s*=`,
		says: "decides what runs at every install"},
	{kind: "install", files: "sitecustomize.py usercustomize.py *.pth", says: "Python runs it at every start"},
	{kind: "install", files: "debian/ *.spec pkgbuild *.nsi *.iss *.wxs", says: "runs when the package is installed"},

	// build
	{kind: "build", files: `makefile gnumakefile makefile.* *.mk *.mak makefile.am makefile.in kbuild`,
		says: "make runs it"},
	{kind: "build", files: `dockerfile dockerfile.* *.dockerfile containerfile containerfile.* earthfile`,
		except: `^#\s*$`, says: "runs when the image is built"},
	{kind: "build", files: `docker-compose*.yml docker-compose*.yaml compose*.yml compose*.yaml docker-bake.hcl
		docker-entrypoint.sh entrypoint.sh vagrantfile skaffold.yaml tiltfile devspace.yaml`, says: "decides what " +
		"containers are started, and with what rights"},
	{kind: "build", files: "build.rs", says: "cargo runs it at every build"},
	{kind: "build", files: ".cargo/ rust-toolchain rust-toolchain.toml",
		says: "decides what cargo runs in place of the compiler"},
	{kind: "build", files: "*.go", has: "//go:generate|#cgo |//go:linkname|//go:debug|-toolexec",
		says: "go runs it, or hands it to the compiler"},
	{kind: "build", files: "go.env .go.env", says: "decides how go works"},
	{kind: "build",
		files: `*.gradle *.gradle.kts gradle/wrapper/ gradlew gradlew.bat gradle.properties buildsrc/ init.gradle`,
		says:  "gradle runs it"},
	{kind: "build", files: ".mvn/ mvnw mvnw.cmd", says: "maven runs it"},
	{kind: "build", files: "pom.xml", has: "plugin|<execution|<goal|<phase|extension>|exec>|<argLine|<command",
		says: "maven runs plugins"},
	{kind: "build", files: `cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json meson.build meson_options.txt
		configure configure.ac configure.in *.m4 wscript sconstruct sconscript build.ninja build.zig
		build.zig.zon build.sbt *.sbt build.sc build.xml build.mill premake5.lua xmake.lua dune dune-project
		*.pro *.pri autogen.sh`, says: "runs when the project is built"},
	{kind: "build", files: `webpack.*.js webpack.*.ts webpack.*.cjs vite.config.* rollup.config.* esbuild.* tsup.config.*
		babel.config.* .babelrc .babelrc.* next.config.* nuxt.config.* svelte.config.* astro.config.*
		gatsby-*.js metro.config.* postcss.config.* tailwind.config.* gulpfile.* gruntfile.* parcel.config.*
		.parcelrc rspack.config.* turbo.json nx.json angular.json craco.config.* snowpack.config.*
		remix.config.* .swcrc vue.config.* quasar.config.* rsbuild.config.* farm.config.* lage.config.*
		wrangler.toml ember-cli-build.js next-env.d.ts docusaurus.config.*`, says: "runs when the project is built or " +
		"started"},
	{kind: "build", files: `.eslintrc.js .eslintrc.cjs eslint.config.* .prettierrc.js .prettierrc.cjs prettier.config.*
		stylelint.config.* .stylelintrc.js .pylintrc pylintrc mypy.ini .rubocop.yml .solhint.js
		.markdownlint.cjs .markdownlint-cli2.* danger*.js danger*.ts dangerfile biome-plugin.* .flake8`, has: "",
		says: "linters run it"},
	{kind: "build", files: `rakefile *.rake thorfile capfile guardfile fastfile fastlane/ podfile appfile *.podspec`,
		says: "runs with the project's tasks"},
	{kind: "build",
		files: `justfile .justfile *.just taskfile.yml taskfile.yaml taskfile.dist.* magefile.go magefiles/ tasks.py
		invoke.yaml fabfile.py pavement.py dodo.py makefile.toml build.cake build.fsx psakefile.ps1
		*.psake.ps1 build.sh build.bat build.ps1 make.bat make.ps1 run.sh start.sh deploy.sh release.sh`, says: "runs " +
			"with the project's tasks"},
	{kind: "build", files: `build.bazel module.bazel workspace.bazel /build /workspace build workspace *.bzl .bazelrc
		.bazelversion .bazeliskrc buck *.bazelrc buckconfig .buckconfig pants.toml build.pants please.conf
		.plzconfig`,
		says: "bazel and its like run it"},
	{kind: "build", files: `procfile procfile.* *.procfile app.json serverless.yml serverless.yaml fly.toml render.yaml
		vercel.json netlify.toml now.json railway.json railway.toml heroku.yml /app.yaml apprunner.yaml
		nixpacks.toml`, says: "decides what is started when it is deployed"},
	{kind: "build", files: `.goreleaser.yml .goreleaser.yaml goreleaser.yml goreleaser.yaml .releaserc .releaserc.*
		release.config.* .release-it.* release-please-config.json .changeset/config.json semantic-release.*`, says: "runs " +
		"when a release is made"},
	{kind: "build",
		files: `directory.build.props directory.build.targets directory.build.rsp *.targets *.props nuke.build`,
		says:  "MSBuild runs it"},
	{kind: "build", files: "*.csproj *.vbproj *.fsproj *.vcxproj *.proj *.sln.targets *.shproj",
		has: "<Exec|<Target|UsingTask|<Import|BuildEvent|<Compile Include=\"..", says: "MSBuild runs it"},
	{kind: "build", files: "*.nix flake.lock default.nix shell.nix", says: "nix runs it"},
	{kind: "build", files: "package.swift", says: "swift runs it to learn about the package",
		except: `^\.(?:package|product|library|executable|target|testTarget)\([^()]*\),?$|^[\])}(\[{},]*$`},
	{kind: "build", files: "project.pbxproj *.xcconfig *.xcscheme", says: "runs when the app is built",
		has: "shellScript|.plugin|unsafeFlags|Exec|plugin(|ActionContent|OTHER_|preBuild|postBuild|#include"},
	{kind: "build", files: `mix.exs rebar.config *.cabal setup.hs stack.yaml project.clj deps.edn shard.yml build.boot
		build.gleam rebar.config.script`, says: "runs when the project is built"},
	{kind: "build", files: `conanfile.py conanfile.txt vcpkg.json portfile.cmake vcpkg-configuration.json`,
		says: "runs when the project is built"},
	{kind: "build", files: `buf.gen.yaml codegen.yml codegen.ts graphql.config.* .graphqlrc* sqlc.yaml openapitools.json
		orval.config.* kubb.config.*`, says: "runs when code is generated"},
	{kind: "build", files: "*.tf *.hcl *.tfvars terragrunt.hcl",
		has:  "local-exec|remote-exec|\"external\"|provisioner|user_data",
		says: "terraform runs it"},
	{kind: "build", files: "galaxy.yml playbook.yml ansible.cfg", says: "ansible runs it"},

	// test
	{kind: "test", files: "conftest.py", says: "pytest runs it before any test"},
	{kind: "test", files: "pytest.ini .pytest.ini tox.ini noxfile.py .coveragerc",
		says:   "decides what tests run, and what runs with them",
		except: `(?i)^\s*(fail_under|show_missing|omit|skip_covered)\b`},
	{kind: "test",
		files: `jest.config.* jest.setup.* jest-setup.* vitest.config.* vitest.workspace.* vitest.setup.* .mocharc
		.mocharc.* mocha.opts karma.conf.* playwright.config.* cypress.config.* cypress.json
		protractor.conf.* wdio.conf.* ava.config.* .taprc jasmine.json setuptests.* setup-tests.*
		jest.preset.* web-test-runner.config.* testcafe.config.* .testcaferc.* nightwatch.conf.*
		codecept.conf.* global-setup.* globalsetup.*`, says: "runs before any test",
		except: `(?i)^\s*["']?(lines|branches|functions|statements)["']?\s*:\s*\d+,?$`},
	{kind: "test", files: `phpunit.xml phpunit.xml.dist phpunit.dist.xml behat.yml codeception.yml`,
		says: "runs before any test"},
	{kind: "test", files: `.rspec spec_helper.rb rails_helper.rb test_helper.rb cucumber.yml .config/nextest.toml
		test_helper.exs testthat.r setup-testthat.r`, says: "runs before any test"},
	{kind: "test", files: "*_test.go", has: "func TestMain(", says: "runs before any test"},
	{kind: "test", files: "test_helper.bash setup_suite.bash test/support/env.js", says: "runs before any test"},

	// commit
	{kind: "commit", files: `.husky/ .githooks/ .git-hooks/ githooks/ git-hooks/ .hooks/ hooks/pre-* hooks/post-*
		hooks/commit-msg hooks/prepare-commit-msg`, says: "git runs it as a hook"},
	{kind: "commit",
		files: `.pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml
		.lefthook.yml .lefthook.yaml lefthook.toml lefthook.json lefthook-local.yml .lefthook/
		.overcommit.yml .huskyrc .huskyrc.* husky.config.js .simple-git-hooks.* simple-git-hooks.*
		.captainhook.json captainhook.json grumphp.yml .grumphp.yml cargo-husky.toml .cargo-husky/
		.rusty-hook.toml .git-hooks.yaml hk.pkl prek.toml .gitconfig gitconfig .githooks.yaml`, says: "decides what runs " +
			"when you commit"},
	{kind: "commit",
		files: `.lintstagedrc .lintstagedrc.* lint-staged.config.* .nano-staged.* commitlint.config.* .commitlintrc
		.commitlintrc.* .czrc .cz.toml .cz-config.js .gitmessage`, says: "runs when you commit"},
	{kind: "commit", files: ".gitattributes", has: "filter=|merge=|diff=|working-tree-encoding|export-subst|ident",
		says: "git runs filters and drivers by these names"},

	// editor
	{kind: "editor", files: ".vscode/ .vscode-test/ *.code-workspace", not: "extensions.json *.code-snippets",
		says: "takes hold when VS Code opens the project"},
	{kind: "editor", files: ".idea/ .fleet/ *.iml *.ipr *.iws .run/", not: ".idea/.gitignore .idea/dictionaries/",
		says: "takes hold when an IDE of JetBrains opens the project"},
	{kind: "editor", files: `.devcontainer/ .devcontainer.json devcontainer.json .gitpod.yml .gitpod.dockerfile .replit
		replit.nix .codesandbox/ .stackblitzrc devfile.yaml .devfile.yaml .idx/ devbox.json .coder/
		gitpod.yml`, says: "runs when the project is opened in a container"},
	{kind: "editor", files: `.exrc .vimrc _vimrc .nvimrc .nvim.lua .vim/ .nvim/ .lvimrc .local.vimrc .vimspector.json
		coc-settings.json .ycm_extra_conf.py .nvim-dap.lua`, says: "vim runs it when you edit a file there"},
	{kind: "editor", files: ".dir-locals.el .dir-locals-2.el .projectile .emacs.d/",
		says: "emacs runs it when you open a file there"},
	{kind: "editor",
		files: `.zed/ *.sublime-project *.sublime-workspace *.sublime-settings .nova/ .helix/ .lapce/ .kakrc .kak/
		.theia/ .vs/ .settings/ .classpath .project *.suo .kate-swp .kateproject .lite_project.lua .editor/`,
		says: "takes hold when an editor opens the project"},
	{kind: "editor", files: ".envrc .direnv/ .autoenv .env.zsh",
		says: "the shell runs it when you enter the directory"},
	{kind: "editor",
		files: `mise.toml .mise.toml mise.*.toml .mise.*.toml .mise/ .tool-versions .rtx.toml .prototools .nvmrc
		.node-version .python-version .ruby-version .java-version .sdkmanrc .terraform-version .go-version
		.swift-version .bashrc .zshrc .profile .bash_profile .zshenv .inputrc .tmux.conf .tmuxinator.yml`, says: "takes " +
			"hold when you enter the directory"},

	{kind: "editor", files: "*.nix", line: `\b(?:shellHook|enterShell|postShellHook)\b`,
		says: "the shell runs it when you enter the project"},

	// ci
	{kind: "ci", files: `.github/workflows/ .github/actions/ .gitea/ .forgejo/ action.yml action.yaml`, removed: true,
		not: "issue_template/ pull_request_template.md", says: "runs in CI with the repository's rights"},
	{kind: "ci",
		files: `.gitlab-ci.yml .gitlab-ci.yaml .gitlab-ci/ *.gitlab-ci.yml *.gitlab-ci.yaml .gitlab/ci/ .gitlab/`,
		not:   ".gitlab/issue_templates/ .gitlab/merge_request_templates/ codeowners",
		says:  "runs in CI with the repository's rights", removed: true},
	{kind: "ci",
		files: `jenkinsfile jenkinsfile-* jenkinsfile.groovy *.jenkinsfile .jenkins/ .circleci/ .travis.yml .drone.yml
		.drone.yaml
		.drone.star .drone.jsonnet .woodpecker/ .woodpecker.yml .woodpecker.yaml .buildkite/
		azure-pipelines.yml azure-pipelines.yaml azure-pipelines*.yml .azure-pipelines/ .azuredevops/
		bitbucket-pipelines.yml appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star cloudbuild.yaml
		cloudbuild.yml cloudbuild.json cloudbuild*.yaml buildspec.yml buildspec.yaml buildspec*.yml
		.teamcity/ .semaphore/ semaphore.yml .ci/ /ci/ wercker.yml shippable.yml codeship-*.yml .codefresh/
		codefresh.yml .tekton/ .harness/ .builds/ .build.yml .sourcehut.yml .vsts-ci.yml .buildbot/
		.zuul.yaml zuul.d/ .zuul.d/ .prow.yaml .prow/ bors.toml .packit.yaml .packit.yml .copr/ .earthly/
		.dagger/ dagger.json .spacelift/ atlantis.yaml .onedev-buildspec.yml .screwdriver.yml
		screwdriver.yaml .space.kts .concourse/ .nx-cloud/ .gocd.yaml *.gocd.yaml`, removed: true, says: "runs in CI with " +
			"the repository's rights"},
	{kind: "ci", files: `.github/dependabot.yml .github/dependabot.yaml renovate.json renovate.json5 .renovaterc
		.renovaterc.json .github/renovate.json .github/renovate.json5 .snyk .trivyignore .gitleaks.toml
		.gitleaksignore .secrets.baseline osv-scanner.toml .semgrepignore .semgrep.yml .semgrep/ .bandit
		codeql-config.yml .github/codeql/ sonar-project.properties .talismanrc .trufflehog* .grype.yaml
		.checkov.yaml .checkov.yml .hadolint.yaml deny.toml audit.toml .nsprc .audit-ci.json audit-ci.json*
		.gitguardian.yml .gitguardian.yaml .dependency-check* scorecard.yml .pyup.yml`, removed: true, says: "decides " +
		"what updates and scans for security happen"},

	// review
	{kind: "review",
		files: `codeowners owners owners_aliases .owners maintainers maintainers.md maintainers.txt reviewers
		reviewers.md .github/auto_assign.yml .github/auto-assign.yml .github/reviewers.yml
		.github/reviewer-lottery.yml governance.md code-owners approvers .approvers security_contacts`, removed: true,
		says: "decides who must review"},
	{kind: "review", files: `.mergify.yml .mergify.yaml .mergify/ .github/mergify.yml .kodiak.toml .github/.kodiak.toml
		.bulldozer.yml .policy.yml policy-bot.yml .github/settings.yml .github/settings.yaml
		.github/rulesets/ .github/branch-protection* .github/safe-settings* .github/merge-queue* .asf.yaml
		.github/labeler.yml .github/labels.yml .coderabbit.yaml .coderabbit.yml .pullapprove.yml .lgtm
		.reviewpad.yml reviewpad.yml .github/probot* .sourcery.yaml greptile.json .graphite* .gitstream/
		.cm/ .aviator/ .github/stale.yml .tide.yaml`, removed: true, says: "decides what may be merged, and how"},
	{kind: "review", files: ".gitattributes",
		has:    "-diff|linguist-generated|linguist-vendored|binary|export-ignore|-text diff",
		except: `(?i)^\*\.(png|jpe?g|gif|ico|pdf|zip|gz|jar|woff2?|ttf|otf|eot|mp4|webp|exe|dll|so|bin|psd|svg)\s`,
		says:   "hides changes from reviewers"},
	{kind: "review", files: ".git-blame-ignore-revs .mailmap", says: "changes who seems to have written a line"},

	// packages
	{kind: "packages", files: `.npmrc .yarnrc .yarnrc.yml bunfig.toml .bunfig.toml .pnpmrc .bowerrc lerna.json jsr.json`,
		says: "decides where packages come from and how they are installed"},
	{kind: "packages",
		files: `pip.conf pip.ini uv.toml .pypirc pdm.toml poetry.toml pixi.toml .condarc condarc environment.yml
		environment.yaml conda-lock.yml channels.scm`, says: "decides where packages come from"},
	{kind: "packages", files: "requirements*.txt requirements/ constraints*.txt requirements*.in",
		has: "index-url|find-links|trusted-host|--index|-i http|" +
			"git+|http://|https://|@ file|--no-binary|--pre", says: "takes packages from elsewhere"},
	{kind: "packages", files: "nuget.config packages.config paket.dependencies paket.lock",
		says: "decides where packages come from"},
	{kind: "packages", files: "gemfile gemfile.* gems.rb .bundle/config",
		has:  "source|git:|git =>|path:|github:|:git|:path|BUNDLE_MIRROR|BUNDLE_",
		says: "decides where gems come from"},
	{kind: "packages", files: "pom.xml settings.xml", has: "epositor|<url>|<mirror",
		says: "decides where artifacts come from"},
	{kind: "packages", files: "*.gradle *.gradle.kts",
		has:  "maven {|maven{|repositories|url |url=|url(|mavenLocal|ivy {|flatDir|uri(",
		says: "decides where artifacts come from"},
	{kind: "packages", files: ".gitmodules", says: "decides where submodules come from"},
	{kind: "packages", files: "go.mod go.work", has: "replace|=>|toolchain|exclude|retract",
		says: "takes modules from elsewhere"},
	{kind: "packages", files: `artifactory* .artifactory* .jfrog/ sources.list *.sources.list *.repo mirrors.txt .goproxy
		chart.lock helmfile.yaml helmfile.yml import_map.json importmap.json cartfile cartfile.resolved
		repositories.yaml repositories.yml`, says: "decides where packages come from"},
	{kind: "packages", files: "pipfile", has: "[[source]]|url =|git =|path =|verify_ssl",
		says: "decides where packages come from"},

	// agents
	{kind: "agents", files: `agent.md agents.override.md codex.md
		copilot.md warp.md crush.md opencode.md amp.md goose.md .goosehints cline.md jules.md llms.txt
		llms-full.txt skill.md`, removed: true,
		says: "agents take it for instructions"},
	{kind: "agents", files: `.claude.json .claudeignore .geminiignore
		.cursor/ .cursorrules .cursorignore .windsurf/ .windsurfrules .clinerules
		.clinerules/ .roo/ .roorules .roomodes .rooignore .kilocode/ .kilocoderules .continue/
		.continuerc.json .continuerules .junie/ .kiro/ .amazonq/ .q/ .aider* .mcp.json mcp.json mcp.*.json
		.mcp/ .crush.json crush.json .goose/ .augment/ .augment-guidelines .tabnine/ .trae/ .qodo/
		.sourcegraph/ .cody/ .ai/ .agents/ .agent/ .rules .openhands/ .devin/ .factory/ .warp/ .zencoder/
		.firebender/ .codebuddy/ .bob/ .plandex/ .llm/ .ampcode/ .codeiumignore .aiexclude .aiignore
		.copilotignore devin.json .void/ .pearai/ .grok/ .antigravity/ .jules/ .lovable/ .codeium/
		.gptme.toml gptme.toml .sweep.yaml sweep.yaml .github/copilot-instructions.md .github/instructions/
		.github/prompts/ .github/chatmodes/ .github/agents/ copilot-setup-steps.yml .github/skills/ .ruler/
		.serena/ .taskmaster/ .superclaude/ .mcp.toml .vscode/mcp.json claude_desktop_config.json`, removed: true,
		says: "decides what agents may do, and what they are told"},
	{kind: "agents", files: ".cco.toml .cruise/", removed: true, says: "decides what cco lets agents do"},

	// environment
	{kind: "environment",
		files: `.env .env.* *.env .flaskenv .dockerenv env.local .secrets .secret .dev.vars .env-* secrets.yml
		secrets.yaml secrets.json credentials.json credentials .netrc _netrc .pgpass .my.cnf .htpasswd .aws/
		.kube/ kubeconfig .ssh/ id_rsa id_ed25519 id_ecdsa .vault-token .docker/config.json .gnupg/
		master.key local.settings.json appsettings.*.json terraform.tfvars *.auto.tfvars
		application-*.properties application-*.yml application-*.yaml`,
		not: `*.example *.sample *.template *.dist *.tmpl *.defaults *example* *sample* *template* *.schema *.md
		*.d.ts *.ts *.js`, says: "programs load it by themselves"},

	// weakened: lines that let failures pass
	{kind: "weakened",
		files: `.github/workflows/ .gitlab-ci.yml .gitlab-ci.yaml .gitlab/ .circleci/ azure-pipelines.yml .drone.yml
		.woodpecker/ .buildkite/ .travis.yml bitbucket-pipelines.yml jenkinsfile .ci/ .gitea/ .forgejo/
		action.yml makefile *.mk justfile taskfile.yml package.json tox.ini .cirrus.yml appveyor.yml
		cloudbuild.yaml scripts/ test/ tests/ *.bats noxfile.py`,
		line: `continue-on-error: (true|\$)|(?i)allow_failures?:|soft_fail: true|failure: ignore|continueOnError: true|` +
			`\|\|\s*(true\b|:|exit 0|echo\b)|` +
			`\bset \+e\b|\bif: (false|\$\{\{ *false)|when: (never|manual)|--no-verify\b|-DskipTests|-Dmaven\.test\.skip|` +
			`--passWithNoTests|--exit-zero\b|` +
			`\bcatchError\b|ignore_failure|--continue-on-collection-errors|returnStatus: true|ignoreErrors|` +
			`ignore_errors: (true|yes)|-x test\b`,
		says: "a step may fail now without anybody noticing"},
	{kind: "weakened", files: "package.json composer.json deno.json",
		line: `"(?:test|lint|check|typecheck)(?::[\w-]+)?"\s*:\s*"(?:echo\b[^&|;]*|true|:|exit 0|)"`,
		says: "a check does nothing now"},
	{kind: "weakened", files: "pytest.ini .pytest.ini tox.ini setup.cfg pyproject.toml",
		line: `\baddopts\b.*(?:--ignore|--deselect|\s-k[\s=]|\s-m[\s=]|--maxfail|-p no:)|^\s*--(?:ignore|deselect)\b`,
		says: "tests are left out"},
	{kind: "weakened", files: "package.json *.js *.ts *.tsx *.jsx",
		has:  "// eslint-disable-file|/* eslint-disable */|// @ts-nocheck|//@ts-nocheck|/* istanbul ignore file",
		says: "checks are turned off for a whole file"},
	{kind: "weakened", files: "*.py",
		has: "# type: ignore-errors|# mypy: ignore-errors|# flake8: noqa|# pylint: skip-file|# ruff: noqa|# pragma: no " +
			"cover file|# nosec file",
		says: "checks are turned off for a whole file"},
	{kind: "weakened", files: `*.snap *.snap.* *.golden *.approved.* *.ambr *.snapshot *.verified.* __snapshots__/
		__image_snapshots__/ *.expected *.out.golden`,
		says: "expected output was rewritten", removed: true},
}

// fixtures are directories whose files no tool runs by itself.
const fixtures = "testdata/ fixtures/ fixture/ __fixtures__/ testfixtures/ test-fixtures/ __mocks__/ cassettes/ " +
	"node_modules/.cache/"

// ignoredInFixtures are the kinds that don't count there.
func ignoredInFixtures(k Kind) bool {
	switch k {
	case "install", "build", "ci", "review", "packages", "dependencies", "environment", "test":
		return true
	}
	return false
}
