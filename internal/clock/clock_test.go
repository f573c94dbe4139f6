package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New()
		if got, want := c.Now(), time.Now().UnixNano(); got != want {
			t.Errorf("at first %d, want the wall clock's %d", got, want)
		}
		before := c.Now()
		time.Sleep(time.Hour)
		if got := c.Now() - before; got != int64(time.Hour) {
			t.Errorf("an hour took %v", time.Duration(got))
		}
	})
}
