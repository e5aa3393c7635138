// Package config makes one Settings of what flags, the environment and a file
// say, in this order of precedence, over defaults that are fit for one machine.
// Everything is checked here, once, before anything starts: an error names the
// setting, where it was set, what was found and what would fit. What a setting
// does is the business of whoever takes it.
package config

import (
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/mail"
	"ql/internal/redacted"
)

// Settings are all settings of the service, checked.
type Settings struct {
	Listen         string        // host:port; port 0 takes a free one
	Data           string        // the data folder
	Database       redacted.Text // where the store is on PostgreSQL, which may hold a password; "" for SQLite in the data folder
	DatabaseDirect redacted.Text // the same without a pooler; "" where Database is that
	Blobs          *Bucket       // where the contents of files are; nil for a folder in the data folder
	Join           bool          // only as a node of a database and a bucket
	MasterKeyFile  string        // "" for master.key in the data folder

	// The addresses that links begin with, without a slash at the end; "" for
	// the address that the service listens on.
	BaseURL    string
	JSONAPIURL string
	FileURL    string
	SiteURL    string
	// NodeListen is where other nodes reach this one, "" for nowhere.
	NodeListen string
	// SiteListen is where sites are served, "" for nowhere; where it is Listen, they are told from
	// the service by their hosts. SiteHost is the domain below which each account has a host.
	SiteListen string
	SiteHost   string
	// AllowedHosts are the names by which the service may be called, besides
	// those of its addresses; empty, with no address set, for any.
	AllowedHosts   []string
	TrustedProxies []netip.Prefix

	TLSCert     []string // files; none for plain HTTP, or ACME
	TLSKey      []string // of each certificate
	ACMEDomains []string
	ACMESites   bool // also for domains of sites
	ACMEEmail   string
	ACMEURL     string // the directory of the authority; "" for Let's Encrypt

	Dev         bool
	DevPublic   bool
	DevUsername string // "" for no development account
	DevPassword redacted.Text

	SignUp   SignUp
	KeysOnce bool // no copy of API keys is kept

	ReadHeaderTimeout        time.Duration
	ReadTimeout              time.Duration
	IdleTimeout              time.Duration
	StopTimeout              time.Duration // how long a stop waits for scripts under way
	DrainDelay               time.Duration // how long a node that is to stop serves on while it is not ready
	MaxConnections           int
	MaxConnectionsPerAddress int // 0 for no bound

	// What webhooks and scripts may reach besides public addresses by https.
	EgressNetworks []netip.Prefix
	EgressPorts    []uint16
	EgressHTTP     bool

	// How mails are sent; nil for not at all. The password is that of the server.
	MailServer   *mail.Server
	MailFrom     *mail.Address
	MailPassword redacted.Text

	LogLevel      slog.Level
	LogFormat     LogFormat
	MetricsListen string // "" for no listener of their own
	OTLPEndpoint  string // "" for no traces

	Plans map[account.Plan]account.Limits // all plans, overrides made
}

// SignUp says who may make an account for themselves.
type SignUp string

// The ways.
const (
	SignUpClosed SignUp = "closed"
	SignUpInvite SignUp = "invite"
	SignUpOpen   SignUp = "open"
)

// LogFormat says how the log is written.
type LogFormat string

// The formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Setting is a setting as people write it.
type Setting struct {
	Name    string // as a flag: words joined by -
	Group   string // under which help shows it
	Takes   string // what its value is, "" for a switch
	Default string // in words or as written; "" where Help says it
	Help    string
	// Secret settings are no flags: other users of the machine see those.
	Secret bool

	set func(s *Settings, text string) error
}

