package script

import (
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard/word"
)

// effect is what calls of a name do with what they are given.
type effect uint16

const (
	writes  effect = 1 << iota // writes, makes, moves or removes the path
	content                    // only the first argument of such a call is a path
	copies                     // reads all paths but the last, which it writes
	removes                    // takes away or moves the path
	enters                     // changes directory
	opens                      // writes or reads by its mode
	reads                      // only looks at the path, or takes text
	prints                     // does so in languages of which no more is known
	runs                       // starts another program
	decodes                    // makes readable text out of something unreadable
)

// acts are the effects by which a program does more than read.
const acts = writes | copies | enters | runs | opens

// effects names calls in any of the languages, by their last name or with their owner.
var effects = [...]struct {
	does  effect
	calls string
}{
	{writes, " write_text write_bytes writeFile writeFileSync appendFile appendFileSync createWriteStream outputFile " +
		"outputFileSync outputJson outputJsonSync writeJson writeJsonSync mkdir makedirs mkdirSync mkdir_p " +
		"mkpath make_path ensureDir ensureDirSync emptyDir emptyDirSync ensureFile mkdirp MkdirAll Mkdir " +
		"create_dir create_dir_all rmdir rmdirSync rm rmSync rm_rf rm_r rm_f rmtree remove removeSync removedirs " +
		"unlink unlinkSync remove_tree remove_dir_all remove_file Remove RemoveAll delete remove_entry_secure " +
		"remove_dir rename renameSync renames copyfile copy2 copytree copyFile copyFileSync cpSync cp cp_r mv " +
		"move moveSync Rename copy_file copymode copystat symlink symlinkSync linkSync hardlink_to symlink_to " +
		"ln_s ln_sf ln Symlink Link chmod chmodSync lchmod chown chownSync lchown chmod_R chown_R truncate " +
		"truncateSync touch utime utimes utimesSync Chmod Chown Truncate file_put_contents tempnam mkfifo mknod " +
		"fputs WriteFile CreateTemp Create OpenFile creat freopen spew writeTextFile writeTextFileSync saveAs " +
		"savefig to_csv to_json to_excel to_parquet to_pickle extractall unpack_archive make_archive write_file " +
		"binwrite write_json FileHandler RotatingFileHandler urlretrieve savetxt imwrite write_csv connect " +
		"putFile io_open_write writeLines install File::create chroot symlink_force write-region write_image " +
		"dumpToFile File.write IO.write File.binwrite IO.binwrite Bun.write os.replace shutil.copy fs.copy " +
		"fs.link os.link File.rename File.delete File.symlink File.link FileUtils.copy fs.promises.cp fs::write " +
		"fs::copy std::fs::write File.new shelve.open dbm.open "},
	{content, " writeFile writeFileSync appendFile appendFileSync outputFile outputFileSync outputJson outputJsonSync " +
		"writeJson writeJsonSync file_put_contents WriteFile writeTextFile writeTextFileSync spew binwrite " +
		"write_file File.write IO.write Bun.write fs::write std::fs::write "},
	{copies, " copy copy2 copyfile copytree copyFile copyFileSync cp cpSync cp_r copySync copy_file copyfileobj "},
	{removes, " rmtree rename renameSync renames rm rmSync rmdir rmdirSync remove removeSync rm_rf rm_r rm_f move " +
		"moveSync mv RemoveAll Remove Rename remove_dir_all remove_tree delete unlink unlinkSync "},
	{enters, " chdir Chdir fchdir set_current_dir setCurrentDirectory setwd cd! "},
	{opens, " open fopen openSync fdopen sysopen File.open io.open TarFile ZipFile NamedTemporaryFile opendir "},
	{reads, " eq ne cmp lines exists isfile isdir islink listdir scandir walk glob iglob rglob stat lstat getsize " +
		"getmtime samefile access accessSync read_text read_bytes readFile readFileSync readdir readdirSync " +
		"existsSync statSync lstatSync realpathSync readlink readlinkSync createReadStream readJson readJsonSync " +
		"readTextFile readTextFileSync load_file safe_load_file read readlines exist entries each_child children " +
		"foreach require require_relative import import_module __import__ ReadFile ReadDir Open Stat Lstat " +
		"file_get_contents is_file is_dir file_exists file include include_once require_once read_csv read_json " +
		"load loads insert append addpath addsitedir unshift push print println puts log printf say warn die p " +
		"pp pprint error info debug write Println Printf Errorf Sprintf exit raise Error ValueError RuntimeError " +
		"Exception SystemExit throw assert startswith endswith startsWith endsWith includes indexOf match search " +
		"findall fullmatch compile sub split replace replaceAll strip lstrip rstrip removeprefix format test " +
		"count find index RegExp gsub sub! start_with end_with dirname basename get post put fetch urlopen " +
		"Request URL add_argument getenv setdefault pop has contains equal assertEqual Get Post HandleFunc " +
		"Handle route echo len safe_dump writerow writerows disk_usage encode_json decode_json str_replace " +
		"preg_replace preg_match strpos explode strlen trim length isinstance Counter partition assertIn " +
		"assertNotIn assertTrue expect toBe toEqual equals deepEqual strictEqual ok extend concat substring " +
		"slice upper lower toUpperCase toLowerCase encodeURIComponent which readLines nchar relpath relative " +
		"commonpath commonprefix splitext extname isAbsolute parse relative_to is_relative_to as_uri as_posix " +
		"PurePosixPath repr set list dict tuple sorted type hash bytes encode Set Map keys values assign " +
		"deepcopy dump generate md5 sha256 update json_encode stringify dumps var_dump print_r var_export " +
		"serialize escape quote sprintf "},
	{prints, " files len length strlen nchar size count dir print println puts printf say format pprint echo " +
		"exists exist isfile " +
		"is_file is_dir read readFile read_text readdir readlines Write-Output Write-Host Get-Content Test-Path " +
		"Get-ChildItem Get-Item Println log info warn error displayln display inspect putStrLn putStr " +
		"print_endline print_string disp message writeln WriteLine slurp read_file readString readLines list_dir " +
		"ls isdir readtext newline write-line pr prn find findOne "},
	{runs, " system popen Popen check_call check_output getoutput getstatusoutput execSync execFile execFileSync " +
		"spawnSync execl execle execlp execv execve execvp execvpe spawnl spawnlp spawnv spawnvp spawnve " +
		"posix_spawn posix_spawnp shell_exec passthru proc_open pcntl_exec capture2 capture2e capture3 popen2 " +
		"popen3 pipeline startfile create_subprocess_shell create_subprocess_exec execa execaSync execaCommand " +
		"syscall system_detached shell-command start-process "},
	{decodes, " b64decode b32decode b16decode a85decode urlsafe_b64decode standard_b64decode fromhex unhexlify " +
		"a2b_base64 a2b_hex decodebytes decodestring atob fromCharCode fromCodePoint chr unpack pack decode64 " +
		"strict_decode64 urlsafe_decode64 base64_decode hex2bin str_rot13 unescape decompress inflate gzinflate " +
		"gunzipSync inflateSync urlopen urlretrieve decode_base64 DecodeString reversed reverse strrev char " +
		"rot13 bytearray maketrans translate unquote decodeURIComponent Buffer.from codecs.decode string.char " +
		"marshal.loads requests.get "},
}

