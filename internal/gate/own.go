package gate

import (
	"strings"

	"github.com/cco-dev/cco/internal/gate/gitleaks"
)

// secretWords are what a value that is secret is called.
var secretWords = strings.Fields(`password passwd passphrase pwd pass secret token credential credentials apikey api_key
	api-key 	accesskey access_key access-key privatekey private_key private-key authkey auth_key encryptionkey
	encryption_key
		signingkey
	signing_key signing-key clientkey client_key serverkey server_key servicekey service_key masterkey master_key
		master-key
	sharedkey shared_key accountkey account_key storagekey storage_key deploykey deploy_key webhookkey webhook_key
		sessionkey
	session_key cookiekey cookie_key appkey app_key botkey bot_key`)

// noValue are texts that code is made of: names, paths, expressions.
var noValue = []gitleaks.Allow{{Regexes: []string{`^[.~/^]`, `^\(\?`, `\\`, `^[A-Z][A-Z0-9]*(?:_[A-Z0-9*]+)*$`,
	`^https?://[^@]*$`,
	`^[a-z]+(?:[-_.:/][a-z]+\d?)*$`, `^[a-z]+[a-z0-9]*(?:[-_./][a-z0-9]{1,8})+\.?[a-z]{0,5}$`, `%[sdvq]`, `\s`, `^@`,
	`^[a-z-]+/[\w./-]*$`, `^-`}}}

// ownRules find what gitleaks' rules leave out. All of them guess. An expression that begins with ^ is tried right
// behind each of its words, which costs next to nothing where it does not fit.
var ownRules = [...]gitleaks.Rule{
	{ID: "password-in-an-address", Regex: `^[^\s/:@'"]*:([^\s/:@'"<>{}$*]{6,})@[\w.\[-]`, Entropy: 2.5,
		Keywords: []string{"://"}, Allow: []gitleaks.Allow{{Target: "match",
			Regexes: []string{`(?i)@(?:example|host\b|hostname)|x-access-token:|oauth2:|^:%`}}}},
	{ID: "key-in-brackets", Regex: `^[\w.-]{0,40}["'](?:\]\s*=>?|,)\s*["']([^"'\s]{8,})["']`,
		Keywords: secretWords, Entropy: 2.8, Allow: noValue},
	{ID: "declared-with-a-type", Regex: `^\w{0,20}(?:\s*\??:\s*|\s+)(?:[\w<>\[\]|&.?*' ]{1,40}?|` +
		`\{[^{}"']{1,40}\})\s*:?=\s*` +
		`[rbuf]?["'\x60]([^"'\x60\s]{8,})["'\x60]`, Keywords: secretWords, Entropy: 3, Allow: noValue},
	{ID: "assigned-to-a-name", Regex: `^\w{0,20}["']?\]?\s*(?:=>|:=|\?=|\|\|=|[=:(]|\)\s*\{)\s*(?:[\w.]{1,30}\(|` +
		`\()?[@rbufL]{0,2}` +
		`["'\x60]([^"'\x60\s]{8,})["'\x60]`, Keywords: secretWords, Entropy: 3, Allow: noValue},
	{ID: "set-in-plain-text", Regex: `^["']?\s*[=:]\s*([^\s"'\x60;,&#$<>{}()\[\]*\\]{8,}[^\s"'\x60;,&#$<>{}()\[\]*\\.])` +
		`(?:$|[\s;"'&,\\])`, Keywords: secretWords, Entropy: 3.1, Allow: []gitleaks.Allow{{Regexes: []string{
		`^[A-Za-z_]+\d?(?:\.[A-Za-z_]\w*)+$`, `^[\w.-]+/[\w./:@-]+$`, `^https?://`, `^[a-z]+(?:[-_.:/][a-z]+)*$`,
		`^[A-Z]+(?:[-_.:][A-Z]+)*$`, `^[\w-]+=`, `::`, `^v?\d+(?:\.\d+)+`, `^!`, `^%`, `->`, `^[./~]`}}}},
	{ID: "element-of-xml", Regex: `^[\w.-]{0,10}(?:\s[^<>]{0,80})?(?:"\s*)?(?:</key>\s*<string)?>\s*([^<>\s${}]{8,})\s*</`,
		Keywords: secretWords, Entropy: 2.5},
	{ID: "name-with-a-value", Regex: `(?i)^[\w.:-]{0,20}["']?\s*[,;]?\s*["']?value["']?\s*[:=]\s*["']?([^\s"'${}<>]{8,})`,
		Keywords: secretWords, Entropy: 2.8},
	{ID: "defined-or-written", Regex: `^\w{0,20}\s+(?:is:?\s+)?["'\x60]([^"'\x60\s]{8,})["'\x60]`, Keywords: secretWords,
		Entropy: 2.8, Allow: noValue},
	{ID: "private-key-in-base64", Regex: `(?i)^B(?:SU0EgUF|QUklW|FQyBQ|PUEVO|FTkNS|EU0Eg)[A-Za-z0-9+/=]{40,}`,
		Keywords: []string{"ls0tls1crudjti"}},
	{ID: "user-password-and-host", Regex: `[\w.-]{1,40}:([^\s:@"'/]{8,})@(?:tcp|unix|udp)\(`,
		Keywords: []string{"@tcp(", "@unix("},
		Entropy:  2.8},
	{ID: "bearer-token", Regex: `^\s*([A-Za-z0-9._~+/-]{20,}=*)`, Entropy: 3.5,
		Keywords: []string{"bearer ", "authorization: token ", "authorization: basic "}},
	{ID: "session-cookie", Regex: `^([A-Za-z0-9%._-]{32,})`, Entropy: 3.2,
		Keywords: []string{"session=", "sessionid=", "session_id=", "sid=", "sess=", "remember_token="}},
	{ID: "age-key", Regex: `^[A-Z0-9]{50,}`, Keywords: []string{"age-secret-key-1"}},
	{ID: "telegram-bot", Regex: `\b(\d{8,10}:AA[\w-]{32,34})\b`, Keywords: []string{":aa"}},
	{ID: "discord-bot", Regex: `\b([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})\b`, Keywords: []string{"login(", "discord"}},
	{ID: "pgpass", Regex: `^[^:\s]+:[^:\s]+:(\S{6,})\s*$`, Keywords: []string{":*:", ":5432:", ":5433:", ":6432:"}},
	{ID: "key-file", Path: `(?:^|/)(?:config/(?:master|credentials/\w+)\.key|id_(?:rsa|dsa|ecdsa|ed25519))$`},
	{ID: "user-and-password", Regex: `^\s*["']?(?:[\w.@-]{1,40}[:"', ]+)?["']?([^\s"':${}<>]{8,})["']?`, Entropy: 3.2,
		Allow: noValue,
		Keywords: []string{"curl -u ", "--user ", "--user=", "--password ", "--password=", "--pass=", "--token=", "--token ",
			"--api-key=", "--api-key ", "auth=(", "auth = (", "sshpass -p"}},
}

