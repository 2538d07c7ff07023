// Package unit gives quantities their units where programs read them.
package unit

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Count is a number of things, which have an s at the end unless there is one.
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(int64(n), 10) + " " + thing + "s"
}

// Seconds is a duration that JSON has as a number of seconds. The name of its field says so: took_seconds.
type Seconds time.Duration

// Duration is it as Go has it.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// MarshalJSON writes it to the millisecond.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(time.Duration(s).Seconds()*1000) / 1000)
}

// UnmarshalJSON reads it.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var n float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*s = Seconds(math.Round(n * float64(time.Second)))
	return nil
}
