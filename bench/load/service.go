package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Credentials are what a caller brings.
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Service is a process that serves as in production, on a data folder of its own
// with one account.
type Service struct {
	*Server
	Data     string // its folder
	Password Credentials
	Key      Credentials   // whose password is the API key
	Others   []Credentials // of the further accounts

	options Options
}

// StartService makes an account in a new folder, and starts the service on it.
func StartService(ctx context.Context, o Options) (*Service, error) {
	data, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return nil, err
	}
	s := &Service{Data: data, options: o}
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Service) start(ctx context.Context, o Options) error {
	key, err := s.create(ctx, o, "bench", "unlimited")
	if err != nil {
		return err
	}
	s.Password, s.Key = Credentials{"bench", password}, key
	for i := range o.Others {
		name := fmt.Sprint("other", i)
		if _, err := s.create(ctx, o, name, "standard"); err != nil {
			return err
		}
		s.Others = append(s.Others, Credentials{name, password})
	}
	return s.serve(ctx, o)
}

func (s *Service) serve(ctx context.Context, o Options) (err error) {
	serve := []string{"serve", "--json", "--data", s.Data, "--listen", "127.0.0.1:0", "--metrics-listen", "localhost:0"}
	s.Server, err = Start(ctx, o, asQL, "ql", append(serve, o.Serve...)...)
	return err
}

// Join starts another node beside the service, with a data folder of its own and the same accounts. The folder profiles gets a
// profile of it, unless that is "".
func (s *Service) Join(ctx context.Context, profiles string) (*Service, error) {
	data, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return nil, err
	}
	o := s.options
	o.Profiles = profiles
	o.Serve = append(slices.Clone(o.Serve), "--join", "--master-key-file", filepath.Join(s.Data, "master.key"))
	node := &Service{Data: data, Password: s.Password, Key: s.Key, Others: s.Others, options: o}
	if err := node.serve(ctx, o); err != nil {
		return nil, errors.Join(err, node.Stop())
	}
	return node, nil
}

const password = "correct horse battery staple"

// create makes an account, and returns its key. The plan unlimited has no rates: what is measured is the
// service, not its refusals.
func (s *Service) create(ctx context.Context, o Options, username, plan string) (Credentials, error) {
	create, err := o.command(ctx, asQL, "", "account", "create", "--json",
		"--data", s.Data, "--username", username, "--plan", plan, "--password-stdin")
	if err != nil {
		return Credentials{}, err
	}
	create.Stdin, create.Stderr = strings.NewReader(password), o.Stderr
	said, err := create.Output()
	if err != nil {
		return Credentials{}, fmt.Errorf("account create: %w", err)
	}
	var made struct {
		Key string `json:"api_key"`
	}
	if err := json.Unmarshal(said, &made); err != nil {
		return Credentials{}, fmt.Errorf("account create: %w", err)
	}
	return Credentials{username, made.Key}, nil
}

// Push deploys a folder as the account's site.
func (s *Service) Push(ctx context.Context, folder string) error {
	push, err := s.options.command(ctx, asQL, "", "push", folder, "http://"+s.Address, "--account", s.Password.Username, "--password-file", "-")
	if err != nil {
		return err
	}
	push.Stdin, push.Stderr = strings.NewReader(s.Password.Password), s.options.Stderr
	if said, err := push.Output(); err != nil {
		return fmt.Errorf("push said %q: %w", said, err)
	}
	return nil
}

// Stop ends the service and removes its folder.
func (s *Service) Stop() error { return errors.Join(s.Server.Stop(), os.RemoveAll(s.Data)) }

// Question is what the JSON convention is sent.
type Question struct {
	Auth  Credentials `json:"auth"`
	Query string      `json:"query"`
	Mode  string      `json:"mode"`
}

// Query is a call of the JSON convention by the password; mode is "sync" or
// "async".
func (s *Service) Query(script, mode string) []byte {
	body, _ := json.Marshal(Question{s.Password, script, mode}) // of texts alone, which never fails
	return Post(s.Address, "/v1/query", "application/json", string(body))
}
