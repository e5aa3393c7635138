package config

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
)

// writeFile makes a file of settings.
func writeFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ql.toml")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func env(entries map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := entries[name]
		return text, ok
	}
}

func TestDefaults(t *testing.T) {
	s, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != "127.0.0.1:8080" || s.Data != "./ql-data" || s.SignUp != SignUpClosed || s.LogFormat != LogJSON ||
		s.LogLevel != slog.LevelInfo || s.DevUsername != "" || s.KeysOnce || s.TLS() || !s.Loopback() {
		t.Errorf("the defaults are %+v", s)
	}
	if got := s.Plans[account.Standard]; got != account.Standard.Limits() {
		t.Errorf("the limits of standard are %+v", got)
	}
	dev, err := Load(Sources{Flags: map[string]string{"dev": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	if dev.DevUsername != "dev" || dev.DevPassword.Reveal() != "dev" || dev.SignUp != SignUpOpen || dev.LogFormat != LogText {
		t.Errorf("with dev they are %+v", dev)
	}
}

// TestDefaultsAreWritten: the defaults that help shows are those that hold.
func TestDefaultsAreWritten(t *testing.T) {
	want := defaults()
	for _, setting := range All() {
		var got Settings
		if setting.Default == "" {
			t.Errorf("%s has no default in words", setting.Name)
		}
		text, _, _ := strings.Cut(setting.Default, ",")
		if setting.set(&got, text) != nil {
			continue // said in words
		}
		w, g := reflect.ValueOf(want), reflect.ValueOf(got)
		for i := range g.NumField() {
			field := g.Type().Field(i).Name
			if !g.Field(i).IsZero() && !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) && !w.Field(i).IsZero() {
				t.Errorf("%s: the default of %s is %v, and help says %s", setting.Name, field, w.Field(i), setting.Default)
			}
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, `listen = "127.0.0.1:1"
data = "file"
log_level = "warn"`, 0o644)
	from := Sources{
		Flags: map[string]string{"listen": "127.0.0.1:3"},
		Env:   env(map[string]string{"QL_LISTEN": "127.0.0.1:2", "QL_DATA": "environment", "QL_LOG_LEVEL": ""}),
		File:  file,
	}
	s, err := Load(from)
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != "127.0.0.1:3" || s.Data != "environment" || s.LogLevel != slog.LevelWarn || s.LogFormat != LogJSON {
		t.Errorf("got %+v", s)
	}
}

// TestEverySetting: each setting can be set by file and environment, and by
// flag unless it is a secret.
func TestEverySetting(t *testing.T) {
	values := map[string]string{
		"listen": "0.0.0.0:80", "data": "/srv/ql", "database": "postgres://ql@db.example/ql", "database-direct": "postgres://ql@db.example:5433/ql", "blobs": "s3://bucket/prefix?region=eu-central-1", "join": "on", "node-listen": "10.0.0.2:8081", "master-key-file": "/k",
		"base-url": "https://a.example/", "json-api-url": "https://j.example", "file-url": "https://f.example", "site-url": "https://s.example", "site-host": "s.example", "site-listen": ":81",
		"allowed-hosts": "A.example,b.example", "trusted-proxies": "10.1.2.3/8,::1",
		"tls-cert": "c", "tls-key": "k", "acme-domains": "d.example", "acme-sites": "on", "acme-email": "a@b.c", "acme-url": "https://acme.example/directory",
		"dev": "yes", "dev-public": "on", "dev-username": "u", "dev-password": "p",
		"sign-up": "invite", "show-keys": "once",
		"read-header-timeout": "1s", "read-timeout": "2s", "idle-timeout": "3s", "stop-timeout": "4s", "drain-delay": "6s",
		"max-connections": "5", "max-connections-per-address": "6",
		"egress-networks": "10.1.0.0/16", "egress-ports": "8443,9000", "egress-http": "on",
		"mail-server": "smtp://u@smtp.example.com", "mail-password": "p", "mail-from": "Ops <ops@example.com>",
		"log-level": "debug", "log-format": "text", "metrics-listen": ":9", "otlp-endpoint": "http://localhost:4318",
	}
	seen := map[string]bool{}
	for _, setting := range All() {
		text, ok := values[setting.Name]
		if !ok || seen[setting.Name] {
			t.Errorf("%s has no value here, or is there twice", setting.Name)
			continue
		}
		seen[setting.Name] = true
		var want Settings
		if err := setting.set(&want, text); err != nil {
			t.Errorf("%s: %v", setting.Name, err)
			continue
		}
		if reflect.DeepEqual(want, Settings{}) {
			t.Errorf("%s sets nothing", setting.Name)
		}
		file, err := readFile(writeFile(t, fmt.Sprintf("%s = %q", setting.Key(), text), 0o600))
		if err != nil || len(file.wrong) > 0 {
			t.Fatalf("%s: %v %v", setting.Name, err, file.wrong)
		}
		empty := &settingsFile{}
		for source, from := range map[string]func() (given, bool){
			"file": func() (given, bool) { return Sources{}.find(setting, file) },
			"environment": func() (given, bool) {
				return Sources{Env: env(map[string]string{setting.Env(): text})}.find(setting, empty)
			},
			"flag": func() (given, bool) {
				return Sources{Flags: map[string]string{setting.Name: text}}.find(setting, empty)
			},
		} {
			got, ok := from()
			if wantOK := source != "flag" || !setting.Secret; ok != wantOK || ok && got.text != text {
				t.Errorf("%s by %s: got %q, %t", setting.Name, source, got.text, ok)
			}
		}
	}
	if len(seen) != len(values) {
		t.Errorf("values for settings that are not there: %v", slices.Collect(maps.Keys(values)))
	}
}

func TestLists(t *testing.T) {
	s, err := Load(Sources{File: writeFile(t, `trusted_proxies = ["10.1.2.3/8", "::1"]
base_url = "https://a.example/"`, 0o644)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}; !slices.Equal(s.TrustedProxies, want) {
		t.Errorf("got %v", s.TrustedProxies)
	}
	for _, text := range []string{`egress_ports = [8443, "9000"]`, `egress_ports = "8443, 9000"`} {
		if s, err := Load(Sources{File: writeFile(t, text, 0o644)}); err != nil || !slices.Equal(s.EgressPorts, []uint16{8443, 9000}) {
			t.Errorf("%s: got %v, %v", text, s.EgressPorts, err)
		}
	}
	if s, err := Load(Sources{File: writeFile(t, `egress_ports = []`, 0o644)}); err != nil || len(s.EgressPorts) != 0 {
		t.Errorf("no ports: got %v, %v", s.EgressPorts, err)
	}
	if s.BaseURL != "https://a.example" || s.JSONAPIURL != s.BaseURL || s.FileURL != s.BaseURL {
		t.Errorf("got %+v", s)
	}
}

func TestPlans(t *testing.T) {
	s, err := Load(Sources{File: writeFile(t, `[plans.free]
script_bytes = "128 KiB"
sync_time = "7s"
concurrent = 3
rate_per_address = false
json_depth = 20
sync_cpu = "2s"`, 0o644)})
	if err != nil {
		t.Fatal(err)
	}
	want := account.Free.Limits()
	want.ScriptBytes, want.SyncTime, want.Concurrent, want.RatePerAddress, want.JSONDepth, want.SyncCPU = 128<<10, 7*time.Second, 3, false, 20, 2*time.Second
	if got := s.Plans[account.Free]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := s.Plans[account.Standard]; got != account.Standard.Limits() {
		t.Errorf("standard is now %+v", got)
	}
}

// TestOwnPlans: an operator's plan is like one of ours, as that is set in the same file, but for
// what its table says.
func TestOwnPlans(t *testing.T) {
	s, err := Load(Sources{File: writeFile(t, "[plans.agency]\nlike = 'standard'\nrate = 7\n[plans.standard]\nmemory = '32 MiB'", 0o644)})
	if err != nil {
		t.Fatal(err)
	}
	want := account.Standard.Limits()
	want.Memory, want.Rate = 32<<20, 7
	if got := s.Limits("agency"); got != want {
		t.Errorf("got %+v", got)
	}
	if got := s.PlanNames(); !slices.Equal(got, []account.Plan{"free", "standard", "unlimited", "agency"}) {
		t.Errorf("plans are %v", got)
	}
	// An account keeps the name of a plan that is gone, with the least that there is.
	if got := s.Limits("gone"); got != account.Free.Limits() {
		t.Errorf("got %+v", got)
	}
}

// TestLimitsOfZero: a limit takes 0 where that means something, and no other
// does.
func TestLimitsOfZero(t *testing.T) {
	var zero []string
	kind := reflect.TypeFor[account.Limits]()
	for i := range kind.NumField() {
		key := account.LimitKey(kind.Field(i))
		if kind.Field(i).Type.Kind() == reflect.Bool {
			continue
		}
		// The plan free has no FETCH.
		_, err := Load(Sources{File: writeFile(t, "[plans.free]\n"+key+" = 0", 0o644)})
		if err == nil {
			zero = append(zero, key)
		}
	}
	slices.Sort(zero)
	want := []string{
		"calls_per_month", "databases", "egress_per_month", "fetch_bytes", "fetch_ratio", "fetch_time", "fetches", "fetches_at_once",
		"file_bytes", "files", "history_bytes", "listeners", "machine_per_month", "machines", "mail_bytes", "mails_per_day", "mails_per_minute", "origin_rate", "published", "published_bytes", "rate", "rate_burst", "records_bytes", "run_time", "running_per_month", "runs_at_once",
		"schedules", "site_body_bytes", "site_rate", "standing", "standing_bytes", "storage_bytes", "trace_first", "trace_last",
	}
	if !slices.Equal(zero, want) {
		t.Errorf("0 is taken by\n%v, want\n%v", zero, want)
	}
	s, err := Load(Sources{File: writeFile(t, "[plans.free]\nrunning_per_month = '0s'\ncalls_per_month = 0", 0o644)})
	if err != nil || s.Plans[account.Free].RunningPerMonth != 0 || s.Plans[account.Free].CallsPerMonth != 0 {
		t.Errorf("got %+v, %v", s.Plans[account.Free], err)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name  string
		flags map[string]string
		env   map[string]string
		file  string
		mode  os.FileMode // 0644 where left out
		want  []string    // parts of the message
		not   string      // no part of it
		lines int         // of the message; 0 for any
	}{
		{name: "an address", flags: map[string]string{"listen": "example.com:80"}, want: []string{`--listen: "example.com:80" is no address to listen on, such as 127.0.0.1:8080`}},
		{name: "a port", flags: map[string]string{"listen": "127.0.0.1:99999"}, want: []string{"--listen: "}},
		{name: "an address in the environment", env: map[string]string{"QL_BASE_URL": "api.example.com"}, want: []string{`QL_BASE_URL: "api.example.com" is no address such as https://api.example.com`}},
		{name: "an address with a query", flags: map[string]string{"file-url": "https://a.example/?x"}, want: []string{"--file-url: "}},
		{name: "an address with a password", flags: map[string]string{"file-url": "https://a:b@a.example"}, want: []string{"--file-url: "}},
		{name: "a choice", file: `sign_up = "maybe"`, want: []string{`ql.toml: sign_up: "maybe" is none of closed, invite and open`}},
		{name: "a time", file: `stop_timeout = 20`, want: []string{`ql.toml: stop_timeout: "20" is no time such as 30s`}},
		{name: "a negative time", flags: map[string]string{"stop-timeout": "-1s"}, want: []string{"--stop-timeout: "}},
		{name: "a switch", env: map[string]string{"QL_DEV": "maybe"}, want: []string{`QL_DEV: "maybe" is neither true nor false`}},
		{name: "a count", flags: map[string]string{"max-connections": "0"}, want: []string{`--max-connections: "0" is no whole number from 1 on`}},
		{name: "a network", flags: map[string]string{"trusted-proxies": "10.0.0.0/8, home"}, want: []string{`--trusted-proxies: "home" is no network`}},
		{name: "a host", flags: map[string]string{"acme-domains": "https://a.example"}, want: []string{`--acme-domains: "https://a.example" is no domain such as api.example.com`}},
		{name: "all names below a domain", flags: map[string]string{"acme-domains": "api.example.com,*.example.com"}, want: []string{`--acme-domains: "*.example.com" is no domain such as api.example.com: each is named in full, without *`}},
		{name: "a domain of one word", flags: map[string]string{"acme-domains": "foo"}, want: []string{`--acme-domains: "foo" is no domain`}},
		{name: "an address for a domain", flags: map[string]string{"acme-domains": "127.0.0.1"}, want: []string{`--acme-domains: "127.0.0.1" is no domain`}},
		{name: "a longer address for a domain", flags: map[string]string{"acme-domains": "2001:db8::1"}, want: []string{`--acme-domains: "2001:db8::1" is no domain`}},
		{name: "a port behind a domain", flags: map[string]string{"acme-domains": "api.example.com:443"}, want: []string{`--acme-domains: "api.example.com:443" is no domain`}},
		{name: "a domain with a gap", flags: map[string]string{"acme-domains": "api..example.com"}, want: []string{`--acme-domains: "api..example.com" is no domain`}},
		{name: "an e-mail address", flags: map[string]string{"acme-domains": "a.example", "acme-email": "nonsense"}, want: []string{`--acme-email: "nonsense" is no e-mail address such as ops@example.com`}},
		{name: "an e-mail address without a host", flags: map[string]string{"acme-domains": "a.example", "acme-email": "ops@"}, want: []string{`--acme-email: "ops@" is no e-mail address`}},
		{name: "an empty text", flags: map[string]string{"data": ""}, want: []string{"--data: it is empty"}},
		{name: "all that is wrong", flags: map[string]string{"listen": "x", "log-level": "loud"}, want: []string{"--listen: ", "--log-level: "}},

		{name: "an unknown key", file: `lisen = ":80"`, want: []string{"ql.toml: lisen: there is no such setting; there is listen"}},
		{name: "a key unlike any", file: `frobnicate = 1`, want: []string{"ql.toml: frobnicate: there is no such setting"}},
		{name: "a flag's name in the file", file: `base-url = "https://a.example"`, want: []string{"ql.toml: base-url: there is no such setting; there is base_url"}},
		{name: "no TOML", file: "listen = 'a\n", want: []string{"ql.toml:1:"}},
		{name: "a key twice", file: "data = 'a'\ndata = 'b'", want: []string{"ql.toml:2:"}},
		{name: "a table", file: "[listen]\na = 1", want: []string{"ql.toml: listen: it takes a text"}},
		{name: "a list of numbers", file: "allowed_hosts = [1]", want: []string{`ql.toml: allowed_hosts: "1" is no host such as api.example.com`}},
		{name: "a list of tables", file: "egress_ports = [{a = 1}]", want: []string{"ql.toml: egress_ports: it takes a list of texts or whole numbers"}, lines: 1},
		{name: "a port of a list", file: "egress_ports = [8443, 70000]", want: []string{`ql.toml: egress_ports: "70000" is no port: numbers from 1 to 65535 fit`}, lines: 1},
		{name: "a network of a list", file: "egress_networks = [10]", want: []string{`ql.toml: egress_networks: "10" is no network such as 10.0.0.0/8`}, lines: 1},
		{name: "a secret that others may read", file: `dev_password = "canary"`, want: []string{"ql.toml: dev_password: it is a secret, and the file is open to others (mode 0644): make it 0600"}},
		{name: "an unknown plan", file: "[plans.fre]\nrate = 1", want: []string{"plans.fre: there is no such plan; there is free"}},
		{name: "a plan unlike any", file: "[plans.gold]\nrate = 1", want: []string{"plans.gold: there is no such plan; there are free, standard and unlimited"}},
		{name: "a plan like none", file: "[plans.gold]\nlike = 'silver'", want: []string{"plans.gold.like: it takes one of free, standard, unlimited"}, lines: 1},
		{name: "a plan like another of one's own", file: "[plans.a]\nlike = 'standard'\n[plans.b]\nlike = 'a'", want: []string{"plans.b.like: it takes one of"}, lines: 1},
		{name: "a plan with a bad name", file: "[plans.'Gold!']\nlike = 'standard'", want: []string{"plans.Gold!: a plan is called by up to 32 of a-z"}, lines: 1},
		{name: "a plan with a name that is taken", file: "[plans.development]\nlike = 'standard'", want: []string{"and not development"}, lines: 1},
		{name: "a plan of our own like another", file: "[plans.free]\nlike = 'standard'", want: []string{"plans.free.like: there is no such limit"}, lines: 1},
		{name: "an unknown limit", file: "[plans.free]\nscript_byte = 1", want: []string{"plans.free.script_byte: there is no such limit; there is script_bytes"}},
		{name: "a limit of another kind", file: "[plans.free]\nsync_time = 5", want: []string{`plans.free.sync_time: it takes a time such as "30s"`}},
		{name: "a negative limit", file: "[plans.free]\nmemory = -1", want: []string{`plans.free.memory: it takes a number of bytes from 1 on, or a size such as "64 KiB"`}},
		{name: "a limit too large", file: "[plans.free]\nmemory = '9999999999 TiB'", want: []string{"plans.free.memory: it takes a number of bytes"}},
		{name: "a size for a count", file: "[plans.free]\ncalls_per_month = '64 KiB'", want: []string{"plans.free.calls_per_month: it takes a whole number from 0 on"}, not: "KiB"},
		{name: "a text for a count", file: "[plans.free]\ncalls_per_month = 'many'", want: []string{"plans.free.calls_per_month: it takes a whole number from 0 on"}, not: "KiB"},
		{name: "a size of 0", file: "[plans.free]\nsync_output = 0", want: []string{`plans.free.sync_output: it takes a number of bytes from 1 on, or a size such as "64 KiB"`}, lines: 1},
		{name: "a size of 0 with a unit", file: "[plans.free]\nscript_bytes = '0 KiB'", want: []string{"plans.free.script_bytes: it takes a number of bytes from 1 on"}, lines: 1},
		{name: "a count of 0", file: "[plans.free]\nconcurrent = 0\njson_depth = 0", want: []string{"plans.free.concurrent: it takes a whole number from 1 on", "plans.free.json_depth: it takes a whole number from 1 on"}, lines: 2},
		{name: "a time of 0", file: "[plans.free]\nsync_time = '0s'", want: []string{`plans.free.sync_time: "0s" is no time such as 30s`}, lines: 1},
		{name: "FETCH with no time for it", file: "[plans.free]\nfetches = 5", want: []string{"plans.free.fetches: scripts may FETCH, so fetches_at_once, fetch_time, fetch_bytes and fetch_ratio must not be 0"}, lines: 1},
		{name: "FETCH of nothing", file: "[plans.standard]\nfetch_bytes = 0", want: []string{"plans.standard.fetches: scripts may FETCH"}, lines: 1},
		{name: "a script larger than its request", file: "[plans.free]\nscript_bytes = '1 MiB'", want: []string{"plans.free.script_bytes: 1048576 bytes never arrive in a request, which may have 262144: make it smaller, or body_bytes larger"}, lines: 1},
		{name: "plans of another kind", file: "plans = 1", want: []string{"plans: it takes tables"}},

		{name: "nodes of nothing", flags: map[string]string{"node-listen": "10.0.0.2:8081"}, want: []string{"node-listen: nodes share a database: set database"}, lines: 1},
		{name: "a node without a port", flags: map[string]string{"node-listen": "ql-2", "database": "postgres://ql@db.example/ql"}, want: []string{`"ql-2" is no address that other nodes could reach this one by`}, lines: 1},
		{name: "a node that is nowhere", flags: map[string]string{"node-listen": ":8081", "database": "postgres://ql@db.example/ql"}, want: []string{`":8081" is no address that other nodes could reach this one by`}, lines: 1},
		{name: "a node of nothing", flags: map[string]string{"join": "on"}, want: []string{"join: nodes share a database and a bucket: set database and blobs"}, lines: 1},
		{name: "dev for others", flags: map[string]string{"dev": "true", "listen": "0.0.0.0:8080"}, want: []string{"listen: with dev only this machine is listened to, and 0.0.0.0:8080 is reached by others"}},
		{name: "dev on all addresses", flags: map[string]string{"dev": "true", "listen": ":8080"}, want: []string{"listen: "}},
		{name: "below a path", flags: map[string]string{"base-url": "https://a.example/ql/"}, want: []string{"base-url: https://a.example/ql has a path"}},
		{name: "dev-public alone", flags: map[string]string{"dev-public": "true"}, want: []string{"dev-public: "}},
		{name: "half of the credentials", env: map[string]string{"QL_DEV_USERNAME": "x"}, want: []string{"dev-username and dev-password: "}},
		{name: "half of TLS", flags: map[string]string{"tls-cert": "x"}, want: []string{"tls-cert and tls-key: "}},
		{name: "a key too few", flags: map[string]string{"tls-cert": "x,y", "tls-key": "x"}, want: []string{"tls-cert and tls-key: each certificate has a key, and there are 2 and 1"}},
		{name: "no file", flags: map[string]string{"tls-cert": " , "}, want: []string{"--tls-cert: "}},
		{name: "certificates for no sites", flags: map[string]string{"acme-domains": "a.example", "acme-sites": "on"}, want: []string{"acme-sites: there are no sites"}},
		{name: "certificates for sites alone", flags: map[string]string{"site-host": "s.example", "acme-sites": "on"}, want: []string{"acme-sites: the service itself needs a certificate too"}},
		{name: "a directory", flags: map[string]string{"acme-domains": "a.example", "acme-url": "http://acme.example"}, want: []string{`--acme-url: "http://acme.example" is no address such as https://`}},
		{name: "a directory for nothing", flags: map[string]string{"acme-url": "https://acme.example"}, want: []string{"acme-url: "}},
		{name: "an e-mail for nothing", flags: map[string]string{"acme-email": "a@b.c"}, want: []string{"acme-email: "}},
		{name: "times that do not fit", flags: map[string]string{"read-timeout": "1s"}, want: []string{"read-header-timeout: 5s is longer than read-timeout, 1s"}},
		{name: "one address for two", flags: map[string]string{"metrics-listen": "127.0.0.1:8080"}, want: []string{"metrics-listen: "}},
		{name: "sites for others", flags: map[string]string{"dev": "true", "site-listen": ":8081"}, want: []string{"site-listen: with dev only this machine is listened to"}, lines: 1},
		{name: "sites nowhere", flags: map[string]string{"site-listen": ":8081"}, want: []string{"site-host: sites need a domain"}, lines: 1},
		{name: "sites at an address", flags: map[string]string{"site-host": "192.0.2.1"}, want: []string{`--site-host: "192.0.2.1" is no domain`}, lines: 1},
		{name: "no port for sites", flags: map[string]string{"site-host": "s.example", "listen": "127.0.0.1:65535"}, want: []string{"site-listen: there is no port after"}, lines: 1},
		{name: "sites at the metrics", flags: map[string]string{"site-host": "s.example", "metrics-listen": "127.0.0.1:8081"}, want: []string{"metrics-listen: "}, lines: 1},
		{name: "sites that cannot be told apart", flags: map[string]string{"site-host": "s.example", "site-listen": "127.0.0.1:8080"}, want: []string{"site-listen: it is that of listen, and without base-url"}, lines: 1},
		{name: "sites with two hosts", flags: map[string]string{"site-host": "s.example", "site-url": "https://t.example"}, want: []string{"site-url: its host is not that of site-host"}, lines: 1},
		{name: "sites around our own pages", flags: map[string]string{"site-host": "a.example", "base-url": "https://api.a.example"}, want: []string{"site-host: base-url has the host api.a.example"}, lines: 1},
		{name: "sites below our own pages", flags: map[string]string{"site-host": "a.example", "base-url": "https://a.example:8443"}, want: []string{"site-host: base-url has the host a.example"}, lines: 1},
		{name: "sites at files", flags: map[string]string{"site-host": "a.example", "base-url": "https://b.example", "file-url": "https://f.a.example"}, want: []string{"site-host: file-url"}, lines: 1},
		{name: "sites at the API", flags: map[string]string{"site-url": "https://a.example", "base-url": "https://b.example", "json-api-url": "https://a.example"}, want: []string{"site-url: it has the origin of json-api-url"}, lines: 1},
		{name: "sites beside our own pages", flags: map[string]string{"base-url": "https://a.example", "site-url": "https://a.example/sites"}, want: []string{"site-url: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			from := Sources{Flags: test.flags, Env: env(test.env)}
			if test.file != "" {
				mode := test.mode
				if mode == 0 {
					mode = 0o644
				}
				from.File = writeFile(t, test.file, mode)
			}
			_, err := Load(from)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message is\n%s\nand has no %q", err, part)
				}
			}
			if test.not != "" && strings.Contains(err.Error(), test.not) || test.lines != 0 && strings.Count(err.Error(), "\n")+1 != test.lines {
				t.Errorf("the message is\n%s", err)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the message shows the secret: %s", err)
			}
		})
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	_, err := Load(Sources{File: filepath.Join(t.TempDir(), "none.toml")})
	if err == nil || !strings.Contains(err.Error(), "none.toml: no such file") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	s := Settings{DevPassword: "canary"}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %q %x", s, s, s.DevPassword, s.DevPassword)} {
		if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
			t.Errorf("printed as %s", text)
		}
	}
}

func TestLimitKeys(t *testing.T) {
	for field, want := range map[string]string{"SyncTime": "sync_time", "JSONDepth": "json_depth", "SyncCPU": "sync_cpu", "RatePerAddress": "rate_per_address", "Files": "files"} {
		if got := account.LimitKey(reflect.StructField{Name: field}); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
}

// TestDomainsInOtherLetters: clients ask for a domain as ASCII, so it is compared as that.
func TestDomainsInOtherLetters(t *testing.T) {
	got, err := parseDomains("API.example.com, bücher.example")
	if want := []string{"api.example.com", "xn--bcher-kva.example"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestDrainDelay checks that only nodes that may have others beside them serve on before they stop, unless told.
func TestDrainDelay(t *testing.T) {
	const database = "postgres://ql@db.example/ql"
	for _, c := range []struct {
		flags map[string]string
		want  time.Duration
	}{
		{nil, 0},
		{map[string]string{"dev": "yes"}, 0},
		{map[string]string{"database": database}, 5 * time.Second},
		{map[string]string{"database": database, "dev": "yes"}, 0},
		{map[string]string{"database": database, "drain-delay": "0"}, 0},
		{map[string]string{"drain-delay": "2s"}, 2 * time.Second},
	} {
		s, err := Load(Sources{Flags: c.flags})
		if err != nil || s.DrainDelay != c.want {
			t.Errorf("%v: %s, %v", c.flags, s.DrainDelay, err)
		}
	}
	for _, text := range []string{"soon", "-1s", "2h"} {
		if _, err := Load(Sources{Flags: map[string]string{"drain-delay": text}}); err == nil || !strings.Contains(err.Error(), "0 for none") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
