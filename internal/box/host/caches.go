package host

import (
	"os"
	"slices"
)

// caches are the places below a home where build tools keep what they can fetch or build again. A cage has layers over
// them. What lies beside them in the same directories is not shown: registries' tokens, settings, logs.
func caches() []string {
	return slices.Concat(
		each(".cache", []string{"bazel", "bazelisk", "cabal", "ccache", "coursier", "Cypress", "deno", "electron",
			"electron-builder", "go-build", "golangci-lint", "goimports", "huggingface/hub", "ms-playwright", "mypy", "node",
			"node-gyp", "pdm", "pip", "pnpm", "pre-commit", "prisma", "puppeteer", "pypoetry", "rattler", "ruff", "sccache",
			"staticcheck", "turbo", "uv", "yarn", "zig"}),
		each("go", []string{"bin", "pkg"}), each(".npm", []string{"_cacache", "_npx"}),
		each(".cargo", []string{"bin", "git", "registry"}), each(".gradle", []string{"caches", "wrapper"}),
		each(".m2", []string{"repository", "wrapper"}), each(".julia", []string{"artifacts", "compiled", "packages"}),
		[]string{".bun/install/cache", ".bundle/cache", ".cabal/packages", ".ccache", ".conda/pkgs", ".electron",
			".gem/ruby", ".hex/packages", ".ivy2/cache", ".konan", ".local/share/pnpm/store", ".local/share/virtualenvs",
			".mix/archives", ".nuget/packages", ".pnpm-store", ".pub-cache", ".sbt/boot", ".sccache",
			".terraform.d/plugin-cache", ".yarn/berry/cache"})
}

// Caches are those of a home that are there.
func Caches(home string) (list []string) {
	for _, name := range each(home, caches()) {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			list = append(list, name)
		}
	}
	return list
}
