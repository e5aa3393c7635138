// Command guest is what the tests run as a module.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch args[1] {
	case "echo":
		in, err := io.ReadAll(os.Stdin)
		fmt.Printf("%s\n%s\n%s\n", strings.Join(args, "|"), in, os.Getenv("QL_STEP_KEY"))
		return err
	case "exit":
		code, err := strconv.Atoi(args[2])
		fmt.Fprintln(os.Stderr, "leaving")
		if err != nil {
			return err
		}
		os.Exit(code)
	case "cat":
		content, err := os.ReadFile(args[2])
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(content)
		return err
	case "files":
		return files()
	}
	return nil
}

// files makes, changes, lists, renames and removes files.
func files() error {
	if err := os.MkdirAll("sub/deep", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("sub/a.txt", []byte("first, and longer"), 0o644); err != nil {
		return err
	}
	f, err := os.OpenFile("sub/a.txt", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte("change"), 0); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if f, err = os.OpenFile("sub/a.txt", os.O_APPEND|os.O_WRONLY, 0); err != nil {
		return err
	}
	if _, err := f.WriteString("d!"); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Remove("sub/deep"); err != nil {
		return err
	}
	for _, folder := range []string{"/", "sub"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				fmt.Println(e.Name(), true)
				continue
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			fmt.Println(e.Name(), info.Size())
		}
	}
	if err := os.Rename("sub/a.txt", "sub/b.txt"); err != nil {
		return err
	}
	if _, err := os.Stat("sub/a.txt"); !os.IsNotExist(err) {
		return fmt.Errorf("it is still there: %w", err)
	}
	content, err := os.ReadFile("sub/b.txt")
	fmt.Printf("read %s\n", content)
	return err
}
