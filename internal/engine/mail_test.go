package engine

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"ql/lang/value"
)

// fakeMails remembers what is to be sent.
type fakeMails struct {
	ids   []string
	mails []Mail
	err   error
}

func (f *fakeMails) Send(_ context.Context, id string, m Mail) error {
	f.ids, f.mails = append(f.ids, id), append(f.mails, m)
	return f.err
}

func jobPage(context.Context, int) (value.Value, error) {
	m := value.NewMap(nil, 1)
	m.SetText(FormURL, value.Text("https://ql.example.com/form/1"))
	return m.Value(), nil
}

func text(s string) *string { return &s }

func TestMail(t *testing.T) {
	for script, want := range map[string]Mail{
		`MAIL TO "ada@example.com" SUBJECT "Hi" TEXT "Hello"`:                                      {To: []string{"ada@example.com"}, Subject: "Hi", Body: "Hello"},
		`SET ?x AS "<" MAIL TO ["a@b.example", "c@d.example"] SUBJECT "Hi" HTML "<p>{?x}</p>"`:     {To: []string{"a@b.example", "c@d.example"}, Subject: "Hi", Body: "<p>&lt;</p>", HTML: true},
		`SET ?x AS "<b>" MAIL TO "a@b.example" SUBJECT "" HTML ?x FROM "me@b.example"`:             {To: []string{"a@b.example"}, Body: "<b>", HTML: true, From: text("me@b.example")},
		`MAIL TO "a@b.example" SUBJECT "s" TEXT "" ATTACH "/a.pdf"`:                                {To: []string{"a@b.example"}, Subject: "s", Attachments: []MailAttachment{{Path: "/a.pdf"}}},
		`MAIL TO "a@b.example" SUBJECT "s" TEXT "" ATTACH ["/a", {path: "/b", name: "B"}]`:         {To: []string{"a@b.example"}, Subject: "s", Attachments: []MailAttachment{{Path: "/a"}, {Path: "/b", Name: text("B")}}},
		`TRY CONFIRM "Pay\n 3?" TO "a@b.example" BY MAIL WITHIN 0 DAYS SET ?ok CATCH END`:          {To: []string{"a@b.example"}, Subject: "Pay 3?", Body: "Pay\n 3?\n\nhttps://ql.example.com/form/1\n", Question: true},
		`TRY GATHER "Claim" FIELDS a TEXT TO "a@b.example" BY MAIL WITHIN 0 DAYS SET ?f CATCH END`: {To: []string{"a@b.example"}, Subject: "Claim", Body: "Claim\n\nhttps://ql.example.com/form/1\n", Question: true},
	} {
		w, f := newWorld(t), &fakeMails{}
		w.o.Mails, w.o.Job = f, jobPage
		out, err := w.start(script).Continue(w.ctx)
		if err != nil || out.Status != Done || len(f.mails) != 1 || !reflect.DeepEqual(f.mails[0], want) {
			t.Errorf("%s: %v, %v, %v: %+v", script, out.Status, out.Err, err, f.mails)
		}
	}
}

func TestMailMistakes(t *testing.T) {
	for script, want := range map[string]string{
		`MAIL TO 1 SUBJECT "Hi" TEXT "Hello"`:                                              `wrong_kind: TO takes an address such as "ada@example.com", or a list of them, not the number 1`,
		`MAIL TO ["a@b.example", null] SUBJECT "Hi" TEXT "Hello"`:                          `wrong_kind: TO takes an address such as "ada@example.com", or a list of them, and member 1 is null`,
		`MAIL TO MAP(RANGE(1, 51), ?i -> "a@b.example") SUBJECT "Hi" TEXT "Hello"`:         `bad_argument: a MAIL goes to 50 addresses at most: send several`,
		`MAIL TO "a@b.example" SUBJECT 1 TEXT "Hello"`:                                     `wrong_kind: the SUBJECT of a MAIL is a text, not the number 1`,
		`MAIL TO "a@b.example" SUBJECT "Hi" TEXT 1`:                                        `wrong_kind: what a MAIL says is a text, not the number 1`,
		`MAIL TO "a@b.example" SUBJECT "Hi" TEXT "x" FROM 1`:                               `wrong_kind: the address that FROM takes is a text, not the number 1`,
		`MAIL TO "a@b.example" SUBJECT "Hi" TEXT "x" ATTACH 1`:                             `wrong_kind: ATTACH takes the path of a file`,
		`MAIL TO "a@b.example" SUBJECT "Hi" TEXT "x" ATTACH [{name: "a"}]`:                 `wrong_kind: ATTACH takes the path of a file`,
		`MAIL TO "a@b.example" SUBJECT "Hi" TEXT "x" ATTACH [{path: "/a", type: 1}]`:       `wrong_kind: ATTACH takes the path of a file`,
		`MAIL TO "a@b.example" SUBJECT "Hi" TEXT "x" ATTACH MAP(RANGE(1, 21), ?i -> "/a")`: `bad_argument: 20 files go with a MAIL at most, and ATTACH has 21`,
		`CONFIRM "a" TO 1 BY MAIL`:                                                         `wrong_kind: the address that TO takes with BY MAIL is a text, not the number 1`,
	} {
		w, f := newWorld(t), &fakeMails{}
		w.o.Mails, w.o.Job = f, jobPage
		out, err := w.start(script).Continue(w.ctx)
		if err != nil || out.Status != Failed || len(f.mails) != 0 {
			t.Errorf("%s: %v, %v", script, out.Status, err)
			continue
		}
		if got := out.Err.Code + ": " + out.Err.Message; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", script, got)
		}
	}
	w := newWorld(t)
	out, _ := w.start(`MAIL TO "a@b.example" SUBJECT "a" TEXT "b"`).Continue(w.ctx)
	if out.Status != Failed || out.Err.Code != "not_available" {
		t.Errorf("without mail: %v, %v", out.Status, out.Err)
	}
}
