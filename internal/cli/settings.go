package cli

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"

	"ql/internal/config"
	"ql/internal/fault"
	"ql/internal/operator"

	"github.com/alecthomas/kong"
)

// settings are the flags of a command that are settings of the service. They
// are made from the list in package config, so that help, environment and file
// know the same.
type settings struct {
	Config string `env:"QL_CONFIG" placeholder:"FILE" help:"A file of settings, in TOML."`

	kong.Plugins
	names  []string
	values reflect.Value // a struct with a pointer for each name
}

// newSettings makes flags of the settings with these names; of all where none
// are given.
func newSettings(names ...string) settings {
	var s settings
	var fields []reflect.StructField
	for _, setting := range config.All() {
		if setting.Secret || len(names) > 0 && !slices.Contains(names, setting.Name) {
			continue
		}
		kind := reflect.TypeFor[*string]()
		if setting.IsSwitch() {
			kind = reflect.TypeFor[*bool]()
		}
		fields = append(fields, reflect.StructField{
			Name: "Setting" + strconv.Itoa(len(fields)), Type: kind, Tag: settingTag(setting),
		})
		s.names = append(s.names, setting.Name)
	}
	values := reflect.New(reflect.StructOf(fields))
	s.values = values.Elem()
	s.Plugins = kong.Plugins{values.Interface()}
	return s
}

func settingTag(s config.Setting) reflect.StructTag {
	tag := `name:` + strconv.Quote(s.Name) + ` group:` + strconv.Quote(s.Group) +
		` help:` + strconv.Quote(s.Help+" ("+s.Default+").")
	if s.Takes != "" {
		tag += ` placeholder:` + strconv.Quote(s.Takes)
	}
	return reflect.StructTag(tag)
}

// devHint adds to what was refused to the development account that a service with --dev would not
// have: this command has not that flag, which the service may.
func devHint(o *operator.Operator, account string, err error) error {
	var coded *fault.Error
	if !errors.As(err, &coded) || !o.IsForDevelopers(account) {
		return err
	}
	hinted := *coded
	hinted.Message += " (where the service runs with --dev, say --dev here too)"
	return &hinted
}

// load returns the settings that hold: flags, then the environment, then the
// file.
func (s *settings) load() (config.Settings, error) {
	flags := map[string]string{}
	for i, name := range s.names {
		switch v := s.values.Field(i).Interface().(type) {
		case *string:
			if v != nil {
				flags[name] = *v
			}
		case *bool:
			if v != nil {
				flags[name] = strconv.FormatBool(*v)
			}
		}
	}
	loaded, err := config.Load(config.Sources{Flags: flags, Env: os.LookupEnv, File: s.Config})
	if err != nil {
		return config.Settings{}, usage("%s", err)
	}
	return loaded, nil
}