// Env returns the name of the setting in the environment.
func (s Setting) Env() string { return "QL_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) }

// Key returns the name of the setting in a file.
func (s Setting) Key() string { return strings.ReplaceAll(s.Name, "-", "_") }

// IsSwitch reports whether the setting is on or off.
func (s Setting) IsSwitch() bool { return s.Takes == "" }

// The groups.
const (
	groupBasics  = "Basics"
	groupURLs    = "Addresses"
	groupTLS     = "TLS"
	groupDev     = "Development"
	groupAccount = "Accounts"
	groupServer  = "Connections"
	groupEgress  = "The network"
	groupMail    = "Mail"
	groupWatch   = "Logs, metrics and traces"
)

// All returns every setting, in the order in which help shows them. Limits of
// plans are set in a file only.
func All() []Setting {
	return []Setting{
		{Name: "listen", Group: groupBasics, Takes: "HOST:PORT", Default: defaultListen, Help: "Where to listen; port 0 takes a free one",
			set: func(s *Settings, text string) (err error) { s.Listen, err = parseListen(text); return err }},
		{Name: "data", Group: groupBasics, Takes: "DIR", Default: defaultData, Help: "The data folder, which ql serve makes where it is missing",
			set: func(s *Settings, text string) (err error) { s.Data, err = parseNonEmpty(text); return err }},
		{Name: "database", Group: groupBasics, Takes: "URL", Default: "SQLite in the data folder", Help: "Keep the store in PostgreSQL: postgres://user@host/database",
			set: func(s *Settings, text string) (err error) { s.Database, err = parseDatabase(text); return err }},
		{Name: "database-direct", Group: groupBasics, Takes: "URL", Default: "database", Help: "The same database without the pooler that --database leads to, where that gives connections away after each transaction, as PgBouncer may",
			set: func(s *Settings, text string) (err error) { s.DatabaseDirect, err = parseDatabase(text); return err }},
		{Name: "blobs", Group: groupBasics, Takes: "URL", Default: "a folder in the data folder", Help: "Keep contents of files in S3: s3://bucket/prefix?region=eu-central-1, or with endpoint=https://host",
			set: func(s *Settings, text string) (err error) { s.Blobs, err = parseBlobs(text); return err }},
		{Name: "join", Group: groupBasics, Default: "off", Help: "Refuse to start but as one of several nodes, by --database and --blobs; with both a server is one in any case",
			set: func(s *Settings, text string) (err error) { s.Join, err = parseSwitch(text); return err }},
		{Name: "node-listen", Group: groupBasics, Takes: "HOST:PORT", Default: "nowhere", Help: "Where other nodes send calls on to this one, for databases that it has: an address of its own that they reach",
			set: func(s *Settings, text string) (err error) { s.NodeListen, err = parseNodeListen(text); return err }},
		{Name: "master-key-file", Group: groupBasics, Takes: "FILE", Default: "master.key in the data folder", Help: "The key that wraps secrets",
			set: func(s *Settings, text string) (err error) { s.MasterKeyFile, err = parseNonEmpty(text); return err }},

		{Name: "base-url", Group: groupURLs, Takes: "URL", Default: "the address listened on", Help: "How callers reach the service: the root of a host, without a path",
			set: func(s *Settings, text string) (err error) { s.BaseURL, err = parseURL(text); return err }},
		{Name: "json-api-url", Group: groupURLs, Takes: "URL", Default: "base-url", Help: "How callers reach the JSON convention",
			set: func(s *Settings, text string) (err error) { s.JSONAPIURL, err = parseURL(text); return err }},
		{Name: "file-url", Group: groupURLs, Takes: "URL", Default: "base-url", Help: "What links to shared files begin with",
			set: func(s *Settings, text string) (err error) { s.FileURL, err = parseURL(text); return err }},
		{Name: "site-url", Group: groupURLs, Takes: "URL", Default: "the listener of sites", Help: "How visitors reach the sites' domain: its scheme and port are those of links to sites",
			set: func(s *Settings, text string) (err error) { s.SiteURL, err = parseURL(text); return err }},
		{Name: "site-host", Group: groupURLs, Takes: "DOMAIN", Default: "that of site-url; localhost with --dev", Help: "The domain below which each account's site has a host, by its username",
			set: func(s *Settings, text string) (err error) { s.SiteHost, err = parseSiteHost(text); return err }},
		{Name: "site-listen", Group: groupBasics, Takes: "HOST:PORT", Default: "the port after that of listen, with --dev, site-host or site-url; otherwise no sites", Help: "Where sites are served; the address of listen where hosts shall tell them apart",
			set: func(s *Settings, text string) (err error) { s.SiteListen, err = parseListen(text); return err }},
		{Name: "allowed-hosts", Group: groupURLs, Takes: "HOST,…", Default: "those of the addresses above; any where none is set", Help: "Further names by which the service may be called",
			set: func(s *Settings, text string) (err error) { s.AllowedHosts, err = parseHosts(text); return err }},
		{Name: "trusted-proxies", Group: groupURLs, Takes: "NETWORK,…", Default: "none", Help: "Proxies whose X-Forwarded-For is believed, as 10.0.0.0/8",
			set: func(s *Settings, text string) (err error) { s.TrustedProxies, err = parsePrefixes(text); return err }},

		{Name: "tls-cert", Group: groupTLS, Takes: "FILE,…", Default: "plain HTTP", Help: "The certificate with its chain, in PEM; of several, the name that is called chooses",
			set: func(s *Settings, text string) (err error) { s.TLSCert, err = parseFiles(text); return err }},
		{Name: "tls-key", Group: groupTLS, Takes: "FILE,…", Default: "none", Help: "The certificate's private key, in PEM; of several, in their order",
			set: func(s *Settings, text string) (err error) { s.TLSKey, err = parseFiles(text); return err }},
		{Name: "acme-domains", Group: groupTLS, Takes: "DOMAIN,…", Default: "none", Help: "Domains to get certificates for by ACME, whose terms of service are agreed to by this; the service must be reached on port 443",
			set: func(s *Settings, text string) (err error) { s.ACMEDomains, err = parseDomains(text); return err }},
		{Name: "acme-sites", Group: groupTLS, Default: "off", Help: "Get certificates by ACME for the domains too that accounts have proved for their sites, which must be reached on port 443",
			set: func(s *Settings, text string) (err error) { s.ACMESites, err = parseSwitch(text); return err }},
		{Name: "acme-email", Group: groupTLS, Takes: "E-MAIL", Default: "none", Help: "Whom the certificate authority may write to",
			set: func(s *Settings, text string) (err error) { s.ACMEEmail, err = parseEmail(text); return err }},
		{Name: "acme-url", Group: groupTLS, Takes: "URL", Default: "that of Let's Encrypt", Help: "The directory of another certificate authority",
			set: func(s *Settings, text string) (err error) { s.ACMEURL, err = parseDirectory(text); return err }},

		{Name: "dev", Group: groupDev, Default: "off", Help: "For one developer: the development account is open, rates are lifted, and only this machine is listened to",
			set: func(s *Settings, text string) (err error) { s.Dev, err = parseSwitch(text); return err }},
		{Name: "dev-public", Group: groupDev, Default: "off", Help: "Let --dev listen to other machines too: whoever reaches it may run scripts",
			set: func(s *Settings, text string) (err error) { s.DevPublic, err = parseSwitch(text); return err }},
		{Name: "dev-username", Group: groupDev, Takes: "NAME", Default: "dev with --dev, otherwise no development account", Help: "What opens the shared development account",
			set: func(s *Settings, text string) (err error) { s.DevUsername, err = parseNonEmpty(text); return err }},
		{Name: "dev-password", Group: groupDev, Takes: "TEXT", Default: "dev with --dev", Help: "What opens it", Secret: true,
			set: func(s *Settings, text string) error {
				secret, err := parseNonEmpty(text)
				s.DevPassword = redacted.Text(secret)
				return err
			}},

		{Name: "sign-up", Group: groupAccount, Takes: "WHO", Default: "closed, with --dev open", Help: "Who may make an account for themselves: closed, invite or open",
			set: func(s *Settings, text string) (err error) {
				s.SignUp, err = parseChoice(text, SignUpClosed, SignUpInvite, SignUpOpen)
				return err
			}},
		{Name: "show-keys", Group: groupAccount, Takes: "WHEN", Default: "always", Help: "Whether owners may see their API key again: always, or once, when it is made",
			set: func(s *Settings, text string) error {
				when, err := parseChoice(text, "always", "once")
				s.KeysOnce = when == "once"
				return err
			}},

		{Name: "read-header-timeout", Group: groupServer, Takes: "TIME", Default: "5s", Help: "How long a caller may take to send its headers",
			set: func(s *Settings, text string) (err error) { s.ReadHeaderTimeout, err = parseTime(text); return err }},
		{Name: "read-timeout", Group: groupServer, Takes: "TIME", Default: "15s", Help: "How long a caller may take to send its request",
			set: func(s *Settings, text string) (err error) { s.ReadTimeout, err = parseTime(text); return err }},
		{Name: "idle-timeout", Group: groupServer, Takes: "TIME", Default: "1m0s", Help: "How long a connection stays open unused",
			set: func(s *Settings, text string) (err error) { s.IdleTimeout, err = parseTime(text); return err }},
		{Name: "drain-delay", Group: groupServer, Takes: "TIME", Default: "5s with --database, otherwise 0", Help: "How long a node that is to stop serves on while /readyz is 503, so that callers are sent to others",
			set: func(s *Settings, text string) (err error) { s.DrainDelay, err = parseDelay(text); return err }},
		{Name: "stop-timeout", Group: groupServer, Takes: "TIME", Default: "20s", Help: "How long a stop waits for scripts under way",
			set: func(s *Settings, text string) (err error) { s.StopTimeout, err = parseTime(text); return err }},
		{Name: "max-connections", Group: groupServer, Takes: "N", Default: "20000", Help: "How many connections may be open",
			set: func(s *Settings, text string) (err error) { s.MaxConnections, err = parseCount(text, 1); return err }},
		{Name: "max-connections-per-address", Group: groupServer, Takes: "N", Default: "0, no bound", Help: "How many of them from one address",
			set: func(s *Settings, text string) (err error) {
				s.MaxConnectionsPerAddress, err = parseCount(text, 0)
				return err
			}},

		{Name: "egress-networks", Group: groupEgress, Takes: "NETWORK,…", Default: "none", Help: "Private networks that webhooks and scripts may reach, as 10.1.0.0/16",
			set: func(s *Settings, text string) (err error) { s.EgressNetworks, err = parsePrefixes(text); return err }},
		{Name: "egress-ports", Group: groupEgress, Takes: "PORT,…", Default: "none", Help: "Ports that they may reach besides 80 and 443",
			set: func(s *Settings, text string) (err error) { s.EgressPorts, err = parsePorts(text); return err }},
		{Name: "egress-http", Group: groupEgress, Default: "off", Help: "Webhooks may be called by http",
			set: func(s *Settings, text string) (err error) { s.EgressHTTP, err = parseSwitch(text); return err }},

		{Name: "mail-server", Group: groupMail, Takes: "URL", Default: "no mail; with --dev files in the data folder", Help: "The mail server, as smtp://user@smtp.example.com:587 with STARTTLS, smtps:// with TLS, or smtp://127.0.0.1:25?tls=none",
			set: func(s *Settings, text string) (err error) { s.MailServer, err = parseMailServer(text); return err }},
		{Name: "mail-password", Group: groupMail, Takes: "TEXT", Default: "none", Help: "What logs in there", Secret: true,
			set: func(s *Settings, text string) error {
				secret, err := parseNonEmpty(text)
				s.MailPassword = redacted.Text(secret)
				return err
			}},
		{Name: "mail-from", Group: groupMail, Takes: "ADDRESS", Default: "none; with --dev ql@localhost.localdomain", Help: "Whom mails are from that name no sender, and whom servers tell what could not be delivered",
			set: func(s *Settings, text string) (err error) { s.MailFrom, err = parseSender(text); return err }},

		{Name: "log-level", Group: groupWatch, Takes: "LEVEL", Default: "info", Help: "What is logged: debug, info, warn or error, and all above it",
			set: func(s *Settings, text string) error {
				level, err := parseChoice(text, "debug", "info", "warn", "error")
				if err != nil {
					return err
				}
				return s.LogLevel.UnmarshalText([]byte(level))
			}},
		{Name: "log-format", Group: groupWatch, Takes: "FORMAT", Default: "json, with --dev text", Help: "How: json or text",
			set: func(s *Settings, text string) (err error) {
				s.LogFormat, err = parseChoice(text, LogJSON, LogText)
				return err
			}},
		{Name: "metrics-listen", Group: groupWatch, Takes: "HOST:PORT", Default: "none; with --dev the main address shows them to this machine", Help: "Where /metrics is served, apart from callers",
			set: func(s *Settings, text string) (err error) { s.MetricsListen, err = parseListen(text); return err }},
		{Name: "otlp-endpoint", Group: groupWatch, Takes: "URL", Default: "no traces", Help: "The OpenTelemetry collector that gets traces by OTLP over HTTP",
			set: func(s *Settings, text string) (err error) { s.OTLPEndpoint, err = parseURL(text); return err }},
	}
}

const (
	defaultListen = "127.0.0.1:8080"
	defaultData   = "./ql-data"
	devCredential = "dev"

	// defaultDrainDelay is for nodes beside others.
	defaultDrainDelay = 5 * time.Second
	notSet            = -1
)

// defaults are the settings where nothing is said. What depends on other
// settings is filled in afterwards.
func defaults() Settings {
	return Settings{
		Listen: defaultListen, Data: defaultData,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		IdleTimeout: time.Minute, StopTimeout: 20 * time.Second, DrainDelay: notSet,
		MaxConnections: 20_000,
	}
}

// complete fills in the defaults that depend on other settings.
func (s *Settings) complete() {
	if s.JSONAPIURL == "" {
		s.JSONAPIURL = s.BaseURL
	}
	if s.FileURL == "" {
		s.FileURL = s.BaseURL
	}
	s.completeSites()
	if s.DrainDelay == notSet {
		s.DrainDelay = 0
		if s.Database != "" && !s.Dev {
			s.DrainDelay = defaultDrainDelay
		}
	}
	if s.SignUp == "" {
		s.SignUp = SignUpClosed
		if s.Dev {
			s.SignUp = SignUpOpen
		}
	}
	if s.LogFormat == "" {
		s.LogFormat = LogJSON
		if s.Dev {
			s.LogFormat = LogText
		}
	}
	if s.Dev && s.DevUsername == "" && s.DevPassword == "" {
		s.DevUsername, s.DevPassword = devCredential, devCredential
	}
}
