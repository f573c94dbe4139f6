package terminal

import (
	"os"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/pty"
)

func TestSizeOf(t *testing.T) {
	t.Parallel()
	master, command, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer command.Close()
	if size, ok := SizeOf(command); ok {
		t.Errorf("a terminal without a size has %v", size)
	}
	if err := pty.Resize(master, 80, 24); err != nil {
		t.Fatal(err)
	}
	if size, ok := SizeOf(command); !ok || size != (Size{80, 24}) {
		t.Errorf("got %v, %v", size, ok)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, ok := SizeOf(null); ok {
		t.Error("/dev/null is taken for a terminal")
	}
}
