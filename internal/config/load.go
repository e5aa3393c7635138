package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"ql/internal/account"
	"ql/internal/disk"
	"ql/lang/source"

	"github.com/pelletier/go-toml/v2"
)

// Sources are where settings come from, the strongest first.
type Sources struct {
	Flags map[string]string                // by Setting.Name
	Env   func(name string) (string, bool) // os.LookupEnv; nil for none
	File  string                           // "" for none
}

// given is what somebody said about a setting.
type given struct {
	text  string
	where string // how messages call the place
}

// Load reads the sources and returns the settings that hold. The error names
// everything that is wrong, one line for each.
func Load(from Sources) (Settings, error) {
	s := defaults()
	file, err := readFile(from.File)
	if err != nil {
		return Settings{}, err
	}
	var wrong []error
	for _, setting := range All() {
		g, ok := from.find(setting, file)
		if !ok {
			continue
		}
		if err := setting.set(&s, g.text); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", g.where, err))
		}
	}
	wrong = append(wrong, file.wrong...)
	s.Plans = file.plans
	if len(wrong) == 0 {
		s.complete()
		wrong = s.check()
	}
	if len(wrong) > 0 {
		return Settings{}, errors.Join(wrong...)
	}
	return s, nil
}

// find returns what the strongest source says about a setting.
func (from Sources) find(setting Setting, file *settingsFile) (given, bool) {
	if text, ok := from.Flags[setting.Name]; ok && !setting.Secret {
		return given{text, "--" + setting.Name}, true
	}
	if from.Env != nil {
		for _, name := range append([]string{setting.Env()}, aliases[setting.Name]...) {
			// An empty variable is how shells and containers leave one unset.
			if text, ok := from.Env(name); ok && text != "" {
				return given{text, name}, true
			}
		}
	}
	g, ok := file.values[setting.Key()]
	return g, ok
}

// aliases are further names in the environment, which other programs know too.
var aliases = map[string][]string{"otlp-endpoint": {"OTEL_EXPORTER_OTLP_ENDPOINT"}}

// settingsFile is what a file of settings says.
type settingsFile struct {
	values map[string]given // by Setting.Key
	plans  map[account.Plan]account.Limits
	wrong  []error
}

// plansKey is the table of a file that holds limits of plans.
const plansKey = "plans"

func readFile(name string) (*settingsFile, error) {
	f := &settingsFile{values: map[string]given{}, plans: planDefaults()}
	if name == "" {
		return f, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the settings file: %w", plain(err))
	}
	var entries map[string]any
	if err := toml.Unmarshal(text, &entries); err != nil {
		return nil, explainTOML(name, err)
	}
	known := map[string]Setting{}
	for _, s := range All() {
		known[s.Key()] = s
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		where := name + ": " + key
		setting, ok := known[key]
		switch {
		case key == plansKey:
			f.wrong = append(f.wrong, setPlans(f.plans, where, entries[key])...)
		case !ok:
			f.wrong = append(f.wrong, unknown(where, "setting", key, append(slices.Collect(maps.Keys(known)), plansKey)))
		default:
			text, err := asText(entries[key])
			if err == nil {
				err = mayHold(name, setting)
			}
			if err != nil {
				f.wrong = append(f.wrong, fmt.Errorf("%s: %w", where, err))
				continue
			}
			f.values[key] = given{text, where}
		}
	}
	return f, nil
}

// mayHold refuses a secret in a file that others may read.
func mayHold(name string, s Setting) error {
	if !s.Secret || runtime.GOOS == "windows" {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return plain(err)
	}
	switch private, err := disk.Private(name, info.Mode()); {
	case err != nil:
		return plain(err)
	case !private:
		return fmt.Errorf("it is a secret, and the file is open to others (mode %04o): make it 0600", info.Mode().Perm())
	}
	return nil
}

// unknown names the key that was most likely meant.
func unknown(where, what, key string, known []string) error {
	slices.Sort(known)
	if near := source.Nearest(key, known); near != "" {
		return fmt.Errorf("%s: there is no such %s; there is %s", where, what, near)
	}
	if last := len(known) - 1; last <= mostNamed {
		return fmt.Errorf("%s: there is no such %s; there are %s and %s", where, what, strings.Join(known[:last], ", "), known[last])
	}
	return fmt.Errorf("%s: there is no such %s", where, what)
}

// mostNamed is how many names are listed where none is like the one given.
const mostNamed = 5

// asText returns a value of a file as a flag would give it.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			switch item := item.(type) {
			case string:
				items[i] = item
			case int64:
				items[i] = strconv.FormatInt(item, 10)
			default:
				return "", errors.New("it takes a list of texts or whole numbers")
			}
		}
		return strings.Join(items, ","), nil
	}
	return "", errors.New("it takes a text, a whole number, true or false, or a list")
}

// explainTOML says where a file is not TOML.
func explainTOML(name string, err error) error {
	var e *toml.DecodeError
	if errors.As(err, &e) {
		row, column := e.Position()
		return fmt.Errorf("%s:%d:%d: %s", name, row, column, strings.TrimPrefix(e.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// plain leaves out which system call it was that failed.
func plain(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
