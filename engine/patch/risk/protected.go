package risk

import (
	"path"
	"strings"
)

// Kind says why a path is protected.
type Kind string

// Kinds of protected paths. A patch that touches one needs a person, whatever the
// policy says.
const (
	Dependencies Kind = "dependencies"
	CI           Kind = "ci"
	Build        Kind = "build"
	AgentConfig  Kind = "agent_config"
	EditorConfig Kind = "editor_config"
	Hooks        Kind = "hooks"
	Secret       Kind = "secret"
	PolicyFile   Kind = "policy"
	IgnoreFile   Kind = "ignore"
	StoreFile    Kind = "store"
	VerifierConf Kind = "verifier"
)

// protectedNames are lower-cased base names at any depth. The list is ours; it
// covers the package managers and CI services that document a fixed file name.
var protectedNames = kinds(map[Kind]string{
	Dependencies: "cargo.lock cargo.toml composer.json composer.lock gemfile gemfile.lock gems.rb gems.locked go.mod go.sum go.work go.work.sum " +
		"package-lock.json package.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml yarn.lock .yarnrc .yarnrc.yml .npmrc .pnpmfile.cjs bun.lock bun.lockb bunfig.toml " +
		"deno.json deno.jsonc deno.lock jsr.json lerna.json nx.json turbo.json rush.json " +
		"poetry.lock poetry.toml pdm.lock uv.lock uv.toml pyproject.toml pipfile pipfile.lock pylock.toml environment.yml environment.yaml conda-lock.yml pixi.toml pixi.lock " +
		"mix.exs mix.lock rebar.config rebar.lock pubspec.yaml pubspec.lock package.swift package.resolved podfile podfile.lock cartfile cartfile.resolved " +
		"packages.lock.json packages.config directory.packages.props nuget.config paket.dependencies paket.lock " +
		"build.sbt gradle.lockfile gradle.properties libs.versions.toml pom.xml ivy.xml stack.yaml stack.yaml.lock cabal.project cabal.project.freeze " +
		"conanfile.txt conanfile.py conan.lock vcpkg.json flake.nix flake.lock default.nix shell.nix renv.lock opam dune-project shard.yml shard.lock .gitmodules module.bazel.lock maven_install.json manifest.toml project.toml juliamanifest.toml juliaproject.toml buf.lock buf.yaml chart.lock chart.yaml berksfile berksfile.lock puppetfile galaxy.yml elm.json gleam.toml spago.lock spago.yaml wally.toml wally.lock .terraform.lock.hcl devbox.json opam.locked project.assets.json mise.lock devbox.lock haxelib.json nimble.lock deps.edn project.clj bb.edn cpanfile cpanfile.snapshot makefile.pl build.pl dub.json dub.sdl dub.selections.json luarocks.lock bower.json soldeer.lock foundry.lock move.toml move.lock scarb.toml scarb.lock yarn.config.cjs",
	CI: ".gitlab-ci.yml .gitlab-ci.yaml .travis.yml .travis.yaml azure-pipelines.yml azure-pipelines.yaml jenkinsfile bitbucket-pipelines.yml appveyor.yml .appveyor.yml " +
		".cirrus.yml .cirrus.star .drone.yml .drone.yaml .woodpecker.yml .woodpecker.yaml wercker.yml codefresh.yml buddy.yml cloudbuild.yaml cloudbuild.yml buildspec.yml buildspec.yaml " +
		".semaphore.yml codeship-services.yml codeship-steps.yml bitrise.yml codemagic.yaml .pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml codeowners " +
		"renovate.json .renovaterc .renovaterc.json dependabot.yml sonar-project.properties codecov.yml .codecov.yml netlify.toml vercel.json fly.toml render.yaml procfile serverless.yml skaffold.yaml tiltfile .goreleaser.yml .goreleaser.yaml goreleaser.yml goreleaser.yaml .releaserc .releaserc.json .releaserc.yml .releaserc.yaml release.config.js release-please-config.json .release-please-manifest.json .prow.yaml .zuul.yaml zuul.yaml .build.yml mergify.yml .mergify.yml",
	Build: "dockerfile containerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml .dockerignore makefile gnumakefile bsdmakefile justfile .justfile taskfile.yml taskfile.yaml rakefile " +
		"cmakelists.txt cmakepresets.json meson.build meson_options.txt build.ninja configure configure.ac configure.in build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradlew gradlew.bat mvnw mvnw.cmd " +
		"workspace workspace.bazel workspace.bzlmod module.bazel build.bazel .bazelrc .bazelversion buck .buckconfig pants.toml sconstruct sconscript xmake.lua premake5.lua wscript build.rs build.zig build.zig.zon " +
		"setup.py setup.cfg tsconfig.json jsconfig.json babel.config.js webpack.config.js vite.config.js rollup.config.js vagrantfile earthfile dagger.json magefile.go .tool-versions .mise.toml mise.toml rust-toolchain rust-toolchain.toml .nvmrc .python-version .ruby-version",
	AgentConfig: "agents.md agents.override.md agent.md claude.md claude.local.md gemini.md qwen.md copilot-instructions.md .cursorrules .cursorignore .windsurfrules .clinerules .roorules .roomodes .goosehints " +
		".aider.conf.yml .aiderignore .mcp.json mcp.json opencode.json opencode.jsonc .codexrc .codeiumignore .geminiignore .claude.json crush.json",
	EditorConfig: ".editorconfig .envrc .direnvrc .vimrc .exrc .nvimrc .nvim.lua .lvimrc .sublime-project .local.vimrc .dir-locals.el .dir-locals-2.el .ycm_extra_conf.py .project .classpath",
	Hooks:        ".gitconfig .gitattributes .mailmap .huskyrc .huskyrc.json .lintstagedrc .lintstagedrc.json simple-git-hooks.json",
	IgnoreFile:   ".gitignore .viseignore .ignore .agentdiffignore .npmignore .agentignore .eslintignore .prettierignore .hgignore .fdignore .rgignore .gcloudignore .vercelignore",
	PolicyFile:   "vise.toml vise-policy.toml vise-policy.json agentdiff.yaml agentdiff.yml agentdiff.json",
	VerifierConf: "conftest.py pytest.ini tox.ini noxfile.py .coveragerc phpunit.xml phpunit.xml.dist karma.conf.js .mocharc.json .mocharc.js .mocharc.yml .nycrc .nycrc.json nextest.toml .rspec .golangci.yml .golangci.yaml cypress.json sitecustomize.py biome.json biome.jsonc deny.toml usercustomize.py mypy.ini .mypy.ini pyrightconfig.json ruff.toml .ruff.toml .flake8 .pylintrc .bandit bandit.yaml .prettierrc .rubocop.yml .swiftlint.yml clippy.toml .clippy.toml .codeclimate.yml checkstyle.xml phpstan.neon phpstan.neon.dist psalm.xml .credo.exs .simplecov wallaby.js stryker.conf.json",
})

