package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// whole are the functions that hold all of what somebody sent, or make much more of
// it: by their package, or by their name where they are methods of a request.
var whole = map[string][]string{
	"io":        {"ReadAll"},
	"ioutil":    {"ReadAll"},
	"json":      {"NewDecoder", "Unmarshal"},
	"xml":       {"NewDecoder", "Unmarshal"},
	"gob":       {"NewDecoder"},
	"multipart": {"NewReader"},
	"url":       {"ParseQuery"},
	"":          {"ParseForm", "ParseMultipartForm", "FormValue", "PostFormValue", "FormFile", "MultipartReader"},
}

// unreserved are the files that may use them, and why what they hold is counted or
// bounded.
var unreserved = map[string]string{
	"internal/server/formpage/submission.go":   "parts come by server's ReadPart, and fields are reserved before they are read",
	"internal/server/parts.go":                 "it holds the header of a part, of a bounded length, and hands on the rest as it comes",
	"internal/server/request.go":               "it hands the body to what reserves it",
	"internal/server/dashboard/assets.go":      "a list of the build, which is a part of the program",
	"internal/server/jsonapi/parameters.go":    "the address is bounded",
	"internal/config/blobs.go":                 "a setting of the operator's",
	"internal/store/blob/s3/owner.go":          "a mark that the service itself wrote, of a bounded length",
	"internal/backup/backup.go":                "a file of the data folder, in a command",
	"internal/backup/manifest.go":              "a copy's own list, of a bounded length, in a command",
	"internal/cli/account.go":                  "the input of a command, of a bounded length",
	"internal/cli/remote.go":                   "a key or a password of a command, of a bounded length",
	"internal/cli/scripts.go":                  "the input of a command, of a bounded length",
	"internal/lsp/framing.go":                  "a message of an editor to a command, of a bounded length",
	"internal/lsp/server.go":                   "a message of an editor to a command, of a bounded length",
	"internal/remote/remote.go":                "the answer to a command, of a bounded length",
	"internal/tlscert/acme.go":                 "the start of an answer of the authority for certificates",
	"internal/tlscert/sites.go":                "what the service itself asks of that authority",
	"internal/wire/answer.go":                  "a trace that the service wrote, which has a bounded number of steps",
	"internal/wire/errors.go":                  "an error that the service wrote",
	"internal/engine/state.go":                 "what was stored of a suspended run, reserved by the attempt that loads it",
	"internal/worker/attempt.go":               "what a job was accepted with, reserved by its attempt",
	"internal/service/calls.go":                "the error of a job, of a bounded length",
	"internal/service/prompt.go":               "what may follow a question, which the service wrote, of a bounded length",
	"internal/service/page_state.go":           "what a visitor carries of a page, of a bounded length",
	"internal/execution/called.go":             "what a job was called with, reserved by who shows it",
	"internal/replay/job.go":                   "what a job was accepted with, in a command",
	"internal/store/relational/error_codes.go": "the error of a job, of a bounded length",
	"internal/store/relational/sources.go":     "the text of a script, reserved by who shows it",
	"internal/store/relational/machines.go":    "what an owner said of a machine, of a bounded length",
	"internal/store/relational/accounts.go":    "limits that an operator gave, a number for each name",
	"internal/account/invitations.go":          "a link that the service itself made, of a bounded length",
	"internal/account/seal/masterkey.go":       "a file of the operator's, of a bounded length",
	"internal/store/relational/mails.go":       "what became of a mail for its recipients, of a bounded number and length",
	"internal/mail/mail.go":                    "whom a mail is for and what it is about, of a bounded length",
}

// TestBodiesAreReserved checks that nothing that callers send is read whole, or decoded,
// but where it is reserved in the ledger first or bounded to little. Packages whose
// names end with test are linked into tests alone.
func TestBodiesAreReserved(t *testing.T) {
	used := map[string]bool{}
	eachLinked(t, []string{"internal"}, func(below string, files *token.FileSet, f *ast.File) {
		reads := readsWhole(f, strings.HasPrefix(below, "internal/server/") || strings.HasPrefix(below, "internal/service/"))
		if _, ok := unreserved[below]; ok {
			used[below] = len(reads) > 0
			return
		}
		for _, r := range reads {
			t.Errorf("%s: %s holds what somebody sent, and nothing counts that: read it by server's Body, ReadParts or BodyStream, or reserve it in the ledger and say so in this test", files.Position(r.at), r.what)
		}
	})
	for name := range unreserved {
		if !used[name] {
			t.Errorf("%s reads nothing whole: it needs no exception", name)
		}
	}
}

// reading is a place where something is read whole.
type reading struct {
	at   token.Pos
	what string
}

// readsWhole returns where a file reads something whole. In the codecs that is also who
// takes the body from a request itself.
func readsWhole(f *ast.File, codec bool) []reading {
	var found []reading
	called := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
		case *ast.SelectorExpr:
			from := ""
			if x, ok := n.X.(*ast.Ident); ok {
				from = x.Name
			}
			inner, ok := n.X.(*ast.SelectorExpr)
			isRequest := from == "r" || from == "req" || ok && inner.Sel.Name == "Request"
			switch {
			case slices.Contains(whole[from], n.Sel.Name), slices.Contains(whole[""], n.Sel.Name),
				codec && n.Sel.Name == "Body" && isRequest && !called[n]:
				found = append(found, reading{n.Pos(), strings.TrimPrefix(from+"."+n.Sel.Name, ".")})
			}
		}
		return true
	})
	return found
}

func TestReadingsAreFound(t *testing.T) {
	const text = `package p
func f() {
	io.ReadAll(x)
	json.NewDecoder(r.Body).Decode(&v)
	r.ParseForm()
	r.Body(kind, most)
	x := r.Request.Body
	json.Marshal(v)
}`
	for codec, want := range map[bool][]string{false: {"3", "4", "5"}, true: {"3", "4", "4", "5", "7"}} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, r := range readsWhole(f, codec) {
			lines = append(lines, fmt.Sprint(files.Position(r.at).Line))
		}
		if !slices.Equal(lines, want) {
			t.Errorf("found in lines %s, want %s", lines, want)
		}
	}
}
