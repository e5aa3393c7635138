package bytecode

import "strings"

// Class is the execution class of a step, as the trace shows it.
type Class uint8

// The classes.
const (
	ClassCPU Class = iota
	ClassIO
	ClassDB
	ClassNet
	ClassMachine
	ClassHuman
	ClassWait
)

var classNames = [...]string{"Cpu", "Io", "Db", "Net", "Machine", "Human", "Wait"}

// String returns the class as the trace writes it.
func (c Class) String() string { return classNames[c] }

// Effect is something that only the host can do or know. The machine stops at
// it, hands over its evaluated arguments, and continues with the result.
type Effect uint8

// The effects, with their arguments and results. "?" marks an argument that
// is null where the script left its clause out. Durations are seconds.
const (
	EffectNone Effect = iota

	// What is not computed.
	EffectNow             // () → text, RFC 3339 in UTC
	EffectRandom          // (low?, high?) → number
	EffectUUID            // () → text
	EffectToken           // (bytes?) → text
	EffectPasswordHash    // (text) → text
	EffectPasswordMatches // (text, hash) → boolean

	// The world around the script.
	EffectSessionGet   // (key?) → value; without key the whole map
	EffectSessionSet   // (key, value)
	EffectSessionUnset // (key)
	EffectSessionStart // ()
	EffectSessionEnd   // ()
	EffectAccountGet   // (key?)
	EffectQuotaGet     // (key?)
	EffectSecretGet    // (key?)
	EffectJobGet       // (key?)

	// People and time.
	EffectConfirm // (message, within?[, to]) → boolean
	EffectGather  // (form, within?[, to]) → map; form: {title, fields: [{name, kind, required, …}]}
	EffectWait    // (seconds)
	EffectWaitUntil

	// Files.
	EffectFileRead   // (path, format?, optional) → value
	EffectFileWrite  // (path, value, format?)
	EffectFileAppend // (path, value, line)
	EffectFileList   // (path) → list of {path, name, size, modified, folder}
	EffectFileCopy   // (from, to)
	EffectFileMove   // (from, to)
	EffectFileRemove // (path)
	EffectRender     // (path, data?) → text, which the machine emits

	// Sharing.
	EffectShare   // (path, times?, unlimited, for?, named?) → text
	EffectUnshare // (url)

	// Databases. The machine adds the name of the current database.
	EffectSQL        // (parameters…) → by the statement's mode
	EffectTxBegin    // ()
	EffectTxCommit   // ()
	EffectTxRollback // ()

	// Elsewhere.
	EffectFetch       // (url, method?, headers?, query?, body?, timeout?) → map
	EffectRun         // (command, machine, input?, timeout?[, computed]) → map; command: list, or text ready for a shell where it is not computed
	EffectMachineCopy // (from, from machine?, to, to machine?)

	// EffectSQLFile is a statement whose rows go into a file.
	EffectSQLFile // (parameters…, path)
	// EffectImport adds rows to a table of the current database.
	EffectImport // (table, rows) or (table, path, format?, encoding?, bad) → {rows, skipped}; a list of that and of the bad rows where bad is true

	// Files row by row. What file and at are is the host's business.
	EffectFileOpen // (path, format?, encoding?, bad) → {file, at}
	EffectFileRows // (file, at[, bad]) → {rows, at, lines, bad}; at is null behind the last row, bad where no row was

	// Mail.
	EffectMail         // (to, subject, text?, html?, from?, attach?) → text, its id
	EffectMailQuestion // (message or form, to): sends the link of the question that follows
	// EffectFetchAll makes calls side by side.
	EffectFetchAll // (list, at most?, timeout?) → list of maps, in the order of the list

	// Other jobs. What a job is to a script is its id.
	EffectCallScript  // (name, input?) → text; the statement waits for it then
	EffectStartScript // (name, input?) → text
	EffectWaitJob     // (job, within?, called) → value; called: it is the job of an EffectCallScript
	EffectWaitSignal  // (name, within?) → value
	EffectSignal      // (name, job, data?)

	effectCount
)

