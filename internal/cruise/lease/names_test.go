package lease

import "testing"

func TestNamesOfWorkers(t *testing.T) {
	for _, id := range []string{"", "-", "a b", "A", "../x", "a\n", string(make([]byte, 64))} {
		if _, _, err := (&Table{}).register(t.Context(), Worker{ID: id}); err == nil {
			t.Errorf("%q is a name", id)
		}
	}
}

// Guards against a clock that stands still while the machine sleeps: time.Now's monotonic part does.
func TestBootIsTheMachinesOwn(t *testing.T) {
	a := Boot()
	if a <= 0 || Boot() < a {
		t.Errorf("the boot clock shows %v", a)
	}
}
