package script

import (
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
	passes                     // makes a value of what it gets, which may still be a path
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
	{writes, " write_text write_bytes createWriteStream mkdir makedirs mkdirSync mkdir_p mkpath make_path " +
		"ensureDir ensureDirSync emptyDir emptyDirSync ensureFile mkdirp MkdirAll Mkdir create_dir create_dir_all " +
		"removedirs remove_file remove_entry_secure remove_dir copymode copystat symlink symlinkSync linkSync " +
		"hardlink_to symlink_to ln_s ln_sf ln Symlink Link chmod chmodSync lchmod chown chownSync lchown chmod_R " +
		"chown_R truncate truncateSync touch utime utimes utimesSync Chmod Chown Truncate tempnam mkfifo mknod " +
		"fputs CreateTemp Create OpenFile creat freopen saveAs savefig to_csv to_json to_excel to_parquet to_pickle " +
		"extractall unpack_archive make_archive write_json FileHandler RotatingFileHandler urlretrieve savetxt " +
		"imwrite write_csv connect putFile io_open_write writeLines install File::create chroot symlink_force " +
		"write-region write_image dumpToFile File.binwrite IO.binwrite os.replace shutil.copy fs.copy fs.link " +
		"os.link File.rename File.delete File.symlink File.link FileUtils.copy fs.promises.cp fs::copy File.new " +
		"shelve.open dbm.open "},
	{writes | content, " writeFile writeFileSync appendFile appendFileSync outputFile outputFileSync outputJson " +
		"outputJsonSync writeJson writeJsonSync file_put_contents WriteFile spew writeTextFile writeTextFileSync " +
		"write_file binwrite File.write IO.write Bun.write fs::write std::fs::write "},
	{writes | removes, " rmdir rmdirSync rm rmSync rm_rf rm_r rm_f rmtree remove removeSync unlink unlinkSync " +
		"remove_tree remove_dir_all Remove RemoveAll delete rename renameSync renames mv move moveSync Rename "},
	{writes | copies, " copyfile copy2 copytree copyFile copyFileSync cpSync cp cp_r copy_file "},
	{copies, " copy copySync copyfileobj "},
	{enters, " chdir Chdir fchdir set_current_dir setCurrentDirectory setwd File.cd "},
	{opens, " open fopen openSync fdopen sysopen File.open io.open TarFile ZipFile NamedTemporaryFile opendir "},
	{reads, " eq ne cmp islink listdir scandir walk glob iglob rglob stat lstat getsize getmtime samefile access " +
		"accessSync read_bytes readFileSync readdirSync existsSync statSync lstatSync realpathSync readlink " +
		"readlinkSync createReadStream readJson readJsonSync readTextFile readTextFileSync load_file safe_load_file " +
		"entries each_child children foreach require require_relative import import_module __import__ ReadFile " +
		"ReadDir Open Stat Lstat file_get_contents file_exists file include include_once require_once read_csv " +
		"read_json load loads insert append addpath addsitedir unshift push die p pp debug write Printf Errorf " +
		"Sprintf exit Error ValueError RuntimeError Exception SystemExit search findall fullmatch compile " +
		"replaceAll removeprefix RegExp sub! start_with end_with get post put fetch urlopen Request add_argument " +
		"getenv setdefault pop has assertEqual Get Post HandleFunc Handle route safe_dump writerow writerows " +
		"disk_usage encode_json decode_json str_replace preg_replace preg_match strpos isinstance Counter partition " +
		"assertIn assertNotIn assertTrue expect toBe toEqual deepEqual strictEqual ok extend encodeURIComponent " +
		"which commonpath commonprefix parse is_relative_to as_uri as_posix PurePosixPath repr set dict tuple " +
		"sorted bytes encode Set Map keys values assign deepcopy dump generate update json_encode stringify dumps " +
		"var_dump print_r var_export serialize escape "},
	{reads | passes, " lines sub split replace strip lstrip rstrip gsub dirname URL explode trim concat substring " +
		"slice upper lower toUpperCase toLowerCase relpath relative splitext relative_to list quote sprintf "},
	{reads | prints, " exists isfile isdir read_text readFile readdir read readlines exist is_file is_dir print " +
		"println puts log printf say warn pprint error info Println raise throw assert startswith endswith " +
		"startsWith endsWith includes indexOf match format test count find index basename contains equal echo len " +
		"strlen length equals readLines nchar extname isAbsolute type hash md5 sha256 "},
	{prints, " files size dir Write-Output Write-Host Get-Content Test-Path Get-ChildItem Get-Item displayln " +
		"display inspect putStrLn putStr print_endline print_string disp message writeln WriteLine slurp read_file " +
		"readString list_dir ls readtext newline write-line pr prn findOne file_base_name file-basename " +
		"file-name-from-path file-namestring pathname-name pathname-type tail extension file_ext " +
		"file_name_extension takeFileName takeExtension takeBaseName getName getFileName getNameCount " +
		"lastPathComponent pathExtension stem isabspath isabs is_absolute isAbsolutePath absolute-path " +
		"relative-path pathtype name string_length atom_length string-length bytesize byte_size numel isEmpty empty " +
		"starts_with ends_with hasPrefix hasSuffix starts-with ends-with isPrefixOf isSuffixOf isInfixOf " +
		"string-prefix string-suffix occursin grepl matches regexp strcmp strcmpi strncmp isequal identical compare " +
		"compareTo assert_equal assertEquals expect_equal expect_true expect_identical stopifnot testset should " +
		"shouldBe crc32 all.equal cat prerr_endline eprintln eprint NSLog trace show title xlabel ylabel zlabel " +
		"plot splot label caption comment fail stop warning read.csv readRDS read.table scan file.exists dir.exists " +
		"file.info list.files list-directory directory-list princ prin1 file-name-extension file-name-nondirectory " +
		"file-name-base extractFilename ExtractFileName lastPathPart baseName GetFileName GetExtension " +
		"GetFileNameWithoutExtension IsPathRooted file_name file_stem hasExtension isRelative is_relative pathinfo " +
		"mb_strlen check_suffix baseNameOf stringLength pathExists string-contains readline readLine read_line getline "},
	{passes, " display file_directory_name takeDirectory getParent parent rootname file_path_sans_ext " +
		"file-name-sans-extension join joinpath joinPath file.path fullfile string-append str string paste paste0 " +
		"strrep regsub substr words unwords unlines strsplit chars toList seq vec array uppercase lowercase upcase " +
		"downcase toupper tolower chomp reverse relativize relative-to normalize normpath abspath realpath " +
		"toAbsolutePath File java.io.File Paths.get Path.of new java.nio.file.Paths.get java.nio.file.Path.of URI " +
		"concat_atom atom_string split_string file-name-directory first last nth at head init GetDirectoryName " +
		"Combine dirName dirOf parentDir splitPath splitFile splitDirectories remove_extension chop_suffix " +
		"chop_extension dropExtension pathexpand toString jsonencode upper-case lower-case to_string shellescape " +
		"expand-file-name concatStringsSep expand GetFullPath safe_relative getCanonicalPath canonicalize normalise "},
	{runs, " system popen Popen check_call check_output getoutput getstatusoutput execSync execFile execFileSync " +
		"spawnSync execl execle execlp execv execve execvp execvpe spawnl spawnlp spawnv spawnvp spawnve " +
		"posix_spawn posix_spawnp shell_exec passthru proc_open pcntl_exec capture2 capture2e capture3 popen2 " +
		"popen3 pipeline startfile create_subprocess_shell create_subprocess_exec execa execaSync execaCommand " +
		"syscall system_detached shell-command start-process "},
	{decodes, " urlretrieve urlopen reverse b64decode b32decode b16decode a85decode urlsafe_b64decode " +
		"standard_b64decode fromhex unhexlify a2b_base64 a2b_hex decodebytes decodestring atob fromCharCode " +
		"fromCodePoint chr unpack pack decode64 strict_decode64 urlsafe_decode64 base64_decode hex2bin str_rot13 " +
		"unescape decompress inflate gzinflate gunzipSync inflateSync decode_base64 DecodeString reversed strrev " +
		"char rot13 bytearray maketrans translate unquote decodeURIComponent Buffer.from codecs.decode string.char " +
		"marshal.loads requests.get "},
}

// effects says what a call does. Names that are common elsewhere count only in
// the company of the module that they come from.
func (p *program) effects(call string) effect {
	e, known := p.known[call]
	if known {
		return e
	}
	name, whole := lastName(call), strings.TrimRight(call, "!?")
	for i := range effects {
		if r := &effects[i]; word.Listed(r.calls, name) || word.Listed(r.calls, whole) {
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

// mentions says whether the program has a word in it.
func (p *program) mentions(part string) bool { return strings.Contains(p.source, part) }
