package attr

import (
	"net/url"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, name, value string
		found              engine.Presence
	}{
		{"sku=7", "sku", "7", engine.Present},
		{"a=1&sku=7&sku=8", "sku", "7", engine.Present},
		{"sku=", "sku", "", engine.Present},
		{"sku", "sku", "", engine.Present},
		{"=7", "sku", "", engine.Absent},
		{"&&sku=7&", "sku", "7", engine.Present},
		{"skus=7", "sku", "", engine.Absent},
		{"SKU=7", "sku", "", engine.Absent},
		{"sku=a%20b+c%2B", "sku", "a b c+", engine.Present},
		{"s%6Bu=7", "sku", "7", engine.Present},
		{"s%6bu%=7", "sku%", "7", engine.Present},
		{"a+b=7", "a b", "7", engine.Present},
		{"a+b=7", "a+b", "", engine.Absent},
		{"a%2bb=7", "a+b", "7", engine.Present},
		{"sku=%ff%fe", "sku", "\xff\xfe", engine.Present},
		{"sku=\xff", "sku", "\xff", engine.Present},
		{"sku=%zz%4", "sku", "%zz%4", engine.Present},
		{"sku=a=b", "sku", "a=b", engine.Present},
		{"sku=a;b=c", "sku", "a;b=c", engine.Present},
		{"sku=a?b", "sku", "a?b", engine.Present},
		{"sku=%zz&sku=7&sku=8", "sku", "7", engine.Present},
		{"sku=%f&sku=%fg&sku=%&sku=%66", "sku", "f", engine.Present},
		{"sku=a;b&sku=7", "sku", "7", engine.Present},
		{"sku=%zz+&sku=a;b", "sku", "%zz ", engine.Present},
		{strings.Repeat("a", maxQuery-6) + "&sku=7", "sku", "7", engine.Present},
		{strings.Repeat("a", maxQuery-5) + "&sku=7", "sku", "", engine.TooLarge},
	} {
		var b Bag
		b.Add("path", "/p?"+c.query)
		value, found := b.Param(rule.SourceURLParam, c.name)
		if value != c.value || found != c.found {
			t.Errorf("%.40q %q: got %q %d, want %q %d", c.query, c.name, value, found, c.value, c.found)
		}
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("a=1&b=2", "b")
	f.Add("s%6Bu=%ff+%2b", "sku")
	f.Add("a+b=%zz&%=", "a b")
	f.Add("&=&==", "")
	f.Fuzz(func(t *testing.T, query, name string) {
		var b Bag
		b.Add(":path", "/?"+query)
		value, found := b.Param(rule.SourceURLParam, name)
		if strings.Contains(query, "#") || len(query) > maxQuery {
			return
		}
		want, err := url.ParseQuery(query)
		values, ok := want[name]
		if !ok && err != nil {
			return // net/url drops what is malformed, which counts here where nothing else does
		}
		if ok != (found == engine.Present) || ok && values[0] != value {
			t.Fatalf("%q %q: got %q %d, net/url has %q", query, name, value, found, values)
		}
	})
}