// EffectInfo describes an effect. The table of effects below is the one place
// that says what each does: the machine, its hosts and their journals decide by
// these traits, so that a new effect is described once.
type EffectInfo struct {
	Name  string // for logs and journals
	Class Class

	// Inner says that it is part of a statement, not one of its own: the trace
	// does not show it.
	Inner bool
	// InTransaction says that it may run inside a TRANSACTION.
	InTransaction bool
	// EndsTransaction says that it ends the open TRANSACTION.
	EndsTransaction bool

	// Reads says that it changes nothing: doing it again after a crash is safe.
	Reads bool
	// Changes says that it may change what the account has stored. SQL may as
	// well only read, which its database finds out.
	Changes bool
	// Outside says that it reaches systems of others: it takes as long as they
	// do, and after a crash nobody knows whether it was done.
	Outside bool
	// Suspends says that it waits for a person or a moment, and that the run is
	// stored meanwhile.
	Suspends bool

	// Instant says that it takes no time, reads nothing from the disk and leaves
	// nothing behind: a run may do it before its job is durable.
	Instant bool
	// Secret says that its result is a secret, to be masked wherever it shows.
	Secret bool
}

var effects = [effectCount]EffectInfo{
	EffectNone: {Name: "none"},

	EffectNow:             {Name: "now", Inner: true, InTransaction: true, Reads: true, Instant: true},
	EffectRandom:          {Name: "random", Inner: true, InTransaction: true, Reads: true, Instant: true},
	EffectUUID:            {Name: "uuid", Inner: true, InTransaction: true, Reads: true, Instant: true},
	EffectToken:           {Name: "token", Inner: true, InTransaction: true, Reads: true, Instant: true},
	EffectPasswordHash:    {Name: "password_hash", Inner: true, InTransaction: true, Reads: true},
	EffectPasswordMatches: {Name: "password_matches", Inner: true, InTransaction: true, Reads: true},

	EffectSessionGet:   {Name: "session_get", Class: ClassIO, Inner: true, InTransaction: true, Reads: true},
	EffectSessionSet:   {Name: "session_set", Class: ClassIO, Changes: true},
	EffectSessionUnset: {Name: "session_unset", Class: ClassIO, Changes: true},
	EffectSessionStart: {Name: "session_start", Class: ClassIO, Changes: true},
	EffectSessionEnd:   {Name: "session_end", Class: ClassIO, Changes: true},
	EffectAccountGet:   {Name: "account_get", Inner: true, InTransaction: true, Reads: true, Instant: true},
	EffectQuotaGet:     {Name: "quota_get", Inner: true, InTransaction: true, Reads: true},
	EffectSecretGet:    {Name: "secret_get", Inner: true, InTransaction: true, Reads: true, Secret: true},
	EffectJobGet:       {Name: "job_get", Inner: true, InTransaction: true, Reads: true, Instant: true},

	EffectConfirm:   {Name: "confirm", Class: ClassHuman, Suspends: true},
	EffectGather:    {Name: "gather", Class: ClassHuman, Suspends: true},
	EffectWait:      {Name: "wait", Class: ClassWait, Suspends: true},
	EffectWaitUntil: {Name: "wait_until", Class: ClassWait, Suspends: true},

	EffectFileRead:   {Name: "file_read", Class: ClassIO, Reads: true},
	EffectFileWrite:  {Name: "file_write", Class: ClassIO, Changes: true},
	EffectFileAppend: {Name: "file_append", Class: ClassIO, Changes: true},
	EffectFileList:   {Name: "file_list", Class: ClassIO, Reads: true},
	EffectFileCopy:   {Name: "file_copy", Class: ClassIO, Changes: true},
	EffectFileMove:   {Name: "file_move", Class: ClassIO, Changes: true},
	EffectFileRemove: {Name: "file_remove", Class: ClassIO, Changes: true},
	EffectRender:     {Name: "render", Class: ClassIO, Reads: true},

	EffectShare:   {Name: "share", Class: ClassIO, Changes: true},
	EffectUnshare: {Name: "unshare", Class: ClassIO, Changes: true},

	EffectSQL:        {Name: "sql", Class: ClassDB, InTransaction: true, Changes: true},
	EffectTxBegin:    {Name: "tx_begin", Class: ClassDB},
	EffectTxCommit:   {Name: "tx_commit", Class: ClassDB, Inner: true, InTransaction: true, EndsTransaction: true, Changes: true},
	EffectTxRollback: {Name: "tx_rollback", Class: ClassDB, Inner: true, InTransaction: true, EndsTransaction: true},

	EffectFetch:       {Name: "fetch", Class: ClassNet, Outside: true},
	EffectRun:         {Name: "run", Class: ClassMachine, Outside: true},
	EffectMachineCopy: {Name: "machine_copy", Class: ClassMachine, Outside: true},

	EffectSQLFile: {Name: "sql_file", Class: ClassDB, Changes: true},
	EffectImport:  {Name: "import", Class: ClassDB, InTransaction: true, Changes: true},

	EffectFileOpen: {Name: "file_open", Class: ClassIO, InTransaction: true, Reads: true},
	EffectFileRows: {Name: "file_rows", Class: ClassIO, Inner: true, InTransaction: true, Reads: true},

	EffectMail:         {Name: "mail", Class: ClassIO, Changes: true},
	EffectMailQuestion: {Name: "mail_question", Class: ClassIO, Inner: true, Changes: true},
	EffectFetchAll:     {Name: "fetch_all", Class: ClassNet, Outside: true},

	EffectCallScript:  {Name: "call_script", Class: ClassIO, Inner: true, Changes: true},
	EffectStartScript: {Name: "start_script", Class: ClassIO, Changes: true},
	EffectWaitJob:     {Name: "wait_job", Class: ClassWait, Suspends: true},
	EffectWaitSignal:  {Name: "wait_signal", Class: ClassWait, Suspends: true},
	EffectSignal:      {Name: "signal", Class: ClassIO, Changes: true},
}

