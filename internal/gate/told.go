package gate

// toldPlaces are those that are told: somebody decides to build, test, review or merge.
var toldPlaces = [...]place{
	// harmless ones that would look like something unknown
	{kind: "", at: `.gitignore .gitkeep .keep .ignore .dockerignore .npmignore .prettierignore .stylelintignore .hgignore
		.editorconfig .ds_store thumbs.db .nojekyll .hidden .well-known/ .yardopts .mailmap .rgignore .fdignore
		.containerignore .gcloudignore .vercelignore .slugignore .cfignore .ebignore .helmignore .vscodeignore .bazelignore
		.chefignore .browserslistrc .prettierrc .prettierrc.json .prettierrc.yaml .prettierrc.yml .prettierrc.toml
		.clang-format .swift-format .rustfmt.toml rustfmt.toml .scalafmt.conf .stylua.toml .ipynb_checkpoints/
		.github/issue_template/ .github/funding.yml
		.github/support.md .github/contributing.md .github/code_of_conduct.md .github/security.md .github/release.yml
		.gitlab/issue_templates/ .gitlab/merge_request_templates/ .gitea/issue_template/ .gitea/pull_request_template.md
		.forgejo/issue_template/ .github/readme.md .github/*.png .github/*.svg .github/release-drafter.yml .all-contributorsrc
		.github/assets/ .github/images/ .markdownlint.json .markdownlint.yaml .markdownlint.yml .markdownlintrc
		.yamllint .yamllint.yml .yamllint.yaml .perltidyrc .zenodo.json .wordlist.txt .cspell.json .typos.toml
		.gitchangelog.rc .vale/ .lycheeignore .linkspector.yml .node_modules .pylintignore .jshintignore .git-blame .php_cs
		.sass-lint.yml .scss-lint.yml .htmlhintrc .textlintrc .proselintrc .dictionary .spelling .circleci/readme.md`},

	// test
	{kind: "test", at: "conftest.py *conftest*.py", says: "pytest runs it before any test"},
	{kind: "test", at: `pytest.ini .pytest.ini tox.ini noxfile.py .coveragerc .stestr.conf .testr.conf .proverc .rspec
		.nycrc
		.nycrc.* .c8rc .c8rc.* .taprc .mocharc .mocharc.* mocha.opts .simplecov codecov.yml .codecov.yml codecov.yaml
		.codecov.yaml .coveralls.yml tarpaulin.toml .tarpaulin.toml .config/nextest.toml cypress.json jasmine.json
		cucumber.yml behat.yml codeception.yml phpunit.xml phpunit.xml.dist phpunit.dist.xml karma.conf.* nyc.config.js
		.gutctl .busted junit-platform.properties *.runsettings testng.xml .testcaferc.* nightwatch.conf.* codecept.conf.*
		wdio.conf.* protractor.conf.*`, says: "decides what tests run, and what runs with them"},
	{kind: "test", at: `jest.config.* jest.setup.* jest-setup.* jest.preset.* vitest.config.* vitest.workspace.*
		vitest.setup.*
		playwright.config.* cypress.config.* ava.config.* setuptests.* setup-tests.* web-test-runner.config.*
		testcafe.config.* global-setup.* globalsetup.* test-setup.* testsetup.* setup_test.* vitest-setup.*
		spec_helper.rb rails_helper.rb test_helper.rb test_helper.exs testthat.r setup-testthat.r test_helper.bash
		setup_suite.bash env.rb pest.php tests/bootstrap.php tests/setup.* test/setup.* cypress/support/ karma.conf.*
	 tests/helpers.r tests/testthat.r`, says: "runs before any test"},

	// build
	{kind: "build", at: `makefile gnumakefile makefile.* *.mk *.mak kbuild bsdmakefile`, says: "make runs it"},
	{kind: "build", at: `dockerfile dockerfile.* *.dockerfile containerfile containerfile.* earthfile
		docker-entrypoint.sh entrypoint.sh .dockerfile`, says: "runs when the image is built or started"},
	{kind: "build", at: `docker-compose*.yml docker-compose*.yaml compose*.yml compose*.yaml docker-bake.* vagrantfile
		skaffold.yaml tiltfile devspace.yaml podman-compose*.yml quadlet/ *.container chart.yaml kustomization.yaml`,
		says: "decides what containers are started, and with what rights"},
	{kind: "build", at: `rust-toolchain rust-toolchain.toml clippy.toml .clippy.toml go.env .go.env .go-version.toml
		global.json
		.cargo/`, says: "decides which compiler is used, and how"},
	{kind: "build", at: `*.gradle *.gradle.kts gradle/wrapper/ gradlew gradlew.bat gradle.properties buildsrc/
		build-logic/ gradle/*.toml gradle/ gradle.lockfile.gradle init.gradle.kts`, says: "gradle runs it"},
	{kind: "build", at: ".mvn/ mvnw mvnw.cmd pom.xml *.pom", says: "maven runs it"},
	{kind: "build", at: `cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json meson.build meson_options.txt
		meson.options configure configure.ac configure.in config.guess config.sub *.m4 wscript waf sconstruct sconscript
		build.ninja build.zig build.zig.zon build.sbt *.sbt build.sc build.mill build.xml premake5.lua premake*.lua xmake.lua
		dune dune-project dune-workspace *.opam *.pro *.pri autogen.sh .sbtopts .jvmopts project/build.properties
		project/*.scala dub.sdl config.nims *.nims nimble.cfg compile_commands.json compile_flags.txt
		project.toml gleam.toml manifest.scm guix.scm .guix-channel channels.scm ivy.xml conanfile.py conanfile.txt
		vcpkg-configuration.json portfile.cmake *.cabal cabal.project stack.yaml rebar.config rebar.config.script mix.exs
		project.clj deps.edn bb.edn shadow-cljs.edn shard.yml build.boot build.gleam rel/env.sh.eex sys.config vm.args
			config/*.exs
		package.swift *.xcconfig project.pbxproj *.xcscheme *.ml4 jbuild _tags myocamlbuild.ml opam
		build.pants please.conf .plzconfig pants.toml buck .buckconfig buckconfig tup.ini tupfile ninja.build`,
		says: "runs when the project is built"},
	{kind: "build", at: `build.bazel module.bazel workspace.bazel build workspace *.bzl .bazelrc .bazelversion .bazeliskrc
		*.bazelrc tools/bazel repo.bazel *.star copy.bara.sky`, says: "bazel and its like run it"},
	{kind: "build", at: `webpack.*.js webpack.*.ts webpack.*.cjs .babelrc .babelrc.* .swcrc .parcelrc .postcssrc
		.postcssrc.* gatsby-*.js gatsby-*.ts gulpfile.*
		gruntfile.* brocfile.js esbuild.js esbuild.mjs esbuild.ts turbo.json nx.json angular.json workspace.json project.json
		lerna.json rush.json common/config/ lage.config.* wrangler.toml wrangler.json* ember-cli-build.js .wireit nodemon.json
		ecosystem.*.js tauri.conf.json* src-tauri/tauri* electron-builder.* forge.config.* capacitor.config.*
		ionic.config.json app.config.* metro.config.* moon.yml .moon/ .nxrc .storybook/ postcss.config.* tailwind.config.*
		vite.config.* rollup.config.* biome.json* .npmpackagejsonlintrc* quasar.conf.js craco.config.* vue.config.*
		.svgrrc* .lessrc svelte.config.* .umirc* bunup.config.*
		eslint.config.* prettier.config.* stylelint.config.* jest.config.* vitest.config.* next.config.* nuxt.config.*
		astro.config.* webpack.config.* babel.config.* remix.config.* gatsby.config.* docusaurus.config.* drizzle.config.*
		playwright.config.* cypress.config.* tsup.config.* rspack.config.* rsbuild.config.* snowpack.config.*
			react-native.config.*
		vuepress.config.* prisma.config.* unocss.config.* windi.config.* knip.config.* lint-staged.config.*
			commitlint.config.*
		ecosystem.config.* release.config.* uno.config.* nitro.config.* wxt.config.* keystone.config.* sanity.config.*
		trigger.config.* parcel.config.* esbuild.config.* farm.config.* lage.config.* taskfile.config.*`,
		says: "runs or is read when the project is built or started"},
	{kind: "build", at: "*.config.js *.config.ts *.config.mjs *.config.cjs *.config.mts *.config.cts", vague: true,
		says: "is code that a tool runs by its name"},
	{kind: "build", at: "deno.json deno.jsonc jsr.json import_map.json importmap.json dub.json elm.json", read: readJSONC,
		says: "decides what is built and run", keys: []key{{"imports/** dependencies/**", depsOf, "", ""},
			{"$schema version name license fmt/** description authors/** copyright", "", "", ""}}},
	{kind: "build", at: "tsconfig.json tsconfig.*.json jsconfig.json", says: "decides how TypeScript builds and checks",
		read: readJSONC, keys: []key{
			{`compilerOptions/plugins/** extends extends/** ts-node/** references/** compilerOptions/paths/**
				compilerOptions/baseUrl compilerOptions/typeRoots/** compilerOptions/types/** compilerOptions/rootDirs/**`, "build",
				"decides what TypeScript loads", ""},
			{"compilerOptions/** compilerOptions include/** exclude/** files/** $schema display _version compileOnSave", "",
				"", ""}}},
	{kind: "build", at: `.eslintrc .eslintrc.* .prettierrc.* .stylelintrc .stylelintrc.* .pylintrc pylintrc
		pylintrc.toml mypy.ini
		.mypy.ini .rubocop.yml .rubocop_todo.yml .solhint.* .markdownlint.cjs .markdownlint-cli2.* danger*.js danger*.ts
		dangerfile .flake8 .golangci.yml .golangci.yaml .golangci.toml .golangci.json ruff.toml .ruff.toml .isort.cfg
		.clang-tidy .swiftlint.yml .sqlfluff .credo.exs phpstan.neon* psalm.xml* .php-cs-fixer.* rector.php ecs.php
		deptrac.yaml .standard.yml .erb_lint.yml .tflint.hcl .ansible-lint .luacheckrc .perlcriticrc .mega-linter.yml
		.codeclimate.yml .ktlint .editorconfig-checker.json detekt.yml checkstyle*.xml pmd*.xml
		spotbugs*.xml .eslintignore .hadolint.yaml .shellcheckrc .jshintrc .jscsrc .tslint.json tslint.json .xo-config*
		oxlint.json .oxlintrc.json .stylelintignore .pycodestyle .pydocstyle .pyre_configuration.local .bandit.yml
		.vale.ini .reek.yml .fasterer.yml .slather.yml .scalafix.conf .hlint.yaml .dialyzer_ignore.exs .gometalinter.json
		.revive.toml revive.toml staticcheck.conf .gosec.json .semgrepignore .sonarcloud.properties analysis_options.yaml`,
		says: "linters run it, or it decides what they check"},
	{kind: "build", at: `rakefile *.rake thorfile capfile guardfile fastfile fastlane/ appfile justfile .justfile *.just
		taskfile.yml taskfile.yaml taskfile.dist.* magefile.go magefiles/ tasks.py invoke.yaml fabfile.py pavement.py dodo.py
		makefile.toml build.cake build.fsx fakefile psakefile.ps1 *.psake.ps1 build.sh build.bat build.ps1 build.cmd make.bat
		make.ps1 make.cmd run.sh start.sh deploy.sh release.sh snakefile *.smk nextflow.config *.nf dvc.yaml .dvc/ manage.py
		artisan bin/console config.ru config/boot.rb config/environment.rb config/application.rb
		alembic.ini alembic/env.py celeryconfig.py gunicorn.conf.py uwsgi.ini
		_plugins/ docs/conf.py doc/conf.py sphinx/conf.py source/conf.py mkdocs.yml mkdocs.yaml _config.yml hugo.toml
		hugo.yaml book.toml docusaurus.config.* apprun .watchr tasks/*.rake xtask/
		launch.sh serve.sh .run.sh main.nf .wp-env.json`, says: "runs with the project's tasks"},
	{kind: "build", at: `procfile procfile.* *.procfile app.json serverless.yml serverless.yaml serverless.ts fly.toml
		render.yaml vercel.json netlify.toml now.json railway.json railway.toml heroku.yml /app.yaml apprunner.yaml
		nixpacks.toml cdk.json cdktf.json samconfig.toml /template.yaml /template.yml pulumi.yaml pulumi.*.yaml .chalice/
		zappa_settings.json .platform.app.yaml .platform/ .ebextensions/ .htaccess .user.ini php.ini
		dokku* captain-definition .do/ appspec.yml appspec.yaml .lando.yml .ddev/ firebase.json .firebaserc amplify.yml`,
		says: "decides what is started when it is deployed"},
	{kind: "build", at: `.goreleaser.yml .goreleaser.yaml goreleaser.yml goreleaser.yaml .releaserc .releaserc.*
		release.config.*
		.release-it.* release-please-config.json .changeset/config.json semantic-release.* .bumpversion.cfg .bumpversion.toml
		commitizen.toml .versionrc .versionrc.* cliff.toml dist.ini dist-workspace.toml .release-plz.toml release-plz.toml
		release.toml .jreleaser.yml jreleaser.yml`, says: "runs when a release is made"},
	{kind: "build", at: `directory.build.props directory.build.targets directory.build.rsp directory.solution.props
		directory.solution.targets directory.packages.props *.targets *.props *.csproj *.vbproj *.fsproj *.vcxproj *.proj
		*.shproj *.sln *.slnx nuke.build .nuke/ .config/dotnet-tools.json .paket/ nuget.exe *.rsp`, says: "MSBuild runs it"},
	{kind: "build", at: "*.nix flake.lock .nix/", says: "nix runs it"},
	{kind: "build", at: `buf.gen.yaml codegen.yml codegen.ts graphql.config.* .graphqlrc* sqlc.yaml openapitools.json
		orval.config.* kubb.config.*`, says: "runs when code is generated"},
	{kind: "build", at: `.terraformrc terragrunt.hcl terraform.rc .terraform/ galaxy.yml playbook*.yml ansible.cfg
		 filter_plugins/ action_plugins/ lookup_plugins/ callback_plugins/ roles/**main.yml`,
		says: "changes machines when it is applied"},

	// ci
	{kind: "ci", at: `.github/workflows/ .github/actions/ .gitea/ .forgejo/ action.yml action.yaml .gitlab-ci.yml
		.gitlab-ci.yaml
		.gitlab-ci/ *.gitlab-ci.yml *.gitlab-ci.yaml .gitlab/ jenkinsfile jenkinsfile-* jenkinsfile.groovy *.jenkinsfile
			.jenkins/
		.circleci/ .travis.yml .travis/ .drone.yml .drone.yaml .drone.star .drone.jsonnet .woodpecker/ .woodpecker.yml
		.woodpecker.yaml .buildkite/ azure-pipelines*.yml azure-pipelines*.yaml .azure-pipelines/ .azuredevops/ .pipelines/
		bitbucket-pipelines.yml appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star .cirrus/ cloudbuild*.yaml cloudbuild*.yml
		cloudbuild.json .cloudbuild/ buildspec*.yml buildspec*.yaml .teamcity/ .semaphore/ semaphore.yml .ci/ /ci/ wercker.yml
		shippable.yml codeship-*.yml .codefresh/ codefresh.yml .tekton/ .harness/ .builds/ .build.yml .sourcehut.yml
		.vsts-ci.yml .buildbot/ .zuul.yaml zuul.yaml zuul.d/ .zuul.d/ .prow.yaml .prow/ bors.toml .packit.yaml .packit.yml
		.copr/ .earthly/ .dagger/ dagger.json .spacelift/ atlantis.yaml .onedev-buildspec.yml .screwdriver.yml
		screwdriver.yaml .space.kts .concourse/ .nx-cloud/ .gocd.yaml *.gocd.yaml ci_scripts/ .xcode-cloud/ xcode-cloud/
		codemagic.yaml bitrise.yml .bitrise/ .kokoro/ .evergreen.yml .taskcluster.yml .werft/ .ado/ .depot/ .github/scripts/
		.readthedocs.yml .readthedocs.yaml readthedocs.yml .netlify/ .scrutinizer.yml .styleci.yml .hound.yml .deepsource.toml
		.mega-linter/ .lgtm.yml .whitesource .fossa.yml ci.yml /ci.sh`, says: "runs in CI with the repository's rights"},
	{kind: "ci", at: `.github/dependabot.yml .github/dependabot.yaml renovate.json renovate.json5 .renovaterc .renovaterc.*
		.github/renovate.json .github/renovate.json5 .snyk .trivyignore .trivyignore.yaml .gitleaks.toml .gitleaksignore
		.secrets.baseline osv-scanner.toml .semgrepignore .semgrep.yml .semgrep/ .bandit codeql-config.yml .github/codeql/
		sonar-project.properties .talismanrc .trufflehog* .grype.yaml .checkov.yaml .checkov.yml deny.toml audit.toml .nsprc
		.audit-ci.json audit-ci.json* .gitguardian.yml .gitguardian.yaml .dependency-check* scorecard.yml .pyup.yml
		.dependabot/ .updatecli/ .whitesource trivy.yaml .safety-policy.yml`,
		says: "decides what updates and scans for security happen"},

	// review
	{kind: "review", at: `codeowners owners owners_aliases .owners maintainers maintainers.md maintainers.txt reviewers
		reviewers.md .github/auto_assign.yml .github/auto-assign.yml .github/reviewers.yml .github/reviewer-lottery.yml
		governance.md code-owners approvers .approvers security_contacts .arcconfig .arclint pull_request_template.md
		pull_request_template/ .github/pull_request_template/ merge_request_templates/ .reviewboardrc .sops.yaml .sops.yml
			.gitreview`,
		says: "decides who must review, or who can read"},
	{kind: "review", at: `.mergify.yml .mergify.yaml .mergify/ .github/mergify.yml .kodiak.toml .github/.kodiak.toml
		.bulldozer.yml .policy.yml policy-bot.yml .github/settings.yml .github/settings.yaml .github/rulesets/
		.github/branch-protection* .github/safe-settings* .github/merge-queue* .asf.yaml .github/labeler.yml
		.github/labels.yml .coderabbit.yaml .coderabbit.yml .pullapprove.yml .lgtm .reviewpad.yml reviewpad.yml
		.github/probot* .sourcery.yaml greptile.json .greptile/ .graphite* .gitstream/ .cm/ .aviator/ .github/stale.yml
		.tide.yaml .github/boring-cyborg.yml .gitstream.cm .trunk-merge.yaml .github/auto-merge.yml .pr_agent.toml
		.bito.yaml .ellipsis.yaml .korbit.yaml .qodo.toml`, says: "decides what may be merged, and how"},
	{kind: "review", at: ".git-blame-ignore-revs", says: "changes who seems to have written a line"},

	// packages
	{kind: "packages", at: `pip.conf pip.ini .pip/ uv.toml .pypirc pdm.toml .pdm.toml poetry.toml pixi.toml .condarc
		condarc
		conda-lock.yml nuget.config paket.dependencies .jfrog/ artifactory* .artifactory* sources.list *.sources.list *.repo
		mirrors.txt .goproxy helmfile.yaml helmfile.yml cartfile repositories.yaml repositories.yml settings.xml
		.config/pip/ .gitmodules .bundle/config verification-metadata.xml jitpack.yml go.work .netrc-packages .gopath
			vendor.conf`,
		says: "decides where packages come from"},
	{kind: "packages", at: "requirements*.txt *requirements.txt requirements/*.txt requirements*.in requirements/*.in" +
		" constraints*.txt", says: "takes packages from elsewhere", read: readRequirements, keys: []key{
		{"name/**", depsOf, "", ""}}},
	{kind: "packages", at: "go.mod", says: "takes modules from elsewhere, or decides which Go is used", read: readGoMod,
		keys: []key{{"require/**", depsOf, "", ""}, {"go module", "", "", ""}}},
	{kind: "packages", at: "pipfile", says: "decides where packages come from", read: readTOML, keys: []key{
		{"packages/** dev-packages/**", depsOf, "", ""}, {"scripts/**", "build", "pipenv runs it", ""},
		{"requires/**", "", "", ""}}},
	{kind: "packages", at: "environment.yml environment.yaml pubspec.yaml", says: "decides where packages come from",
		read: readYAML, keys: []key{{`dependencies/** dev_dependencies/** dependency_overrides/**`, depsOf, "", ""},
			{`name version description homepage repository environment/** flutter/** issue_tracker topics/**
				documentation publish_to`, "", "", ""}}},
	{kind: "packages", at: "vcpkg.json", says: "decides where packages come from", read: readJSON, keys: []key{
		{"dependencies/** features/** overrides/**", depsOf, "", ""},
		{"name version* description homepage license $schema", "", "", ""}}},

	// code of others
	{kind: depsOf, at: `vendor/ node_modules/ .yarn/cache/ .yarn/unplugged/ .yarn/install-state.gz bower_components/
		third_party/ thirdparty/ vendored/ _vendor/ web_modules/ jspm_packages/ carthage/`, danger: Medium,
		says: "is code of others that the project carries"},

	// environment
	{kind: "", at: `*.env.example *.env.sample *.env.template *.env.dist .env.example .env.sample .env.template .env.dist
		.env.*.example .env-example .env-sample .env.tmpl .env.defaults .env.schema .env.*.sample .env.*.template
		example.env sample.env env.example`},
	{kind: "environment", at: `.env .env.* *.env .flaskenv .dockerenv env.local .secrets .secret .dev.vars .env-*
		secrets.yml
		secrets.yaml secrets.json credentials.json credentials .netrc _netrc .pgpass .htpasswd .aws/ .kube/ kubeconfig id_rsa
		id_ed25519 id_ecdsa .vault-token .docker/config.json master.key local.settings.json appsettings.*.json
		application-*.properties application-*.yml application-*.yaml`, says: "programs load it by themselves"},
}
