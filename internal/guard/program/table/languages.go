package table

// LanguageOf returns the language of a source file by its extension.
func LanguageOf(ext string) string {
	switch ext {
	case ".py", ".pyw":
		return "python"
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx":
		return "javascript"
	case ".pl", ".pm", ".t":
		return "perl"
	case ".rb", ".rake", ".gemspec":
		return "ruby"
	case ".php":
		return "php"
	case ".lua":
		return "lua"
	case ".go", ".rs", ".c", ".cc", ".cpp", ".java", ".kt", ".swift", ".zig", ".cs", ".scala", ".groovy", ".gradle":
		return "go"
	case ".tcl", ".r", ".R", ".jl", ".exs", ".ex":
		return "other"
	}
	return ""
}

// ProgramOptions are the options of one interpreter.
type ProgramOptions struct {
	Text   string // short options with program text
	Long   []string
	Valued string // other short options with a value
	Load   []string
}

// OptionsOf are the options of the interpreters of a language.
func OptionsOf(lang string) ProgramOptions {
	switch lang {
	case "python":
		return ProgramOptions{Text: "c", Valued: "mWXQ"}
	case "javascript":
		return ProgramOptions{Text: "ep", Long: []string{"--eval", "--print", "-pe"}, Valued: "rCi",
			Load: []string{"-r", "--require", "--import", "--loader", "--experimental-loader"}}
	case "perl":
		return ProgramOptions{Text: "eE", Valued: "IMmx"}
	case "ruby":
		return ProgramOptions{Text: "e", Valued: "IrCE"}
	case "php":
		return ProgramOptions{Text: "rBRE", Long: []string{"--run"}, Valued: "dcfzt"}
	case "lua":
		return ProgramOptions{Text: "e", Valued: "l"}
	}
	return ProgramOptions{Long: []string{"-e", "-c", "-E", "--eval", "-eval", "--execute", "--expression", "-Command",
		"-command", "-g", "--batch-string"}}
}
