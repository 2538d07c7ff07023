package database

import (
	"errors"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a database on another machine whose connection somebody on the way can read or answer.
func TestFarDatabasesNeedTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "disable")
	far := "postgres://cco@db.example/cco"
	for _, c := range []struct {
		address string
		o       Options
		weak    string
	}{
		{far, Options{}, ""},
		{far + "?sslmode=verify-full", Options{}, ""},
		{far + "?sslmode=verify-ca", Options{}, ""},
		{far + "?sslmode=require", Options{}, "unverified"},
		{far + "?sslmode=require", Options{Plaintext: true}, "unverified"},
		{far + "?sslmode=require", Options{Unverified: true}, ""},
		{far + "?sslmode=prefer", Options{Unverified: true}, "plaintext"},
		{far + "?sslmode=allow", Options{}, "plaintext"},
		{far + "?sslmode=disable", Options{}, "plaintext"},
		{far + "?sslmode=disable", Options{Plaintext: true}, ""},
		{"postgres://localhost/cco?sslmode=disable&host=db.example", Options{}, "plaintext"},
		{"postgres://127.0.0.1/cco?host=127.0.0.1,db.example", Options{}, ""}, // checked, because one of them is far
		{"postgres://127.0.0.1/cco?host=127.0.0.1,db.example&sslmode=prefer", Options{}, "unverified"},
		{"postgres://cco@127.0.0.2/cco", Options{}, ""},
		{"postgres://cco@[::1]/cco?sslmode=disable", Options{}, ""},
		{"postgres:///cco?host=/run/postgresql", Options{}, ""},
	} {
		c.o.Address = c.address
		_, err := c.o.config()
		weak, is := errors.AsType[*WeakError](err)
		if c.weak == "" && err != nil || c.weak != "" && (!is || weak.Mode != c.weak ||
			!strings.Contains(err.Error(), `engine.accept = ["`+c.weak+`"]`)) {
			t.Errorf("%s: %v, want %q", c.address, err, c.weak)
		}
	}
}

// Guards against an error that holds the password, or doesn't say what to do.
func TestADatabaseThatIsAway(t *testing.T) {
	_, err := Open(t.Context(), Options{Address: "postgres://cco@127.0.0.1:1/cco", Password: "hunter2"})
	if _, away := errors.AsType[*AwayError](err); !away || !strings.Contains(err.Error(), "127.0.0.1:1/cco is away") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	c := must.Get(Options{Address: "postgres://cco@127.0.0.1/cco", Password: "hunter2"}.config())(t)
	if c.ConnConfig.Password != "hunter2" || c.ConnConfig.ConnectTimeout != patience {
		t.Errorf("%+v", c.ConnConfig.ConnectTimeout)
	}
}
