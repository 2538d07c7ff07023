package gate

import "github.com/cco-dev/cco/internal/gate/gitleaks"

// ownRules find what gitleaks' rules leave out.
var ownRules = [...]gitleaks.Rule{
	{ID: "password-in-an-address",
		Regex:   `[a-z][a-z0-9+.-]{1,30}://[^\s/:@'"]{1,60}:([^\s/:@'"<>{}$%*]{6,80})@[\w.\[-]`,
		Entropy: 2.5,
		Keywords: []string{"postgres://", "postgresql://", "mysql://", "mariadb://", "mongodb://", "mongodb+srv://",
			"redis://",
			"rediss://", "amqp://", "amqps://", "mssql://", "sqlserver://", "ftp://", "sftp://", "smtp://", "smtps://",
			"ldap://",
			"https://", "http://", "clickhouse://", "cockroachdb://", "nats://", "snowflake://", "db2://", "oracle://"},
		Allow: []gitleaks.Allow{
			{Words: []string{"pass", "secret", "example", "changeme", "postgres", "admin", "test", "xxx", "user", "token",
				"...", "root",
				"mysql", "guest", "dummy", "fake", "foo", "my-"}},
			{Target: "match", Regexes: []string{`(?i)@(?:localhost|127\.|\[?::1|db\b|host\b|example)|x-access-token:`}},
		}},
	{ID: "key-in-brackets",
		Regex: `(?i)\[["'][\w.-]{0,40}(?:key|token|secret|passw(?:or)?d|` +
			`credential)[\w.-]{0,40}["']\]\s*=>?\s*["']([\w+/=.-]{16,150})["']`,
		Keywords: []string{"key", "token", "secret", "password", "passwd", "credential"}, Entropy: 3.5,
		Allow: []gitleaks.Allow{{Regexes: []string{`^[a-zA-Z_.-]+$`}}}},
}
