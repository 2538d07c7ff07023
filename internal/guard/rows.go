package guard

import (
	"slices"
	"strings"
)

// deputy is a program that has somebody else act, whom neither the guard nor the kernel's view of the agent holds.
type deputy struct {
	names   string // with blanks between them
	act     string // what it does
	instead string
	reads   string // first words with which it only tells something
}

var deputies = [...]deputy{
	{"docker docker-compose podman podman-compose nerdctl buildah ctr crictl skopeo lima limactl colima multipass " +
		"vagrant orb virsh lxc incus machinectl", "runs containers or machines, which see what they are given of the host",
		"run what you need in the workspace, or ask the user to start it",
		"ps images logs info inspect top stats history port search list ls status"},
	{"sudo su doas pkexec runuser sg newgrp", "acts as another user", "do it as you are, or ask the user", "-l -v"},
	{"systemd-run at batch anacron", "has the system start a program outside of this call", "start it directly", ""},
	{"crontab", "has the system start programs later", "run them now, or ask the user", "-l"},
	{"systemctl service initctl rc-service launchctl loginctl", "has the system act outside the workspace",
		"start the program itself, or ask the user", "status show cat is-active is-enabled list list-units " +
			"list-unit-files list-timers print list-sessions show-session"},
	{"osascript shortcuts automator emacsclient nvr gvim-remote code code-insiders cursor windsurf zed subl goland " +
		"pycharm", "has another program of the user's act", "use the file tools, or a program of the command line", ""},
	{"open xdg-open gio kde-open exo-open gnome-open wslview gdbus dbus-send busctl qdbus qdbus6",
		"has the user's desktop or its daemons act", "tell the user what to do", "info list tree introspect"},
	{"gsettings dconf defaults xfconf-query kwriteconfig5 kwriteconfig6", "changes settings of the user's desktop",
		"leave them as they are", "get list-schemas list-keys list-recursively read dump"},
	{"tmux screen zellij byobu dtach abduco pm2 supervisorctl forever", "has a server outside this call run commands",
		"run them here, in the background with & if need be",
		"ls -ls list list-sessions list-panes list-windows capture-pane status logs"},
	{"nsenter unshare chroot bwrap firejail proot setpriv capsh flatpak-spawn distrobox toolbox host-spawn " +
		"distrobox-host-exec dbus-run-session dbus-launch wsl wsl.exe cmd.exe powershell.exe explorer.exe",
		"runs a program in another view of the machine", "run it here, as it is", ""},
	{"mount umount fusermount fusermount3 sshfs losetup swapon swapoff", "changes what the machine has mounted",
		"copy the files into the workspace", "-l"},
	{"insmod modprobe rmmod sysctl kexec", "changes the kernel", "ask the user", "-a -n"},
	{"reboot shutdown poweroff halt telinit useradd usermod userdel groupadd adduser deluser passwd visudo",
		"stops the machine, or changes its users", "ask the user", ""},
	{"apt apt-get aptitude dpkg dnf yum rpm zypper pacman apk snap flatpak brew", "changes the machine's packages",
		"ask the user to install it, or install it below the workspace",
		"list show search info policy -l -L -q -qa -Q -Qs -Ss outdated leaves deps"},
	{"iptables nft ufw firewall-cmd", "changes the machine's network", "ask the user", "-L -S list status"},
	{"aider crush cursor-agent copilot kiro droid cline plandex", "is another agent, which no guard is around",
		"do the work yourself", ""},
	{"cco cco-box cco-guard cco-cruise", "is what started you and keeps you in your workspace", "go on with the task", ""},
}

// findDeputy finds the row of a program.
func findDeputy(name string) (deputy, bool) {
	for i := range deputies {
		if listed(deputies[i].names, name) {
			return deputies[i], true
		}
	}
	return deputy{}, false
}

// reader are programs that only read what they are given, or take it for data, unless they are told one of acts: an
// option by its long name, a letter of short ones, or another word.
type reader struct{ names, acts string }

