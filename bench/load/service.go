package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	Key      Credentials // whose password is the API key

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
	const username, password = "bench", "correct horse battery staple"
	// Unlimited has no rates: what is measured is the service, not its refusals.
	create, err := o.command(ctx, asQL, "", "account", "create", "--json",
		"--data", s.Data, "--username", username, "--plan", "unlimited", "--password-stdin")
	if err != nil {
		return err
	}
	create.Stdin, create.Stderr = strings.NewReader(password), o.Stderr
	said, err := create.Output()
	if err != nil {
		return fmt.Errorf("account create: %w", err)
	}
	var made struct {
		Key string `json:"api_key"`
	}
	if err := json.Unmarshal(said, &made); err != nil {
		return fmt.Errorf("account create: %w", err)
	}
	s.Password, s.Key = Credentials{username, password}, Credentials{username, made.Key}
	serve := []string{"serve", "--json", "--data", s.Data, "--listen", "127.0.0.1:0", "--metrics-listen", "localhost:0"}
	s.Server, err = Start(ctx, o, asQL, "ql", append(serve, o.Serve...)...)
	return err
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