// Info returns the description of e, which is empty for an unknown one.
func (e Effect) Info() EffectInfo {
	if e >= effectCount {
		return EffectInfo{}
	}
	return effects[e]
}

// OnlyReads tells whether an effect leaves all as it is: by its traits, and of SQL by its statement,
// which is nil for others.
func (e Effect) OnlyReads(s *Statement) bool {
	if i := e.Info(); e != EffectSQL || s == nil {
		return i.Reads || i.Suspends
	}
	return s.Head == "SELECT"
}

// String returns the effect's name.
func (e Effect) String() string { return e.Info().Name }

// HasStatement reports whether the effect is of a SQL statement, and how many arguments it
// has behind those for the statement's parameters.
func (e Effect) HasStatement() (more int, ok bool) {
	switch e {
	case EffectSQL:
		return 0, true
	case EffectSQLFile:
		return 1, true
	}
	return 0, false
}

// EffectNamed returns the effect of a name, EffectNone where there is none.
func EffectNamed(name string) Effect { return effectNames[name] }

var effectNames = func() map[string]Effect {
	names := make(map[string]Effect, effectCount)
	for e := EffectNone + 1; e < effectCount; e++ {
		names[effects[e].Name] = e
	}
	return names
}()

// Statement is a SQL statement of a program: text pieces with a parameter
// between each two.
type Statement struct {
	Head string // SELECT, INSERT, …
	// Texts are one more than there are parameters. That behind a SQLChoice begins with its choices:
	// see Text and Choices.
	Texts  []string
	Params []SQLParam
	Mode   SQLMode
}

// endOfChoice ends each choice in the text behind its parameter, and stands once more behind them.
const endOfChoice = "\x00"

// ChoicesText returns what choices come to at the start of the text behind their parameter.
func ChoicesText(choices []string) string {
	return strings.Join(choices, endOfChoice) + endOfChoice + endOfChoice
}

// Text returns piece i of the SQL.
func (s *Statement) Text(i int) string {
	if i == 0 || s.Params[i-1] != SQLChoice {
		return s.Texts[i]
	}
	_, text, _ := strings.Cut(s.Texts[i], endOfChoice+endOfChoice)
	return text
}

// Choices returns what parameter i may be, as it is written into the SQL; nil where it is no
// SQLChoice.
func (s *Statement) Choices(i int) []string {
	if s.Params[i] != SQLChoice {
		return nil
	}
	choices, _, _ := strings.Cut(s.Texts[i+1], endOfChoice+endOfChoice)
	return strings.Split(choices, endOfChoice)
}

// isWhole reports whether the parts of a statement fit together.
func (s *Statement) isWhole() bool {
	if len(s.Texts) != len(s.Params)+1 || s.Mode > SQLValue {
		return false
	}
	for i, p := range s.Params {
		if p > SQLChoice || p == SQLChoice && !strings.Contains(s.Texts[i+1], endOfChoice+endOfChoice) {
			return false
		}
	}
	return true
}

// SQLParam says what a parameter of a statement may stand for.
type SQLParam uint8

// The parameters.
const (
	SQLOne     SQLParam = iota // a value; a list or map is its JSON
	SQLMembers                 // after IN: the members of a list, in parentheses
	SQLAmong                   // a value among others in the parentheses of IN: no list
	SQLChoice                  // in braces: one of a list of names, which is written into the SQL
)

// SQLMode says what a script takes of a statement's result.
type SQLMode uint8

// The modes.
const (
	SQLEmit  SQLMode = iota // no SET: a list of rows is emitted
	SQLRows                 // all rows as a list of maps
	SQLRow                  // the first row or null
	SQLValue                // the first column of the first row or null
)
