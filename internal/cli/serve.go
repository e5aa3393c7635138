package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"ql/internal/account"
	"ql/internal/app"
	"ql/internal/cli/browser"
	"ql/internal/config"
	"ql/internal/platform"
	"ql/internal/telemetry"
)

// serveCommand is ql serve.
type serveCommand struct {
	settings

	AcceptDamage bool `help:"Start once where what was stored last is damaged or missing, and go on without it."`
	Open         bool `help:"Show the dashboard in your browser."`
}

func newServeCommand() serveCommand { return serveCommand{settings: newSettings()} }

// Run implements the command.
func (k *serveCommand) Run(c *console) error {
	s, err := k.load()
	if err != nil {
		return err
	}
	return c.serve(s, app.Options{AcceptDamage: k.AcceptDamage}, func(s *config.Settings, service *app.App) error {
		link := ""
		if s.DevPublic {
			link = service.URL() + config.SignInPath + service.SignInToken()
		}
		if err := c.welcome(s, service, link); err != nil || !k.Open {
			return err
		}
		address := cmp.Or(link, s.DashboardURL(service.URL()))
		if err := browser.Open(c.ctx, os.Getenv("BROWSER"), address); err != nil {
			fmt.Fprintf(c.err, "ql: --open: %s: open %s yourself\n", err, address)
		}
		return nil
	})
}

// serve runs a service until it is asked to end. Of the options it fills in what the machine says.
func (c *console) serve(s config.Settings, o app.Options, welcome func(*config.Settings, *app.App) error) error {
	o.Version, _ = buildVersion()
	o.Log = telemetry.NewLog(c.err, telemetry.LogOptions{Level: s.LogLevel, JSON: s.LogFormat == config.LogJSON})
	ballast := platform.Ballast()
	defer runtime.KeepAlive(ballast)
	o.Memory, o.CallMemory = platform.LimitMemory()
	o.Cores = platform.SpareProcessors()
	service := app.New(s, o)
	if err := service.Start(c.ctx); err != nil {
		return err
	}
	if err := welcome(&s, service); err != nil {
		return stopped(err, service)
	}
	select {
	case <-c.ctx.Done():
		if !c.json {
			// On standard error is the log, which a program may read.
			fmt.Fprintln(c.out, "stopping: scripts under way are waited for; interrupt again to end at once")
		}
		return stopped(nil, service)
	case err := <-service.Failed():
		return stopped(err, service)
	}
}

// stopped stops the service. It is not asked to hurry: a second interrupt ends
// the process.
func stopped(err error, service *app.App) error {
	stop := service.Stop(context.Background())
	if err == nil {
		err = stop
	}
	return err
}

// welcome says where the service is, and what to do next. The link signs one browser in; "" for none.
func (c *console) welcome(s *config.Settings, service *app.App, link string) error {
	has, err := service.HasAccounts(c.ctx)
	if err != nil {
		return err
	}
	if c.json {
		c.print(struct {
			Status    string `json:"status"`
			URL       string `json:"url"`
			Dashboard string `json:"dashboard"`
			Metrics   string `json:"metrics,omitempty"`
			Sites     string `json:"sites,omitempty"`
			SignIn    string `json:"sign_in,omitempty"`
		}{"serving", service.URL(), s.DashboardURL(service.URL()), service.MetricsAddress(), sitesOf(service), link})
		return nil
	}
	fmt.Fprintf(c.out, "serving %s\ndashboard %s\n", service.URL(), s.DashboardURL(service.URL()))
	if m := service.MetricsAddress(); m != "" {
		fmt.Fprintf(c.out, "metrics http://%s/metrics\n", m)
	}
	if !s.Dev && service.SiteURL("") != "" {
		fmt.Fprintf(c.out, "sites %s/\n", sitesOf(service))
	}
	switch {
	case s.Dev:
		if link != "" {
			fmt.Fprintf(c.out, "\nThis link signs one browser in to the dashboard, once and within the hour:\n\n  %s\n", link)
		}
		c.welcomeDeveloper(s, service)
	case s.DevUsername != "":
		fmt.Fprintln(c.out, "\nThe development account is open to whoever knows its dev-username and dev-password;\nwhat it keeps is removed every 24 hours.")
	}
	if !s.Dev && !has {
		first, err := service.FirstLink()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "\nThere are no accounts yet. This makes the first, an administrator; it asks for a\npassword and prints the API key:\n\n"+
			"  ql account create --data %s --username NAME --email ADDRESS --admin --password-stdin\n\n"+
			"So does this link, once and within the hour:\n\n  %s\n", quoted(s.Data), first)
	}
	return nil
}

// welcomeDeveloper shows a call in each convention, to paste into a shell.
func (c *console) welcomeDeveloper(s *config.Settings, service *app.App) {
	const script = "EMIT 6 * 7"
	url := service.URL()
	name, password := s.DevUsername, s.DevPassword.Reveal()
	fmt.Fprintf(c.out, "\nThe development account is open: username %s, password %s. Paste into another shell:\n\n", name, password)
	fmt.Fprintf(c.out, "  curl %s/v1/query -H 'Content-Type: application/json' -d %s\n", quoted(cmp.Or(s.JSONAPIURL, url)),
		quoted(fmt.Sprintf(`{"auth":{"username":%q,"password":%q},"query":%q}`, name, password, script)))
	fmt.Fprintf(c.out, "  curl %s/api --data-urlencode %s --data-urlencode %s --data-urlencode %s\n", quoted(url),
		quoted("identity="+name), quoted("password="+password), quoted("q="+script))
	if service.SiteURL("") != "" {
		fmt.Fprintf(c.out, "\nIts folder /site is the site %s/\n", service.SiteURL(account.Development))
	}
}

// sitesOf is where sites are, of whatever account; "" where there are none.
func sitesOf(service *app.App) string {
	if service.SiteURL("") == "" {
		return ""
	}
	return service.SiteURL("{username}")
}

// quoted is a word of a shell's command line, in quotes where it needs them.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