// protectedFolders are lower-cased folder names at any depth: everything in them is protected.
var protectedFolders = kinds(map[Kind]string{
	CI:           ".github .gitlab .circleci .buildkite .drone .woodpecker .teamcity .semaphore .azure-pipelines .forgejo .gitea .concourse .tekton .harness",
	Build:        ".devcontainer .mvn .cargo .yarn .bundle",
	AgentConfig:  ".claude .codex .gemini .copilot .cursor .windsurf .continue .cline .roo .kilocode .goose .aider .opencode .amp .qwen .junie .kiro .agents .agent .trae .augment .crush .clinerules .roorules .windsurfrules .cursorrules",
	EditorConfig: ".vscode .idea .fleet .zed .nvim .vs .settings .helix .theia",
	Hooks:        ".git .hg .svn .jj .githooks .husky",
	Secret:       ".ssh .aws .kube .gnupg .gcloud .azure .docker credentials secrets",
	StoreFile:    ".vise .agentdiff",
})

// protectedHeads and protectedEnds are starts and ends of base names that come in many spellings.
var protectedHeads = []struct {
	head string
	kind Kind
}{
	{"requirements", Dependencies}, {"constraints", Dependencies}, {"dockerfile.", Build}, {"containerfile.", Build}, {"makefile.", Build}, {"docker-compose.", Build}, {"compose.override.", Build},
	{"tsconfig.", Build}, {"vite.config.", Build}, {"webpack.config.", Build}, {"rollup.config.", Build}, {"babel.config.", Build}, {"jenkinsfile.", CI},
	{"jest.config.", VerifierConf}, {"vitest.config.", VerifierConf}, {"vitest.workspace.", VerifierConf}, {"playwright.config.", VerifierConf}, {"cypress.config.", VerifierConf}, {"karma.conf.", VerifierConf}, {"ava.config.", VerifierConf},
	{".lintstagedrc.", Hooks}, {".aider.", AgentConfig}, {"eslint.config.", VerifierConf}, {".eslintrc", VerifierConf},
}

