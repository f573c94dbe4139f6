package attr

import (
	"reflect"
	"testing"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	var b Bag
	for _, a := range [][2]string{
		{"path", "/p?sku=a%2Db&x=1&x=2&%73ku=late&bad=%zz&=empty"},
		{"cookie", "theme=dark; s=\"q\"; theme=light; nothing"},
		{"header.X-User", " bob "}, {"header.x-user", "eve"},
		{"query.y", "7"}, {"query.x", "9"}, {"cookie.s", "first"}, {"user", "carol"}, {"user", "dave"}, {"arg.0", "zero"},
	} {
		b.Add(a[0], a[1])
	}
	want := Description{
		Headers:   []Pair{{"x-user", "bob"}},
		Query:     []Pair{{"sku", "a-b"}, {"x", "1"}, {"bad", "%zz"}, {"", "empty"}, {"y", "7"}},
		Cookies:   []Pair{{"theme", "dark"}, {"s", "first"}},
		Named:     []Pair{{"user", "carol"}},
		Arguments: []Pair{{"0", "zero"}},
	}
	if got := b.Describe(); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	b.Reset()
	if got := b.Describe(); !reflect.DeepEqual(got, Description{}) {
		t.Errorf("an empty bag: %+v", got)
	}
}

// Whatever is described is what a rule would find.
func FuzzDescribe(f *testing.F) {
	f.Add("/p?a=1&b=%2&a=3", "a=1; b=\"2\"; a=3")
	f.Fuzz(func(t *testing.T, path, cookie string) {
		var b Bag
		b.Add("path", path)
		b.Add("cookie", cookie)
		d := b.Describe()
		for _, p := range d.Query {
			if v, _ := b.urlParam(p.Name); v != p.Value {
				t.Errorf("%q: %q is described, %q found", p.Name, p.Value, v)
			}
		}
		for _, p := range d.Cookies {
			if v, _ := b.cookie(p.Name); v != p.Value {
				t.Errorf("%q: %q is described, %q found", p.Name, p.Value, v)
			}
		}
	})
}