var readers = [...]reader{
	{"cat tac nl bat batcat head tail less more zcat zless bzcat xzcat zstdcat wc stat file ls dir vdir eza exa lsd du " +
		"df readlink realpath basename dirname pwd which whereis type hash test [ echo printf seq yes sleep true false : " +
		"grep egrep fgrep zgrep ag ack diff cmp comm colordiff cut tr paste join fold fmt expand rev column numfmt tsort " +
		"md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum jq od hexdump strings nm objdump " +
		"readelf ldd size otool man info help apropos whatis tldr id whoami groups users uname hostname uptime nproc arch " +
		"lscpu lsblk lsof ps pgrep pidof top free vmstat printenv locale tty who ss netstat ip ping dig nslookup host " +
		"getent cal bc expr factor mktemp source . ssh tput clear zipinfo tokei cloc scc shellcheck", ""},
	{"set shift export local declare typeset readonly return exit break continue wait jobs kill alias unalias ulimit " +
		"umask shopt getopts let history dirs times bg fg disown caller enable complete compgen bind logout", ""},
	{"find", "-delete -fprint -fprint0 -fprintf -fls -exec -execdir -ok -okdir"}, {"sort shuf", "-o --output"},
	{"tree", "-o"}, {"rg", "--pre"}, {"fd fdfind", "-x -X --exec --exec-batch"},
	{"sed gsed", "-i --in-place"}, {"awk gawk mawk nawk", "-i --include"}, {"yq", "-i --inplace"}, {"xxd", "-r"},
	{"date", "-s --set"}, {"gofmt goimports", "-w"}, {"curl", "-o --output -c --cookie-jar -D --output-dir --trace"},
	{"gh glab", "clone -D --dir -O --output"}, {"kubectl", "cp config"},
}

// only says that a call of a program only reads.
func only(name string, args []arg) bool {
	for _, r := range readers {
		if listed(r.names, name) {
			return !told(args, r.acts) || r.names == "find" && runsReader(args, r.acts)
		}
	}
	return false
}

// runsReader says that find does nothing but hand what it finds to a program that only reads.
func runsReader(args []arg, acts string) bool {
	i := slices.IndexFunc(args, func(a arg) bool { return strings.HasPrefix(a.text, "-exec") })
	return i >= 0 && i+1 < len(args) && only(args[i+1].text, args[i+2:]) &&
		!told(slices.Delete(slices.Clone(args), i, i+1), acts)
}

// told says whether one of some words is given: a long option also with a value behind it, a letter among others.
func told(args []arg, words string) bool {
	for word := range strings.FieldsSeq(words) {
		for _, a := range args {
			letter := len(word) == 2 && word[0] == '-' && len(a.text) > 1 && a.text[0] == '-' && a.text[1] != '-'
			if a.text == word || letter && strings.Contains(a.text, word[1:]) ||
				strings.HasPrefix(word, "--") && strings.HasPrefix(a.text, word+"=") {
				return true
			}
		}
	}
	return false
}

// Lists of names, with blanks between them.
const (
	shells       = "sh bash dash zsh ksh mksh ash rbash"
	interpreters = "python pypy node nodejs deno bun ruby irb perl php lua luajit tclsh julia R Rscript groovy swift " +
		"scala ipython bpython ghci erl iex osascript guile racket"
	wrappers = "env nice ionice nohup timeout time stdbuf setsid xargs parallel command builtin exec chrt taskset " +
		"strace ltrace watch flock busybox unbuffer caffeinate chronic rlwrap setarch prlimit entr npx bunx pnpx uvx pipx " +
		"start-stop-daemon script"
	// writers change every path that they are given, also where nothing stands yet.
	writers = "rm rmdir unlink shred mv rename trash cp install ln mkdir touch tee dd truncate chmod chown chgrp " +
		"setfacl chattr rsync mkfifo mknod"
	// removers act on a name, with all below it.
	removers = "rm rmdir unlink shred mv rename trash ln"
	// movers are variables by which other directories are entered or other programs run.
	movers = "HOME CDPATH BASH_ENV ENV EDITOR VISUAL PAGER PROMPT_COMMAND LD_PRELOAD XDG_CONFIG_HOME XDG_DATA_HOME"
	// texts are options behind which stands what people or filters read.
	texts = "--message --msg --body --title --subject --description --notes --comment --reason --grep --author --header " +
		"--data --data-raw --data-binary --regex --regexp --pattern --filter --query --format --pretty"
	gitReaders = "log show diff status blame grep ls-files ls-tree cat-file rev-parse rev-list describe shortlog reflog " +
		"for-each-ref merge-base name-rev var version help check-ignore check-attr count-objects diff-tree diff-index " +
		"diff-files whatchanged show-ref show-branch cherry range-diff symbolic-ref verify-commit verify-tag"
)

// listed finds a word in a list.
func listed(list, word string) bool {
	for from := 0; word != "" && !strings.Contains(word, " "); {
		i := strings.Index(list[from:], word)
		if i < 0 {
			return false
		}
		i, from = from+i, from+i+len(word)
		if (i == 0 || list[i-1] == ' ') && (from == len(list) || list[from] == ' ') {
			return true
		}
	}
	return false
}
