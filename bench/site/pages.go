package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// page is what is asked for: a page that is made, or a file.
type page struct {
	name string
	path string   // with its query
	head []string // further lines of the request
	// isFile says that it is sent as it is, and nginx needs no PHP for it.
	isFile bool
	want   []byte // the body of the answer, before it was compressed
}

// prepare makes the table that pages read of.
const prepare = `CREATE TABLE IF NOT EXISTS fruits (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT OR REPLACE INTO fruits (id, name) VALUES (1, 'apple'), (2, 'pear'), (3, 'plum');`

// The pages in both languages: they do the same, each as one writes it there.
const (
	trivialQL = `SET ?sum AS 0
FOR ?i FROM 0 TO 9 DO
  SET ?sum AS ?sum + ?i
END
SET ?name AS !GET('name') DEFAULT "world"
EMIT HTML "<h1>hello {?name} {?sum}</h1>"
`
	trivialPHP = `<?php
$sum = 0;
for ($i = 0; $i <= 9; $i++) {
  $sum += $i;
}
$name = $_GET['name'] ?? 'world';
echo '<h1>hello ' . htmlspecialchars($name) . " $sum</h1>";
`
	readQL = `SET ?id AS NUMBER(!GET('id'))
SELECT name FROM fruits WHERE id = ?id SET VALUE ?name
EMIT HTML "<h1>{?name}</h1>"
`
	// A connection that stays open from one page to the next is the fastest that PHP has.
	readPHP = `<?php
$db = new PDO('sqlite:' . $_SERVER['BENCH_DATABASE'], null, null, [PDO::ATTR_PERSISTENT => true]);
$query = $db->prepare('SELECT name FROM fruits WHERE id = ?');
$query->execute([(int) $_GET['id']]);
echo '<h1>' . htmlspecialchars($query->fetchColumn()) . '</h1>';
`
	// databasePHP makes the table, in a database as those of accounts are.
	databasePHP = `<?php
$db = new PDO('sqlite:' . $argv[1]);
$db->exec('PRAGMA journal_mode = WAL');
$db->exec($argv[2]);
`
)

// pages are all that is measured.
func pages() []page {
	all := []page{
		{name: "trivial page", path: "/trivial?name=ada", want: []byte("<h1>hello ada 45</h1>")},
		{name: "SQLite read", path: "/read?id=2", want: []byte("<h1>pear</h1>")},
		{name: "file of 2 kB", path: "/note.txt", isFile: true, want: text(2 << 10)},
		{name: "file of 64 kB", path: "/picture.png", isFile: true, want: text(64 << 10)},
		{name: "file of 20 kB, compressed", path: "/style.css", head: []string{"Accept-Encoding: gzip"}, isFile: true, want: text(20 << 10)},
	}
	return all
}

// text is a text so long.
func text(length int) []byte {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, ".c%d { margin: %dpx; padding: %dpx }\n", i, i*7919%97, i*104729%89)
	}
	return []byte(b.String()[:length])
}

// writeSite writes the folder that is deployed as the site.
func writeSite(folder string) error {
	return writeFiles(folder, map[string]string{"trivial.ql": trivialQL, "read.ql": readQL})
}

// writePHP writes the folder that nginx serves.
func writePHP(folder string) error {
	return writeFiles(folder, map[string]string{"trivial.php": trivialPHP, "read.php": readPHP})
}

// writeFiles writes the pages, and the files that all serve.
func writeFiles(folder string, pagesOf map[string]string) error {
	err := os.Mkdir(folder, 0o755)
	for name, content := range pagesOf {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
	for _, p := range pages() {
		if p.isFile {
			err = errors.Join(err, os.WriteFile(filepath.Join(folder, p.path), p.want, 0o644))
		}
	}
	return err
}

// check tells whether a body is the one that was to be expected, compressed where that was asked for.
func (p *page) check(body []byte) error {
	if len(p.head) > 0 {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("%s: the answer is not compressed: %w", p.name, err)
		}
		if body, err = io.ReadAll(r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !bytes.Equal(body, p.want) {
		return fmt.Errorf("%s: the answer is %.200q", p.name, body)
	}
	return nil
}