// guesses are gitleaks' rules that go by what a value looks like, and not by how its issuer writes it.
var guesses = []string{generic, "private-key", "jwt", "jwt-base64", "curl-auth-user", "curl-auth-header",
	"kubernetes-secret-yaml", "sourcegraph-access-token", "looker-client-id", "nuget-config-password",
	"hashicorp-tf-password"}

// published are secrets that manuals print.
var published = []string{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "4eC39HqLyjWDarjtT1zdp7dc",
	"BQokikJOvBiI2HlWgH4olfQ2", "26PHem9AhJZvU623DfE1x4sd", "16C7e42F292c6912E7710c838347Ae178B4a",
	"TYooMQauvdEDq54NiTphI7jx",
	"AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
	"AIzaSyClzfrOzB818x55FASHvX4JuGQciR9lv7q"}

// fakeWords are in what only stands for a secret; those of the second list in what people type who want none.
var (
	fakeWords = []string{"example", "xxxx", "placeholder", "changeme", "change-me", "change_me", "redacted", "dummy",
		"fake-",
		"fake_", "fakekey", "your-", "your_", "yourpass", "yoursecret", "yourtoken", "insert-", "replace", "not-a-real",
		"notreal",
		"1234567890", "0123456789", "abcdefgh", "00000000", "deadbeef", "aaaaaaaa", "not-a-secret", "notasecret", "<",
		"...", "***",
		"lorem", "test-only", "invalid-"}
	weakWords = []string{"password", "passw0rd", "p@ssw0rd", "passwd", "secret", "qwerty", "letmein", "foobar", "test",
		"admin",
		"root", "guest", "demo", "default", "mock", "hunter2", "correct-horse", "correcthorse", "123456", "asdf",
		"abc123", "postgres",
		"mysql", "user", "sample", "token", "mypass", "dev-", "local", "my-", "todo", "none", "null", "undefined",
		"process.env",
		"os.environ", "getenv", "ssm:", "vault:", "secretsmanager", "sm://", "arn:", "fake", "foo", "bar-", "key-"}
)
