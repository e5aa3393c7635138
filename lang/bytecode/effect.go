package bytecode

// Class is the execution class of a step, as the trace shows it.
type Class uint8

// The classes.
const (
	Cpu Class = iota
	Io
	Db
	Net
	Mach
	Human
	WaitClass
)

var classNames = [...]string{"Cpu", "Io", "Db", "Net", "Machine", "Human", "Wait"}

// String returns the class as the trace writes it.
func (c Class) String() string { return classNames[c] }

// Effect is something that only the host can do or know. The machine stops at
// it, hands over its evaluated arguments, and goes on with the result.
type Effect uint8

// The effects, with their arguments and results. "?" marks an argument that
// is null where the script left its clause out. Durations are seconds.
const (
	NoEffect Effect = iota

	// What is not computed.
	Now             // () → text, RFC 3339 in UTC
	Random          // (low?, high?) → number
	UUID            // () → text
	Token           // (bytes?) → text
	PasswordHash    // (text) → text
	PasswordMatches // (text, hash) → boolean

	// The world around the script.
	SessionGet   // (key?) → value; without key the whole map
	SessionSet   // (key, value)
	SessionUnset // (key)
	SessionStart // ()
	SessionEnd   // ()
	AccountGet   // (key?)
	QuotaGet     // (key?)
	SecretGet    // (key?)
	JobGet       // (key?)

	// People and time.
	Confirm // (message, within?) → boolean
	Gather  // (form, within?) → map; form: {title, fields: [{name, kind, required, …}]}
	Wait    // (seconds)
	WaitUntil

	// Files.
	FileRead   // (path, format?, optional) → value
	FileWrite  // (path, value, format?)
	FileAppend // (path, value, line)
	FileList   // (path) → list of {path, name, size, modified, folder}
	FileCopy   // (from, to)
	FileMove   // (from, to)
	FileRemove // (path)
	Render     // (path, data?) → text, which the machine emits

	// Sharing.
	Share   // (path, times?, unlimited, for?, named?) → text
	Unshare // (url)

	// Databases. The machine adds the name of the current database.
	SQL        // (parameters…) → by the statement's mode
	TxBegin    // ()
	TxCommit   // ()
	TxRollback // ()

	// Elsewhere.
	Fetch       // (url, method?, headers?, query?, body?, timeout?) → map
	Run         // (command, machine, input?, timeout?) → map; command: list, or text ready for a shell
	MachineCopy // (from, from machine?, to, to machine?)

	effectCount
)

// EffectInfo describes an effect.
type EffectInfo struct {
	Name  string // for logs and journals
	Class Class
	// InTransaction says that it may stand inside a TRANSACTION.
	InTransaction bool
	// Read says that it changes nothing in the world: doing it again after a
	// crash is safe.
	Read bool
	// Inner says that it is part of a statement, not one of its own.
	Inner bool
}

var effects = [effectCount]EffectInfo{
	NoEffect:        {Name: "none"},
	Now:             {Name: "now", InTransaction: true, Read: true, Inner: true},
	Random:          {Name: "random", InTransaction: true, Read: true, Inner: true},
	UUID:            {Name: "uuid", InTransaction: true, Read: true, Inner: true},
	Token:           {Name: "token", InTransaction: true, Read: true, Inner: true},
	PasswordHash:    {Name: "password_hash", InTransaction: true, Read: true, Inner: true},
	PasswordMatches: {Name: "password_matches", InTransaction: true, Read: true, Inner: true},
	SessionGet:      {Name: "session_get", Class: Io, InTransaction: true, Read: true, Inner: true},
	SessionSet:      {Name: "session_set", Class: Io},
	SessionUnset:    {Name: "session_unset", Class: Io},
	SessionStart:    {Name: "session_start", Class: Io},
	SessionEnd:      {Name: "session_end", Class: Io},
	AccountGet:      {Name: "account_get", InTransaction: true, Read: true, Inner: true},
	QuotaGet:        {Name: "quota_get", InTransaction: true, Read: true, Inner: true},
	SecretGet:       {Name: "secret_get", InTransaction: true, Read: true, Inner: true},
	JobGet:          {Name: "job_get", InTransaction: true, Read: true, Inner: true},
	Confirm:         {Name: "confirm", Class: Human},
	Gather:          {Name: "gather", Class: Human},
	Wait:            {Name: "wait", Class: WaitClass},
	WaitUntil:       {Name: "wait_until", Class: WaitClass},
	FileRead:        {Name: "file_read", Class: Io, Read: true},
	FileWrite:       {Name: "file_write", Class: Io},
	FileAppend:      {Name: "file_append", Class: Io},
	FileList:        {Name: "file_list", Class: Io, Read: true},
	FileCopy:        {Name: "file_copy", Class: Io},
	FileMove:        {Name: "file_move", Class: Io},
	FileRemove:      {Name: "file_remove", Class: Io},
	Render:          {Name: "render", Class: Io, Read: true},
	Share:           {Name: "share", Class: Io},
	Unshare:         {Name: "unshare", Class: Io},
	SQL:             {Name: "sql", Class: Db, InTransaction: true},
	TxBegin:         {Name: "tx_begin", Class: Db},
	TxCommit:        {Name: "tx_commit", Class: Db, InTransaction: true, Inner: true},
	TxRollback:      {Name: "tx_rollback", Class: Db, InTransaction: true, Inner: true},
	Fetch:           {Name: "fetch", Class: Net},
	Run:             {Name: "run", Class: Mach},
	MachineCopy:     {Name: "machine_copy", Class: Mach},
}

// Info returns the description of e, which is empty for an unknown one.
func (e Effect) Info() EffectInfo {
	if e >= effectCount {
		return EffectInfo{}
	}
	return effects[e]
}

// String returns the effect's name.
func (e Effect) String() string { return e.Info().Name }

// Statement is a SQL statement of a program: text pieces with a parameter
// between each two.
type Statement struct {
	Head   string   // SELECT, INSERT, …
	Texts  []string // one more than there are parameters
	Params []SQLParam
	Mode   SQLMode
}

// SQLParam says what a parameter of a statement may stand for.
type SQLParam uint8

// The parameters.
const (
	SQLOne     SQLParam = iota // a value; a list or map is its JSON
	SQLMembers                 // after IN: the members of a list, in parentheses
	SQLAmong                   // a value among others in the parentheses of IN: no list
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
