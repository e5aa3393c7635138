package ide

import (
	"net/url"
	"slices"

	"ql/lang/syntax"
)

// Reach is what a script can do to the world, by its text alone. Names are those that
// stand in the text; where one is computed, the field that starts with Any says so.
type Reach struct {
	Databases   []string // "" is the default one
	AnyDatabase bool
	Reads       []string // paths of files
	Writes      []string
	AnyRead     bool
	AnyWrite    bool
	Hosts       []string
	AnyHost     bool
	Machines    []string
	AnyMachine  bool
	Secrets     []string
	AnySecret   bool
	People      bool // it asks somebody
	Waits       bool
	Scripts     []string // published ones that it runs
	AnyScript   bool
	Signals     bool // it signals other jobs
	Sessions    bool
	Shares      bool
	Mails       []string // addresses
	AnyMail     bool
}

// Effects returns what a script can do. What it includes is looked at where an account
// is given.
func Effects(text string, account Account) Reach {
	d := open(text)
	script, _ := d.parse()
	var r reacher
	r.script(script)
	for _, i := range included(referencesOf(script), account) {
		r.script(i.parse())
	}
	if r.unnamed {
		add(&r.Databases, "")
	}
	for _, list := range []*[]string{&r.Databases, &r.Reads, &r.Writes, &r.Hosts, &r.Machines, &r.Secrets, &r.Mails, &r.Scripts} {
		slices.Sort(*list)
	}
	return r.Reach
}

// reacher collects a Reach.
type reacher struct {
	Reach
	named   bool // a USE DATABASE stands before, on the way of every run
	unnamed bool // some SQL may run before one
}

func (r *reacher) script(s *syntax.Script) {
	for _, stmt := range s.Statements {
		_, function := stmt.(*syntax.Define)
		named := r.named
		r.named = named && !function // it may be called from before
		syntax.Walk(stmt, func(n syntax.Node) bool {
			r.node(n)
			return true
		})
		_, use := stmt.(*syntax.Use)
		r.named = named || use
	}
}

func add(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// constant adds the text of an expression, or says that there may be any.
func constant(x syntax.Expr, list *[]string, anything *bool) {
	switch t, ok := x.(*syntax.Text); {
	case x == nil:
	case ok && !t.HasInsertion():
		add(list, t.Plain())
	default:
		*anything = true
	}
}

func (r *reacher) read(paths ...syntax.Expr) {
	for _, p := range paths {
		constant(p, &r.Reads, &r.AnyRead)
	}
}

func (r *reacher) write(paths ...syntax.Expr) {
	for _, p := range paths {
		constant(p, &r.Writes, &r.AnyWrite)
	}
}

func (r *reacher) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.SQL:
		r.unnamed = r.unnamed || !r.named
		r.write(n.File)
	case *syntax.Import:
		r.unnamed = r.unnamed || !r.named
		r.read(n.Path)
	case *syntax.ForFile:
		r.read(n.Path)
	case *syntax.Use:
		constant(n.Name, &r.Databases, &r.AnyDatabase)
	case *syntax.Read:
		r.read(n.Path)
	case *syntax.List:
		r.read(n.Path)
	case *syntax.Render:
		r.read(n.Path)
	case *syntax.Write:
		r.write(n.Path)
	case *syntax.AppendFile:
		r.write(n.Path)
	case *syntax.Remove:
		r.write(n.Path)
	case *syntax.Copy:
		r.copy(n)
	case *syntax.Move:
		r.read(n.From)
		r.write(n.From, n.To)
	case *syntax.Share:
		r.Shares = true
		r.read(n.Path)
	case *syntax.Fetch:
		r.host(n.URL)
	case *syntax.FetchAll:
		r.hosts(n.List)
	case *syntax.RunScript:
		constant(n.Name, &r.Scripts, &r.AnyScript)
		r.Waits = r.Waits || !n.Start
	case *syntax.WaitFor:
		r.Waits = true
	case *syntax.Signal:
		r.Signals = true
	case *syntax.Run:
		constant(n.On, &r.Machines, &r.AnyMachine)
	case *syntax.Mail:
		r.mail(n.To)
		r.attached(n.Attach)
	case *syntax.Confirm:
		r.People = true
		if n.ByMail {
			r.mail(n.To)
		}
	case *syntax.Gather:
		r.People = true
		if n.ByMail {
			r.mail(n.To)
		}
	case *syntax.Wait:
		r.Waits = true
	case *syntax.StartSession:
		r.Sessions = true
	case *syntax.Global:
		switch n.Name {
		case "SESSION":
			r.Sessions = true
		case "SECRET":
			if n.Arg == nil {
				r.AnySecret = true
			}
			constant(n.Arg, &r.Secrets, &r.AnySecret)
		}
	}
}

func (r *reacher) copy(n *syntax.Copy) {
	constant(n.FromOn, &r.Machines, &r.AnyMachine)
	constant(n.ToOn, &r.Machines, &r.AnyMachine)
	if n.FromOn == nil {
		r.read(n.From)
	}
	if n.ToOn == nil {
		r.write(n.To)
	}
}

// mail adds whom a mail goes to, which may be several.
func (r *reacher) mail(to syntax.Expr) {
	for _, x := range members(to) {
		constant(x, &r.Mails, &r.AnyMail)
	}
}

// attached adds the files that go with a mail.
func (r *reacher) attached(list syntax.Expr) {
	for _, x := range members(list) {
		if m, ok := x.(*syntax.MapLit); ok {
			x = nil
			for _, e := range m.Entries {
				if e.Key == "path" {
					x = e.Value
				}
			}
		}
		r.read(x)
	}
}

// members returns those of a list that stands in the script, or the expression itself.
func members(x syntax.Expr) []syntax.Expr {
	if l, ok := x.(*syntax.ListLit); ok {
		return l.Items
	}
	return []syntax.Expr{x}
}

// hosts adds those of a list of addresses, each a text or a map with a url.
func (r *reacher) hosts(x syntax.Expr) {
	list, ok := x.(*syntax.ListLit)
	if !ok {
		r.AnyHost = true
		return
	}
	for _, item := range list.Items {
		if m, ok := item.(*syntax.MapLit); ok {
			item = nil
			for _, e := range m.Entries {
				if e.Key == "url" {
					item = e.Value
				}
			}
		}
		r.host(item)
	}
}

// host adds the host of an address, which may be known although its path is not.
func (r *reacher) host(x syntax.Expr) {
	t, ok := x.(*syntax.Text)
	if !ok || len(t.Parts) == 0 || t.Parts[0].Insert != nil {
		r.AnyHost = true
		return
	}
	start := t.Parts[0].Plain
	u, err := url.Parse(start)
	if err != nil || u.Host == "" || len(t.Parts) > 1 && u.Path == "" && u.RawQuery == "" {
		r.AnyHost = true // the host itself may go on with an insertion
		return
	}
	add(&r.Hosts, u.Host)
}