// effects says what a call does. Names that are common elsewhere count only in
// the company of the module that they come from.
func (p *program) effects(call string) effect {
	e, known := p.known[call]
	if known {
		return e
	}
	name := lastName(call)
	for i := range effects {
		if r := &effects[i]; word.Listed(r.calls, name) || word.Listed(r.calls, call) {
			e |= r.does
		}
	}
	if strings.HasPrefix(call, "FileUtils.") || strings.HasPrefix(call, "shutil.copy") {
		e |= writes
	}
	if p.starts(name, call) {
		e |= runs
	}
	p.known[call] = e
	return e
}

// starts says that a call of a common name starts a program.
func (p *program) starts(name, call string) bool {
	switch name {
	case "run", "call":
		return strings.HasPrefix(call, "subprocess.") || strings.HasPrefix(call, "sp.") || p.mentions("subprocess")
	case "exec", "spawn", "fork":
		return p.lang != "python" && (p.mentions("child_process") || p.lang == "ruby" || p.lang == "perl" ||
			p.lang == "php" || p.lang == "other") || p.mentions("pty")
	case "execute":
		return p.lang == "lua" || strings.HasPrefix(call, "os.")
	case "Command", "CommandContext", "command":
		return p.lang == "go"
	case "new":
		return strings.Contains(call, "Command")
	}
	return false
}

// mentions says whether a name or a string of the program is word.
func (p *program) mentions(part string) bool {
	return slices.ContainsFunc(p.toks, func(t Token) bool {
		return (t.Kind == 'i' || t.Kind == 's') && strings.Contains(t.Text, part)
	})
}
