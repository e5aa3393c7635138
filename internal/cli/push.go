package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/fault"
	"ql/internal/remote"
	"ql/internal/resource/files"
	"ql/lang/source"
	"ql/lang/value"
)

// pushCommand is ql push. It calls a service elsewhere by its public API alone.
type pushCommand struct {
	Folder  string `arg:"" help:"The folder of the site."`
	URL     string `arg:"" help:"The service, such as https://ql.example.com."`
	Account string `default:"-" placeholder:"NAME" help:"The account that the site is of; whose key it is where left out."`
	DryRun  bool   `help:"Show what would change, and change nothing."`
	Force   bool   `help:"Also where somebody else deployed in the meantime."`
	remoteCredentials
}

// localSite is a folder that is to become a site.
type localSite struct {
	folder   string
	digests  map[string]string // of the files, by their paths in the site
	contents map[string]string // where a content is found, by its digest
	links    int               // symbolic links, which are not followed
}

// readSite reads what is in a folder. Names that begin with a dot are left out, but .well-known: sites
// never serve them, and secrets of editors and tools are among them. So is node_modules.
func (c *console) readSite(folder string) (*localSite, error) {
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return nil, usage("%s", plainError(err))
	case !info.IsDir():
		return nil, usage("%s is no folder: a site is all that is in one", folder)
	}
	s := &localSite{folder: folder, digests: map[string]string{}, contents: map[string]string{}}
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		hidden := name != folder && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".well-known" || d.Name() == "node_modules")
		switch {
		case err != nil:
			return err
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case d.IsDir() && hidden:
			return filepath.SkipDir
		case d.Type()&fs.ModeSymlink != 0 && !hidden:
			s.links++
			return nil
		case hidden || !d.Type().IsRegular():
			return nil
		case len(s.digests) == files.MaxSiteFiles:
			return usage("%s has more than %d files, which is the most that a site has", folder, files.MaxSiteFiles)
		}
		return s.add(name)
	})
	var said *failure
	if err != nil && !errors.As(err, &said) && c.ctx.Err() == nil {
		err = usage("%s", plainError(err))
	}
	return s, err
}

// add adds a file.
func (s *localSite) add(name string) error {
	relative, err := filepath.Rel(s.folder, name)
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	s.digests[filepath.ToSlash(relative)], s.contents[digest] = digest, name
	return nil
}

