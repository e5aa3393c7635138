package cli

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"ql/internal/app"
	"ql/internal/cli/browser"
	"ql/internal/config"
)

// devCommand is ql dev.
type devCommand struct {
	Folder string `arg:"" name:"dir" help:"The folder of the site."`

	Listen string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where the site is (${default})."`
	Open   bool   `help:"Show the site in your browser."`
}

// Run implements the command.
func (k *devCommand) Run(c *console) error {
	info, err := os.Stat(k.Folder)
	switch {
	case err != nil:
		return usage("%s", plainError(err))
	case !info.IsDir():
		return usage("%s is not a folder", k.Folder)
	}
	s, err := k.settings()
	if err != nil {
		return err
	}
	if err := makeHidden(filepath.Join(k.Folder, hiddenFolder)); err != nil {
		return usage("%s", plainError(err))
	}
	return c.serve(s, app.Options{SiteFolder: k.Folder, HiddenFolder: hiddenFolder}, func(_ *config.Settings, service *app.App) error {
		address, err := c.welcomeSite(k.Folder, service)
		if err != nil || !k.Open {
			return err
		}
		if err := browser.Open(c.ctx, os.Getenv("BROWSER"), address); err != nil {
			fmt.Fprintf(c.err, "ql: --open: %s: open %s yourself\n", err, address)
		}
		return nil
	})
}

// settings are those of a service for the folder. The service itself is for this machine alone,
// wherever the site is listened for.
func (k *devCommand) settings() (config.Settings, error) {
	data := filepath.Join(k.Folder, hiddenFolder, "dev")
	s, err := config.Load(config.Sources{Flags: map[string]string{"data": data, "dev": "true", "listen": "127.0.0.1:0", "log-level": "warn"}})
	if err != nil {
		return s, err
	}
	// Read for the grammar alone: that others reach it is for whoever says so.
	site, err := config.Load(config.Sources{Flags: map[string]string{"listen": k.Listen, "dev": "true", "dev-public": "true"}})
	if err != nil {
		return s, usage("%s", err)
	}
	s.SiteListen = site.Listen
	return s, nil
}

// makeHidden makes the folder that holds what belongs to the site and is no file of it. Git leaves
// it out: there are keys in it.
func makeHidden(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	ignore := filepath.Join(folder, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o600)
}

// welcomeSite says where the site is.
func (c *console) welcomeSite(folder string, service *app.App) (address string, err error) {
	u, err := url.Parse(service.SiteURL("site"))
	if err != nil {
		return "", err
	}
	address = "http://localhost/"
	if u.Port() != "" {
		address = "http://localhost:" + u.Port() + "/"
	}
	if c.json {
		c.print(struct {
			Status string `json:"status"`
			Site   string `json:"site"`
			URL    string `json:"url"`
		}{"serving", address, service.URL()})
		return address, nil
	}
	fmt.Fprintf(c.out, "serving %s\n\nPages of %s load again when their files change. Forms and the API are at %s\n", address, folder, service.URL())
	return address, nil
}
