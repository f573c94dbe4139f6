// Command semantics writes docs/semantics.md and its plots: what each kind of limit admits, measured
// on the windows that the daemon decides with. It attacks them with the worst arrivals that it can
// think of, in virtual time, and fails if one of them admits more than the document promises.
//
// `make semantics` runs it from the root of the repository; a test holds the committed document to
// what it writes.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	docs := flag.String("docs", "docs", "the folder that semantics.md is written to")
	flag.Parse()
	if err := run(*docs); err != nil {
		fmt.Fprintln(os.Stderr, "semantics:", err)
		os.Exit(1)
	}
}

// run makes the document and writes it to a folder.
func run(docs string) error {
	d, err := newDocument(sections(), newLab())
	if err != nil {
		return err
	}
	return d.write(docs)
}

// section adds one part to the document.
type section func(*document, *lab) error

// sections are all parts in their order. Each is a file of its own.
func sections() []section {
	return []section{
		modesSection,
		boundsSection,
		overloadSection,
		retrySection,
		bucketSection,
		queueSection,
		warmUpSection,
		breakerSection,
		commonSection,
		sentinelSection,
		methodSection,
	}
}
