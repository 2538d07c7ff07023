package program

import (
	"github.com/cco-dev/cco/internal/guard/program/table"
)

// runTool handles the programs whose arguments need to be understood.
func (s *Judge) runTool(name string, argv []arg) bool {
	r := table.Find(name, table.ToolRow)
	if r == nil {
		return s.reader(name, argv)
	}
	switch args := argv[1:]; r.Family() {
	case "git":
		s.Command(argv)
	case "cp":
		s.copy(name, args)
	case "mv":
		s.move(args)
	case "ln":
		s.link(args)
	case "mkdir":
		s.mkdir(args)
	case "chmod":
		s.change(args)
	case "dd":
		s.dd(args)
	case "tar":
		s.tar(argv)
	case "bazel":
		s.labels(argv)
	case "sed":
		s.sed(argv)
	case "make":
		s.make(argv)
	case "docker":
		s.container(argv)
	case "sqlite3":
		s.database(name, argv)
	case "kill":
		s.kill(argv)
	case "patch":
		s.patch(name, argv)
	default:
		s.described(r, name, argv)
	}
	return true
}

// reader handles programs that only read, but for the options that write.
func (s *Judge) reader(name string, argv []arg) bool {
	if r := table.Find(name, table.ReaderRow); r != nil {
		s.described(r, name, argv)
		return true
	}
	return s.printed(name, argv)
}
