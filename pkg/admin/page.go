package admin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
)

//go:embed assets
var assetFiles embed.FS

// page is the page for people, made of files that are part of the program. It is whole without JavaScript, which only
// fetches it again and puts what has changed in its place, so that everything is written in one place: the templates.
type page struct {
	templates *template.Template
	assets    fs.FS
	version   string // of the assets; a page that was loaded with others is loaded anew
	host      string // that the daemon runs on
}

func newPage() *page {
	assets, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		panic(err) // the program lacks a part of itself
	}
	p := &page{assets: assets, templates: template.Must(template.New("").Funcs(pageFuncs()).ParseFS(assets, "*.html"))}
	hash := sha256.New()
	err = fs.WalkDir(assets, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(assets, name)
		hash.Write([]byte(name))
		hash.Write(content)
		return err
	})
	if err != nil {
		panic(err)
	}
	p.version = hex.EncodeToString(hash.Sum(nil)[:8])
	p.host, _ = os.Hostname() // without one the page names none
	return p
}

// pagePolicy allows what the page is made of, all of it from here: no inline script or style, and nothing of others.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// assetTypes are the files that browsers may ask for, by extension.
var assetTypes = map[string]string{".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

// pages serves the page and what it is made of.
func (s *Server) pages(mux *http.ServeMux) {
	mux.Handle("/{$}", reading(s.servePage))
	mux.Handle("/assets/{name}", reading(s.serveAsset))
}

// reading refuses what does not only read.
func reading(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, http.StatusMethodNotAllowed, "the methods are GET, HEAD")
			return
		}
		h(w, r)
	})
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	if err := s.page.templates.ExecuteTemplate(&b, "page.html", s.viewPage(readPageQuery(r.URL.Query()))); err != nil {
		fail(w, http.StatusInternalServerError, "the page cannot be written: "+err.Error())
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	send(w, "text/html", b.Bytes())
}

func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := assetTypes[path.Ext(name)]
	content, err := fs.ReadFile(s.page.assets, name)
	if !ok || err != nil {
		unknown(w, r)
		return
	}
	send(w, kind, content)
}

func send(w http.ResponseWriter, kind string, content []byte) {
	h := w.Header()
	h.Set("Content-Type", mime.FormatMediaType(kind, map[string]string{"charset": "utf-8"}))
	h.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}
