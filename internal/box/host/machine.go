package host

import (
	"os"
	"strconv"
	"strings"
)

// Variables are those that programs get of the user's environment: the language, the terminal, and where
// toolchains are. Whatever else they need, box.env in the settings says.
func Variables() []string {
	return []string{
		"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ",
		"TERM", "COLORTERM", "NO_COLOR", "USER", "LOGNAME", "SHELL",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NIX_PATH", "NIX_PROFILES", "LOCALE_ARCHIVE", "TERMINFO_DIRS",
		"JAVA_HOME", "ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "MAVEN_HOME", "GRADLE_HOME", "SDKMAN_DIR",
		"GOROOT", "GOTOOLCHAIN", "GOENV_ROOT", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "NVM_DIR", "NVM_BIN", "VOLTA_HOME",
		"NODENV_ROOT", "FNM_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX",
		"RBENV_ROOT", "PYENV_VERSION", "RBENV_VERSION", "NODENV_VERSION", "CONDA_DEFAULT_ENV", "CONDA_EXE",
		"CONDA_PYTHON_EXE", "OPAM_SWITCH_PREFIX", "CAML_LD_LIBRARY_PATH", "OCAML_TOPLEVEL_PATH",
		"__NIXOS_SET_ENVIRONMENT_DONE", "DOTNET_ROOT", "SWIFTLY_HOME_DIR", "DEVELOPER_DIR", "SDKROOT", "HOMEBREW_PREFIX",
		"CUDA_HOME", "CC", "CXX", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH",
	}
}

// MountPoints are where something is mounted in the host's tree, as the kernel lists it.
func MountPoints() (list []string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			if name, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[4], `"`, `\"`) + `"`); err == nil {
				list = append(list, name)
			}
		}
	}
	return list
}
