// Command editors makes what editors need of the language beside the server that `ql lsp` is: the
// grammar for highlighting, out of the words that the parser knows, and the packed extension for
// Visual Studio Code. What the extension is made of stands in the folder vscode.
package main

import (
	"bytes"
	"fmt"
	"os"
)

const (
	grammarFile = "editors/vscode/syntaxes/ql.tmLanguage.json"
	wordsFile   = "web/src/editor/words.json"
	extension   = "editors/vscode"
	packedFile  = "bin/ql.vsix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "editors:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("grammar or vsix fits, from the folder of the repository")
	}
	var made bytes.Buffer
	switch args[0] {
	case "grammar":
		if err := os.WriteFile(wordsFile, words(), 0o644); err != nil {
			return err
		}
		return os.WriteFile(grammarFile, grammar(), 0o644)
	case "vsix":
		if err := pack(&made, os.DirFS(extension)); err != nil {
			return err
		}
		if err := os.MkdirAll("bin", 0o755); err != nil {
			return err
		}
		return os.WriteFile(packedFile, made.Bytes(), 0o644)
	}
	return fmt.Errorf("%q is nothing that is made: grammar and vsix are", args[0])
}
