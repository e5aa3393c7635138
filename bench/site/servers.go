package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"ql/bench/load"
)

// The servers, as tables name them.
const (
	byQL     = "ql"
	byBefore = "ql before"
	byPHP    = "nginx, php-fpm"
	byKept   = "nginx, php-fpm, kept"
	byNginx  = "nginx"
)

// siteHost is the domain of sites.
const siteHost = "sites.example"

// servers are those that are compared.
type servers struct {
	folder string
	ql     []*site // this build, and the one before where there is one
	fpm    *load.Peer
	nginx  *load.Peer
	// The addresses of nginx, where connections to php-fpm are made for each page, and where they
	// stay open.
	plain, kept string
}

// site is a service with the site.
type site struct {
	name string
	*load.Service
}

// startServers starts the service as in production, and its peers.
func startServers(ctx context.Context, o *options, stderr io.Writer) (*servers, error) {
	folder, err := os.MkdirTemp("", "ql-bench-site-")
	if err != nil {
		return nil, err
	}
	s := &servers{folder: folder}
	if err = writeSite(filepath.Join(folder, "site")); err == nil {
		err = s.startSite(ctx, byQL, load.Options{Profiles: o.profiles, Stderr: stderr})
	}
	if err == nil && o.before != "" {
		err = s.startSite(ctx, byBefore, load.Options{Program: o.before, Stderr: stderr})
	}
	if err == nil && !o.alone {
		err = s.startPeers(ctx, load.Options{Stderr: stderr})
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *servers) stop() error {
	err := errors.Join(s.nginx.Stop(), s.fpm.Stop())
	for _, one := range s.ql {
		err = errors.Join(err, one.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// startSite starts a service and deploys the site there.
func (s *servers) startSite(ctx context.Context, name string, o load.Options) error {
	o.Serve = []string{"--site-listen", "127.0.0.1:0", "--site-host", siteHost}
	service, err := load.StartService(ctx, o)
	if err != nil {
		return err
	}
	s.ql = append(s.ql, &site{name, service})
	c, err := load.Dial(ctx, service.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Ask(service.Query(prepare, "sync")); err != nil {
		return err
	}
	return service.Push(ctx, filepath.Join(s.folder, "site"))
}

// The settings of php-fpm and nginx, which are those of their packages besides. All run as whoever
// measures, as the service does. Each way has 8 children for itself. A connection that is kept holds
// one of them: each of the two workers of nginx keeps 3, since 4 could hold all of
// them without a request, while others wait in vain: with 8, nginx answered 504.
const (
	fpmConf = `[global]
error_log = {folder}/fpm.log
daemonize = no
[plain]
user = {user}
group = {group}
listen = {folder}/plain.sock
pm = static
pm.max_children = 8
[kept]
user = {user}
group = {group}
listen = {folder}/kept.sock
pm = static
pm.max_children = 8
`
	nginxConf = `daemon off;
user {user} {group};
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events { worker_connections 1024; }
http {
  types { text/html html; text/plain txt; text/css css; image/png png; }
  access_log off;
  sendfile on;
  tcp_nopush on;
  gzip on;
  gzip_types text/css;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  root {folder}/php;
  upstream plain { server unix:{folder}/plain.sock; }
  upstream kept { server unix:{folder}/kept.sock; keepalive 3; }
  fastcgi_param QUERY_STRING $query_string;
  fastcgi_param REQUEST_METHOD $request_method;
  fastcgi_param CONTENT_TYPE $content_type;
  fastcgi_param CONTENT_LENGTH $content_length;
  fastcgi_param REQUEST_URI $request_uri;
  fastcgi_param SERVER_PROTOCOL $server_protocol;
  fastcgi_param REMOTE_ADDR $remote_addr;
  fastcgi_param HTTP_HOST $http_host;
  fastcgi_param SCRIPT_FILENAME $document_root$uri.php;
  fastcgi_param BENCH_DATABASE {folder}/fruits.db;
  server {
    listen {plain};
    location / { try_files $uri @php; }
    location @php { fastcgi_pass plain; }
  }
  server {
    listen {kept};
    location / { try_files $uri @php; }
    location @php { fastcgi_pass kept; fastcgi_keep_conn on; }
  }
}
`
)

// startPeers starts php-fpm, and nginx before it.
func (s *servers) startPeers(ctx context.Context, o load.Options) error {
	who, err := user.Current()
	if err != nil {
		return err
	}
	group, err := user.LookupGroupId(who.Gid)
	if err != nil {
		return err
	}
	if s.plain, err = load.FreeAddress(ctx); err != nil {
		return err
	}
	if s.kept, err = load.FreeAddress(ctx); err != nil {
		return err
	}
	fill := strings.NewReplacer("{folder}", s.folder, "{user}", who.Username, "{group}", group.Name, "{plain}", s.plain, "{kept}", s.kept).Replace
	in := func(name string) string { return filepath.Join(s.folder, name) }
	err = errors.Join(
		writePHP(in("php")), os.WriteFile(in("make.php"), []byte(databasePHP), 0o600),
		os.WriteFile(in("fpm.conf"), []byte(fill(fpmConf)), 0o600), os.WriteFile(in("nginx.conf"), []byte(fill(nginxConf)), 0o600),
	)
	if err != nil {
		return err
	}
	if err := load.RunPeer(ctx, o, "php", in("make.php"), in("fruits.db"), prepare); err != nil {
		return err
	}
	listens := func(network, address string) func() error {
		return func() error { return load.Listens(ctx, network, address) }
	}
	if s.fpm, err = load.StartPeer(ctx, o, listens("unix", in("kept.sock")), "php-fpm8.2", "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", in("fpm.conf")); err != nil {
		return err
	}
	s.nginx, err = load.StartPeer(ctx, o, listens("tcp", s.plain), "nginx", "-c", in("nginx.conf"), "-e", in("nginx.log"))
	return err
}
