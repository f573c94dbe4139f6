package rule

import "testing"

func TestDecimalFix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0x10": "write 16", "-0x10": "write -16", "0o17": "write 15", "0b101": "write 5", "0xfg": "write it in decimal, without a leading 0",
		"1_000": "write 1000", "1_000.5": "write 1000.5", ".5": "write 0.5", "+5": "write 5", "5.": "write 5.0", "5.e3": "write 5.0e3", ".": "write it in decimal, without a leading 0",
		"010": "write it in decimal, without a leading 0", ".nan": "write a number", "-.inf": "write a number", "": "write it in decimal, without a leading 0",
	} {
		if got := decimalFix(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestConflictMarker(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "[]\n": 0, "=======\n": 0, "a <<<<<<< b\n": 0, "<<<<<<<\n": 0,
		"<<<<<<< HEAD\n": 1, "a\n\n>>>>>>> topic": 3,
	} {
		if got := conflictMarker([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
