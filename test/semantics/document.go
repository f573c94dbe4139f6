package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where the document lies in its folder, and its plots. Nothing else is called so.
const (
	documentName = "semantics.md"
	imageFolder  = "img"
	imagePrefix  = "semantics-"
)

// document is a page of Markdown and the images that it shows.
type document struct {
	text   bytes.Buffer
	images []image
}

type image struct {
	name string // in the folder of images
	data []byte
}

func newDocument(sections []section, l *lab) (*document, error) {
	d := new(document)
	d.text.WriteString("<!-- Written by test/semantics: change it there, then run `make semantics`. -->\n")
	for _, s := range sections {
		if err := s(d, l); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// say adds a paragraph, a heading or a list. In it ~ stands for the backquote, which a raw string
// cannot hold.
func (d *document) say(format string, args ...any) {
	text := strings.ReplaceAll(format, "~", "`")
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	d.text.WriteString(strings.TrimSpace(text) + "\n\n")
}

// table adds a table. All columns but the first so many hold numbers, and stand to the right.
func (d *document) table(head []string, words int, rows [][]string) {
	d.text.WriteString("| " + strings.Join(head, " | ") + " |\n|")
	for i := range head {
		if i < words {
			d.text.WriteString("---|")
		} else {
			d.text.WriteString("---:|")
		}
	}
	d.text.WriteString("\n")
	for _, row := range rows {
		d.text.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	d.text.WriteString("\n")
}

// show adds a plot.
func (d *document) show(name string, c chart) error {
	data, err := c.svg()
	if err != nil {
		return err
	}
	name = imagePrefix + name + ".svg"
	d.images = append(d.images, image{name, data})
	fmt.Fprintf(&d.text, "![%s](%s/%s)\n\n", c.description, imageFolder, name)
	return nil
}

// write puts the document into a folder and removes plots that it no longer shows.
func (d *document) write(docs string) error {
	folder := filepath.Join(docs, imageFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(folder, imagePrefix+"*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		shown := slices.ContainsFunc(d.images, func(i image) bool { return i.name == filepath.Base(path) })
		if shown {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, i := range d.images {
		if err := os.WriteFile(filepath.Join(folder, i.name), i.data, 0o644); err != nil {
			return err
		}
	}
	text := append(bytes.TrimRight(d.text.Bytes(), "\n"), '\n')
	return os.WriteFile(filepath.Join(docs, documentName), text, 0o644)
}