// pushPlan is what a deploy would do, as POST /v1/sites/main/plan tells.
type pushPlan struct {
	Release *int64   `json:"release"`
	Missing []string `json:"missing"`
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

// changes returns how many files change.
func (p *pushPlan) changes() int { return len(p.Added) + len(p.Changed) + len(p.Removed) }

// pusher deploys a folder.
type pusher struct {
	*console
	*pushCommand
	client *remote.Client
	site   *localSite
	sent   int
	bytes  int64
}

// Run implements the command.
func (k *pushCommand) Run(c *console) error {
	client, err := k.connect(c, "the address", k.URL, k.Account)
	if err != nil {
		return err
	}
	site, err := c.readSite(k.Folder)
	if err != nil {
		return err
	}
	if site.links > 0 && !c.json {
		fmt.Fprintf(c.err, "ql: symbolic links are not followed, and left out: %d\n", site.links)
	}
	p := &pusher{console: c, pushCommand: k, client: client, site: site}
	// Another deploy may let go of content that this one relied on: once more, then.
	err = p.push()
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Code == fault.ContentMissing {
		err = p.push()
	}
	return err
}

// push plans, sends what is missing, and deploys.
func (p *pusher) push() error {
	manifest := map[string]any{"files": p.site.digests}
	var plan pushPlan
	if err := p.patiently(func() error {
		return p.client.Do(p.ctx, remote.Call{Method: remote.Post, Path: []string{"sites", "main", "plan"}, JSON: manifest}, &plan)
	}); err != nil {
		return err
	}
	if p.DryRun {
		p.showPlan(&plan)
		return nil
	}
	for _, digest := range plan.Missing {
		if err := p.patiently(func() error { return p.send(digest) }); err != nil {
			return err
		}
	}
	header := map[string]string{}
	switch {
	case p.Force:
	case plan.Release == nil:
		header["If-None-Match"] = "*"
	default:
		header["If-Match"] = `"` + strconv.FormatInt(*plan.Release, 10) + `"`
	}
	var answer struct{ Release releaseJSON }
	err := p.patiently(func() error {
		return p.client.Do(p.ctx, remote.Call{Method: remote.Put, Path: []string{"sites", "main"}, JSON: manifest, Header: header}, &answer)
	})
	var detailed *remote.DetailedError
	if errors.As(err, &detailed) {
		return p.notDeployed(detailed.Details)
	}
	if err != nil {
		return err
	}
	p.showPushed(&plan, answer.Release)
	return nil
}

// send sends one content.
func (p *pusher) send(digest string) error {
	name, ok := p.site.contents[digest]
	if !ok {
		return fmt.Errorf("the service asks for content that the folder does not have: %s", printable(digest))
	}
	f, err := os.Open(name)
	if err != nil {
		return usage("%s", plainError(err))
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return usage("%s", plainError(err))
	}
	// Not the file itself: the transport would close it before it is sent again.
	body := io.LimitReader(stoppable{p.ctx, f}, info.Size())
	err = p.client.Do(p.ctx, remote.Call{Method: remote.Put, Path: []string{"sites", "main", "content", digest}, Body: body, Size: info.Size()}, nil)
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Code == fault.InvalidRequest {
		return usage("%s was refused, or changed while it was sent: %s", name, printable(refused.Message))
	}
	if err == nil {
		p.sent++
		p.bytes += info.Size()
	}
	return err
}

const (
	// pushTries is how often a call is made that the service has no room for at the moment.
	pushTries = 30
	// pushPause is how long it waits between.
	pushPause = 2 * time.Second
)

// patiently makes a call, again after a while where there are too many.
func (p *pusher) patiently(call func() error) error {
	for try := 1; ; try++ {
		err := call()
		var refused *fault.Error
		if try == pushTries || !errors.As(err, &refused) || refused.Code != fault.RateLimited && refused.Code != fault.Overloaded {
			return err
		}
		if waited := p.wait(p.ctx, p.clock().Add(pushPause)); waited != nil {
			return err
		}
	}
}

// notDeployed shows the errors of scripts at their lines, as ql check does.
func (p *pusher) notDeployed(details []remote.Detail) error {
	found := []problemJSON{}
	for _, d := range details {
		e := &source.Error{Line: d.Line, Column: d.Column, Width: 1, Message: printable(d.Message)}
		name := printable(d.File)
		if inSite, ok := strings.CutPrefix(d.File, files.SiteFolder+"/"); ok {
			name = filepath.Join(p.Folder, filepath.FromSlash(printable(inSite)))
			if _, known := p.site.digests[inSite]; known {
				e.Source = p.lineOf(name, d)
			}
		}
		found = append(found, p.problems(name, source.Errors{e})...)
	}
	if p.json {
		p.printProblems(found, nil)
		return &failure{code: exitUsage}
	}
	return usage("nothing is deployed: scripts have errors")
}

// lineOf returns the line that an error is in; "" where the file is another by now.
func (c *console) lineOf(name string, d remote.Detail) string {
	text, err := c.readScript(name, maxScript)
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if err != nil || d.Line < 1 || d.Line > len(lines) || d.Column < 1 || d.Column > utf8.RuneCountInString(lines[d.Line-1])+1 {
		return ""
	}
	return lines[d.Line-1]
}

// pushedJSON is what a push did, or would do.
type pushedJSON struct {
	Status  string       `json:"status"`
	Release *releaseJSON `json:"release,omitempty"`
	Added   []string     `json:"added"`
	Changed []string     `json:"changed"`
	Removed []string     `json:"removed"`
	Sent    int          `json:"sent"`
	Bytes   int64        `json:"bytes_sent"`
}

func (p *pusher) showPlan(plan *pushPlan) {
	if p.json {
		p.print(pushedJSON{Status: "ok", Added: plan.Added, Changed: plan.Changed, Removed: plan.Removed})
		return
	}
	for _, list := range []struct {
		mark  string
		paths []string
	}{{"+", plan.Added}, {"~", plan.Changed}, {"-", plan.Removed}} {
		for _, path := range list.paths {
			fmt.Fprintf(p.out, "%s %s\n", list.mark, printable(path))
		}
	}
	fmt.Fprintf(p.out, "%s; %d to be sent\n", counts(plan), len(plan.Missing))
}

func counts(plan *pushPlan) string {
	return fmt.Sprintf("%d added, %d changed, %d removed", len(plan.Added), len(plan.Changed), len(plan.Removed))
}

func (p *pusher) showPushed(plan *pushPlan, r releaseJSON) {
	switch {
	case p.json:
		p.print(pushedJSON{"ok", &r, plan.Added, plan.Changed, plan.Removed, p.sent, p.bytes})
	case plan.changes() == 0:
		fmt.Fprintf(p.out, "nothing has changed: release %d\n", r.Number)
	default:
		fmt.Fprintf(p.out, "release %d: %s; %d sent, %s\n", r.Number, counts(plan), p.sent, value.FormatByteCount(p.bytes))
	}
}
