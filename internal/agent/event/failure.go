package event

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func statusWords(exit int) string { return fmt.Sprintf("it ended with status %d", exit) }

func signalWords(exit int) string {
	return "it was ended by a signal: " + syscall.Signal(exit-128).String()
}

// transientStatus says whether an HTTP status may change a little later.
func transientStatus(status int) bool {
	return status == 408 || status == 425 || status == 429 || status >= 500 && status <= 599
}

// fail fills in why a run failed: by the HTTP status if the agent gave one, otherwise by its message.
func (f *Finished) fail(words string, status int, now func() time.Time) {
	f.Outcome, f.Error, f.Silent = Failed, clip(words), false
	if status == 0 {
		status = statusIn(words)
	}
	f.ResetAt = resetIn(words, now)
	f.Transient = transientStatus(status) || status == 0 && (dropped(words) || !f.ResetAt.IsZero())
	if spent(words) {
		f.Outcome, f.Transient = Limit, false
	}
}

// Judged is the end of a run as far as its model's last answer allows it: words say what was wrong with that.
func (f Finished) Judged(words string, status int, now func() time.Time) *Finished {
	if f.Outcome == OK || f.Outcome == Failed {
		f.fail(words, status, now)
	}
	return &f
}

// SpendLimit is part of what cco's own door says when a session has reached its limit. Every agent shows it in its
// error.
const SpendLimit = "limit of this session is reached"

func spent(words string) bool { return strings.Contains(words, SpendLimit) }

// statusIn finds the HTTP status that agents put into their messages.
func statusIn(words string) int {
	m := statusPattern().FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

var statusPattern = pattern(`(?i)(?:status(?: code)?:?|API error:?|"code":|\bHTTP) ?\(?([45][0-9]{2})\b`)

// dropped says whether a message is about a lost or failed connection.
func dropped(words string) bool { return droppedPattern().MatchString(words) }

var droppedPattern = pattern(`(?i)connection (?:error|reset|refused|closed|timed out|was closed|dropped)|socket hang ` +
	`up|socket connection was closed|ECONNRESET|ECONNREFUSED|ETIMEDOUT|EPIPE|fetch failed|stream ` +
	`(?:disconnected|closed)|stream error|premature close|request timed out|unable to connect|overloaded|rate limit|too ` +
	`many requests|network error|error: terminated\b`)

// resetIn finds when a usage limit says that it ends: as a date, as seconds since 1970 behind a bar, as a span, or as a
// time of day.
func resetIn(words string, clock func() time.Time) time.Time {
	now := time.Now()
	if clock != nil {
		now = clock()
	}
	at := resetTime(words, now)
	if at.After(now.Add(maxWait)) {
		return now.Add(maxWait)
	}
	return at
}

func resetTime(words string, now time.Time) time.Time {
	if m := epochPattern().FindStringSubmatch(words); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return time.Unix(n, 0)
		}
	}
	if m := datePattern().FindStringSubmatch(words); m != nil {
		if at, err := time.Parse(time.RFC3339, m[1]); err == nil {
			return at
		}
	}
	if m := spanPattern().FindStringSubmatch(words); m != nil {
		return now.Add(span(m[1]))
	}
	if m := dayPattern().FindStringSubmatch(words); m != nil {
		if at, err := time.ParseInLocation("Jan 2 2006 3:04 PM", m[1]+" "+m[2]+" "+m[3]+" "+strings.ToUpper(m[4]),
			now.Location()); err == nil {
			return at
		}
	}
	if m := clockPattern().FindStringSubmatch(words); m != nil {
		return nextClock(m, now)
	}
	return time.Time{}
}

var (
	datePattern = pattern(`(?i)\bresets?[a-z_ ]{0,12}:? ?"?(20[0-9]{` +
		`2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](?:\.[0-9]{1,9})?(?:Z|[+-][0-2][0-9]:[0-5][0-9]))`)
	epochPattern = pattern(`\blimit reached\|([0-9]{10})\b`)
	spanPattern  = pattern(`(?i)\b(?:try again|retry|resets?)(?: in| after)? ((?:[0-9]+(?:\.[0-9]+)? ` +
		`?(?:days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s)[ ,]{0,2}){1,4})(?:\b|[ ,.]|$)`)
	partPattern = pattern(`(?i)([0-9]+(?:\.[0-9]+)?) ?(days?|d|hours?|hrs?|h|minutes?|mins?|ms|m|seconds?|secs?|s)`)
	dayPattern  = pattern(`(?i)\btry again at ([A-Z][a-z]{2}) ([0-9]{1,2})(?:st|nd|rd|th)?,? (20[0-9]{2}),? ` +
		`([0-9]{1,2}:[0-9]{2} (?:AM|PM))`)
	clockPattern = pattern(`(?i)\b(?:resets?|try again at|available again at)(?: at)? ([0-9]{1,2})(?::([0-9]{2}))? ` +
		`?(am|pm)?(?: ?\(([A-Za-z_]+(?:/[A-Za-z_]+)*)\))?`)
)

// maxWait bounds the wait that a message can cause: the longest known limit is a week.
const maxWait = 8 * 24 * time.Hour

func span(text string) (d time.Duration) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}
	for _, m := range partPattern().FindAllStringSubmatch(text, 8) {
		n, _ := strconv.ParseFloat(m[1], 64)
		unit := units[strings.ToLower(m[2][:1])]
		if strings.EqualFold(m[2], "ms") {
			unit = time.Millisecond
		}
		if n > float64(maxWait/unit) {
			return maxWait
		}
		d += time.Duration(n * float64(unit))
	}
	return min(d, maxWait)
}

// nextClock is the next time that a clock shows what the message says, in the message's time zone.
func nextClock(m []string, now time.Time) time.Time {
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	switch half := strings.ToLower(m[3]); {
	case half == "" && m[2] == "", hour > 23, half != "" && (hour < 1 || hour > 12), minute > 59:
		return time.Time{} // "resets 5" is no time
	case half == "pm" && hour < 12:
		hour += 12
	case half == "am" && hour == 12:
		hour = 0
	}
	zone := now.Location()
	if m[4] != "" {
		if z, err := time.LoadLocation(m[4]); err == nil {
			zone = z
		}
	}
	local := now.In(zone)
	at := time.Date(local.Year(), local.Month(), local.Day(), hour, minute, 0, 0, zone)
	if !at.After(local) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}
