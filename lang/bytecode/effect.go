package bytecode

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
// it, hands over its evaluated arguments, and goes on with the result.
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
	EffectConfirm // (message, within?) → boolean
	EffectGather  // (form, within?) → map; form: {title, fields: [{name, kind, required, …}]}
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
	EffectRun         // (command, machine, input?, timeout?) → map; command: list, or text ready for a shell
	EffectMachineCopy // (from, from machine?, to, to machine?)

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
	EffectNone:            {Name: "none"},
	EffectNow:             {Name: "now", InTransaction: true, Read: true, Inner: true},
	EffectRandom:          {Name: "random", InTransaction: true, Read: true, Inner: true},
	EffectUUID:            {Name: "uuid", InTransaction: true, Read: true, Inner: true},
	EffectToken:           {Name: "token", InTransaction: true, Read: true, Inner: true},
	EffectPasswordHash:    {Name: "password_hash", InTransaction: true, Read: true, Inner: true},
	EffectPasswordMatches: {Name: "password_matches", InTransaction: true, Read: true, Inner: true},
	EffectSessionGet:      {Name: "session_get", Class: ClassIO, InTransaction: true, Read: true, Inner: true},
	EffectSessionSet:      {Name: "session_set", Class: ClassIO},
	EffectSessionUnset:    {Name: "session_unset", Class: ClassIO},
	EffectSessionStart:    {Name: "session_start", Class: ClassIO},
	EffectSessionEnd:      {Name: "session_end", Class: ClassIO},
	EffectAccountGet:      {Name: "account_get", InTransaction: true, Read: true, Inner: true},
	EffectQuotaGet:        {Name: "quota_get", InTransaction: true, Read: true, Inner: true},
	EffectSecretGet:       {Name: "secret_get", InTransaction: true, Read: true, Inner: true},
	EffectJobGet:          {Name: "job_get", InTransaction: true, Read: true, Inner: true},
	EffectConfirm:         {Name: "confirm", Class: ClassHuman},
	EffectGather:          {Name: "gather", Class: ClassHuman},
	EffectWait:            {Name: "wait", Class: ClassWait},
	EffectWaitUntil:       {Name: "wait_until", Class: ClassWait},
	EffectFileRead:        {Name: "file_read", Class: ClassIO, Read: true},
	EffectFileWrite:       {Name: "file_write", Class: ClassIO},
	EffectFileAppend:      {Name: "file_append", Class: ClassIO},
	EffectFileList:        {Name: "file_list", Class: ClassIO, Read: true},
	EffectFileCopy:        {Name: "file_copy", Class: ClassIO},
	EffectFileMove:        {Name: "file_move", Class: ClassIO},
	EffectFileRemove:      {Name: "file_remove", Class: ClassIO},
	EffectRender:          {Name: "render", Class: ClassIO, Read: true},
	EffectShare:           {Name: "share", Class: ClassIO},
	EffectUnshare:         {Name: "unshare", Class: ClassIO},
	EffectSQL:             {Name: "sql", Class: ClassDB, InTransaction: true},
	EffectTxBegin:         {Name: "tx_begin", Class: ClassDB},
	EffectTxCommit:        {Name: "tx_commit", Class: ClassDB, InTransaction: true, Inner: true},
	EffectTxRollback:      {Name: "tx_rollback", Class: ClassDB, InTransaction: true, Inner: true},
	EffectFetch:           {Name: "fetch", Class: ClassNet},
	EffectRun:             {Name: "run", Class: ClassMachine},
	EffectMachineCopy:     {Name: "machine_copy", Class: ClassMachine},
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
