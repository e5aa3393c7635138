package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ql/lang/lib"
	"ql/lang/syntax"
)

func TestGrammarIsThatOfTheWords(t *testing.T) {
	have, err := os.ReadFile("vscode/syntaxes/ql.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, grammar()) {
		t.Error("the grammar for highlighting is not the one of the parser's words: make grammar writes it")
	}
}

// TestWordsOfTheDashboard: its editor colours the words that the parser knows.
func TestWordsOfTheDashboard(t *testing.T) {
	got, err := os.ReadFile("../" + wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(words()) {
		t.Errorf("%s is not of the parser's words: run `make grammar web`", wordsFile)
	}
}

// TestEveryWordIsColoured checks that a word is in a rule of the grammar, whichever list of the
// parser it is in.
func TestEveryWordIsColoured(t *testing.T) {
	var g textMate
	if err := json.Unmarshal(grammar(), &g); err != nil {
		t.Fatal(err)
	}
	var coloured []string
	for _, r := range g.Repository {
		for _, r := range append(r.Patterns, r) {
			coloured = append(coloured, strings.FieldsFunc(r.Match, func(c rune) bool { return strings.ContainsRune("()|:?!", c) })...)
		}
	}
	words := slices.Concat(
		syntax.Verbs(), syntax.StructureWords(), syntax.OperatorWords(), syntax.ClauseWords(), syntax.FieldAttributes(),
		strings.Fields(strings.Join(syntax.FieldKinds(), " ")), syntax.Formats(), syntax.Units(), syntax.Globals(),
	)
	for _, b := range lib.Reference() {
		words = append(words, b.Name)
	}
	for _, w := range words {
		if !slices.Contains(coloured, w) {
			t.Errorf("no rule of the grammar has %s", w)
		}
	}
	for name, r := range g.Repository {
		for _, r := range append(r.Patterns, r) {
			if rule, ok := strings.CutPrefix(r.Include, "#"); ok && g.Repository[rule].isEmpty() {
				t.Errorf("the rule %s includes %s, which there is not", name, rule)
			}
		}
	}
}

func (r rule) isEmpty() bool { return r.Match == "" && r.Begin == "" && r.Patterns == nil }

// TestDescriptionNamesFiles checks that what the extension's description names is packed.
func TestDescriptionNamesFiles(t *testing.T) {
	text, err := os.ReadFile("vscode/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Main        string `json:"main"`
		Contributes struct {
			Languages []struct {
				Configuration string `json:"configuration"`
			} `json:"languages"`
			Grammars []struct {
				Path string `json:"path"`
			} `json:"grammars"`
		} `json:"contributes"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	names := []string{d.Main}
	for _, l := range d.Contributes.Languages {
		names = append(names, l.Configuration)
	}
	for _, g := range d.Contributes.Grammars {
		names = append(names, g.Path)
	}
	for _, name := range names {
		if !slices.Contains(packed, path.Clean(name)) {
			t.Errorf("package.json names %q, which is not packed", name)
		}
	}
	if len(names) < 3 {
		t.Errorf("package.json names %q alone", names)
	}
}

// TestPack packs the extension as it is in the tree, but for what is built of it.
func TestPack(t *testing.T) {
	folder := fstest.MapFS{"dist/extension.js": {Data: []byte("built")}}
	for _, name := range packed {
		if name == "dist/extension.js" {
			continue
		}
		text, err := os.ReadFile(path.Join("vscode", name))
		if err != nil {
			t.Fatal(err)
		}
		folder[name] = &fstest.MapFile{Data: text}
	}
	var made bytes.Buffer
	if err := pack(&made, folder); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(made.Bytes()), int64(made.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range packed {
		have, err := fs.ReadFile(z, "extension/"+name)
		if err != nil || !bytes.Equal(have, folder[name].Data) {
			t.Errorf("%s is packed otherwise than it is: %v", name, err)
		}
	}
	text, err := fs.ReadFile(z, "extension.vsixmanifest")
	if err != nil {
		t.Fatal(err)
	}
	var m vsixManifest
	if err := xml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if m.Metadata.Identity.ID != "ql" || m.Metadata.Properties[0].Value == "" {
		t.Errorf("the manifest says %s", text)
	}
	for _, a := range m.Assets {
		if _, err := fs.Stat(z, a.Path); err != nil {
			t.Errorf("the manifest names %s: %v", a.Path, err)
		}
	}
	delete(folder, "dist/extension.js")
	if err := pack(&made, folder); err == nil {
		t.Error("an extension that is not built was packed")
	}
}

// TestNoAddressesOfRegistries checks that the lock says what is downloaded and not from where: who
// builds the extension chooses that.
func TestNoAddressesOfRegistries(t *testing.T) {
	text, err := os.ReadFile("vscode/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(`"resolved"`)) {
		t.Error("the lock names where packages came from: .npmrc says to leave that out")
	}
	if !bytes.Contains(text, []byte(`"integrity"`)) {
		t.Error("the lock has no hashes")
	}
}