var protectedEnds = []struct {
	end  string
	kind Kind
}{
	{".csproj", Dependencies}, {".fsproj", Dependencies}, {".vbproj", Dependencies}, {".sln", Build}, {".gemspec", Dependencies}, {".cabal", Dependencies}, {".podspec", Dependencies}, {".opam", Dependencies},
	{".gradle", Build}, {".mk", Build}, {".gradle.kts", Build}, {".cmake", Build}, {".bzl", Build}, {".code-workspace", EditorConfig}, {".iml", EditorConfig}, {".ipr", EditorConfig}, {".iws", EditorConfig}, {".sublime-project", EditorConfig}, {".sublime-workspace", EditorConfig}, {".suo", EditorConfig}, {".csproj.user", EditorConfig}, {".pth", VerifierConf},
	{".lock", Dependencies}, {".lockfile", Dependencies}, {"-lock.json", Dependencies}, {"-lock.yaml", Dependencies}, {"-lock.yml", Dependencies}, {".lock.json", Dependencies}, {".lock.yaml", Dependencies}, {".lock.yml", Dependencies}, {".lock.hcl", Dependencies}, {".lock.toml", Dependencies}, {".mdc", AgentConfig}, {".keystore", Secret}, {".jks", Secret}, {".kdbx", Secret},
}

// requirementFile tells requirement lists from sources that are called alike.
func requirementFile(base string) bool {
	return strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".in") || strings.HasSuffix(base, ".pip")
}

// Protected reports whether a normal path is one that no patch may touch without
// a person, and why. Letter case does not count, depth does not count, names are
// compared whole (or by the documented families above), never as prefixes of a
// longer path.
func Protected(normal string) (Kind, bool) {
	low := strings.ToLower(normal)
	dir, base := path.Split(low)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if k, ok := protectedFolders[part]; ok {
			return k, true
		}
		if (part == "requirements" || part == "constraints") && requirementFile(base) {
			return Dependencies, true
		}
	}
	if k, ok := protectedFolders[base]; ok {
		return k, true // a file, or a link, in place of such a folder
	}
	if k, ok := protectedNames[base]; ok {
		return k, true
	}
	if secret(low, nil) {
		return Secret, true
	}
	for _, h := range protectedHeads {
		if !strings.HasPrefix(base, h.head) {
			continue
		}
		if h.kind != Dependencies || requirementFile(base) {
			return h.kind, true
		}
	}
	for _, e := range protectedEnds {
		if strings.HasSuffix(base, e.end) {
			return e.kind, true
		}
	}
	return "", false
}

func kinds(lists map[Kind]string) map[string]Kind {
	out := map[string]Kind{}
	for k, words := range lists {
		for _, w := range strings.Fields(words) {
			out[w] = k
		}
	}
	return out
}
