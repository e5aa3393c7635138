package deploy

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/config"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// uid is the user of the image.
const uid = 65532

// checkSettings fails where a service with these variables of the environment would refuse to start,
// or would not see one of them.
func checkSettings(t *testing.T, what string, env map[string]string) config.Settings {
	t.Helper()
	known := map[string]bool{}
	for _, s := range config.All() {
		known[s.Env()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, "QL_") && !known[name] {
			t.Errorf("%s: there is no setting %s", what, name)
		}
	}
	s, err := config.Load(config.Sources{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return s
}

// imageEnv are the variables that the image sets.
func imageEnv(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{}
	_, last := readDockerfile(t)
	for _, c := range last.Commands {
		if e, ok := c.(*instructions.EnvCommand); ok {
			for _, pair := range e.Env {
				env[pair.Key] = pair.Value
			}
		}
	}
	return env
}

func readDockerfile(t *testing.T) (warnings []string, last instructions.Stage) {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parsed.Warnings {
		warnings = append(warnings, w.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, what string, _ []parser.Range) {
		warnings = append(warnings, rule+": "+what)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	return warnings, stages[len(stages)-1]
}

// TestDockerfile checks the image as far as that can be done without a registry: the builder's own reader
// and linter find nothing, and what runs is the program alone, by a user that is not root.
func TestDockerfile(t *testing.T) {
	warnings, last := readDockerfile(t)
	for _, w := range warnings {
		t.Error(w)
	}
	if !strings.HasPrefix(last.BaseName, "gcr.io/distroless/static") {
		t.Errorf("the program runs on %s, which has more than it needs", last.BaseName)
	}
	user, entry := "", []string(nil)
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			if entry = c.CmdLine; c.PrependShell {
				t.Error("the entry point needs a shell, and signals do not reach the program")
			}
		case *instructions.RunCommand:
			t.Errorf("%s: there is nothing to run it by", c)
		case *instructions.HealthCheckCommand:
			t.Errorf("%s: there is nothing to run it by", c)
		}
	}
	if want := fmt.Sprintf("%d:%d", uid, uid); user != want {
		t.Errorf("the user is %q, want %s", user, want)
	}
	if !slices.Equal(entry, []string{"/usr/bin/ql"}) {
		t.Errorf("the entry point is %q", entry)
	}
	checkSettings(t, "Dockerfile", imageEnv(t))
	ignored, err := os.ReadFile("Dockerfile.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(ignored)) {
		if slices.Contains([]string{"cmd", "internal", "lang", "go.mod", "go.sum", ".git"}, strings.TrimSpace(line)) {
			t.Errorf("%q is left out of the build, and needed", line)
		}
	}
}

// TestCompose checks the cluster on one machine: read as the tool reads it, with nothing left undefined, three
// nodes whose settings hold.
func TestCompose(t *testing.T) {
	folder := t.TempDir()
	// What the comment on top has its reader make.
	for _, name := range []string{"s3.env", "s3-server.env"} {
		path := filepath.Join(folder, "secrets", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("AWS_ACCESS_KEY_ID=ql\nAWS_SECRET_ACCESS_KEY=secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: folder, ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: text}}, Environment: map[string]string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	image := imageEnv(t)
	for name, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			relative, err := filepath.Rel(folder, v.Source)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(relative); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if s.Image != "ql" {
			continue
		}
		nodes = append(nodes, name)
		env := maps.Clone(image)
		for key, value := range s.Environment {
			env[key] = *value
		}
		settings := checkSettings(t, name, env)
		if settings.Database == "" || settings.Blobs == nil {
			t.Errorf("%s shares nothing with the others", name)
		}
		if env["AWS_SECRET_ACCESS_KEY"] != "secret" {
			t.Errorf("%s has no keys of the bucket", name)
		}
		if grace := s.StopGracePeriod; grace == nil || *grace < types.Duration(settings.DrainDelay+settings.StopTimeout) {
			t.Errorf("%s is killed before it has stopped", name)
		}
		if _, set := env["QL_DEV"]; set {
			t.Errorf("%s is open to everybody", name)
		}
	}
	slices.Sort(nodes)
	if !slices.Equal(nodes, []string{"ql-1", "ql-2", "ql-3"}) {
		t.Errorf("the nodes are %q", nodes)
	}
	proxy, err := os.ReadFile("haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range nodes {
		if want := "server " + name + " " + name + ":8080\n"; !bytes.Contains(proxy, []byte(want)) {
			t.Errorf("the proxy has no %q", want)
		}
	}
}

// TestProxy has the proxy itself check its configuration. The names of nodes are known to the cluster's own network alone.
func TestProxy(t *testing.T) {
	text, err := os.ReadFile("haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		text = bytes.ReplaceAll(text, fmt.Appendf(nil, "ql-%d:8080", i+1), []byte("127.0.0.1:8080"))
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "haproxy", "-c", "-dW", "-f", path).CombinedOutput(); err != nil {
		t.Errorf("%v (of the package haproxy)\n%s", err, out)
	}
}

// readManifests decodes manifests as the API does that knows each field, and refuses those that it does not know.
func readManifests(t *testing.T, file string) (all []any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range strings.Split(string(text), "\n---\n") {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(one), &head); err != nil {
			t.Fatal(err)
		}
		var object any
		switch head.APIVersion + " " + head.Kind {
		case "v1 Service":
			object = &core.Service{}
		case "v1 Secret":
			object = &core.Secret{}
		case "v1 ConfigMap":
			object = &core.ConfigMap{}
		case "apps/v1 StatefulSet":
			object = &apps.StatefulSet{}
		case "policy/v1 PodDisruptionBudget":
			object = &policy.PodDisruptionBudget{}
		default:
			t.Fatalf("%s, document %d is a %s %s", file, i+1, head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(one), object); err != nil {
			t.Errorf("%s, document %d: %v", file, i+1, err)
		}
		all = append(all, object)
	}
	return all
}

// find returns the only one of its kind, or of its kind and name.
func find[T any](t *testing.T, all []any) *T {
	t.Helper()
	for _, o := range all {
		if found, ok := o.(*T); ok {
			return found
		}
	}
	t.Fatalf("there is no %T", *new(T))
	return nil
}

func TestKubernetes(t *testing.T) {
	all := append(readManifests(t, "kubernetes/ql.yaml"), readManifests(t, "kubernetes/secret.yaml")...)
	set, budget := find[apps.StatefulSet](t, all), find[policy.PodDisruptionBudget](t, all)
	secret, values := find[core.Secret](t, all), find[core.ConfigMap](t, all)
	pod := set.Spec.Template
	labels := pod.Labels

	// All that chooses the nodes chooses them.
	selectors := map[string]map[string]string{"the set": set.Spec.Selector.MatchLabels, "the budget": budget.Spec.Selector.MatchLabels}
	headless := false
	for _, o := range all {
		if s, ok := o.(*core.Service); ok {
			selectors["the service "+s.Name] = s.Spec.Selector
			headless = headless || s.Name == set.Spec.ServiceName && s.Spec.ClusterIP == core.ClusterIPNone
		}
	}
	for what, chosen := range selectors {
		if !maps.Equal(chosen, labels) {
			t.Errorf("%s chooses %v, and the nodes have %v", what, chosen, labels)
		}
	}
	if !headless {
		t.Errorf("the set has no headless service %s", set.Spec.ServiceName)
	}

	node := pod.Spec.Containers[0]
	env := imageEnv(t)
	maps.Copy(env, values.Data)
	for _, v := range node.Env {
		switch { // the variables before it are put in, as Kubernetes does
		case v.ValueFrom == nil:
			env[v.Name] = strings.ReplaceAll(v.Value, "$(POD_IP)", env["POD_IP"])
			continue
		case v.ValueFrom.FieldRef != nil:
			env[v.Name] = "10.0.0.2"
			continue
		}
		value, found := secret.StringData[v.ValueFrom.SecretKeyRef.Key]
		if v.ValueFrom.SecretKeyRef.Name != secret.Name || !found {
			t.Errorf("%s is of a secret that there is not", v.Name)
		}
		env[v.Name] = value
	}
	delete(env, "POD_IP") // none of ours
	settings := checkSettings(t, "kubernetes", env)
	if settings.NodeListen != "10.0.0.2:8081" {
		t.Errorf("others reach a node at %q", settings.NodeListen)
	}
	if settings.Database == "" || settings.Blobs == nil {
		t.Errorf("the nodes share nothing: %v", values.Data)
	}
	mounted := ""
	for _, m := range node.VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name && v.Secret != nil {
				mounted = m.MountPath + "/" + v.Secret.Items[0].Path
				if _, found := secret.StringData[v.Secret.Items[0].Key]; !found || v.Secret.SecretName != secret.Name {
					t.Errorf("the key is of a secret that there is not")
				}
			}
		}
	}
	if mounted != settings.MasterKeyFile {
		t.Errorf("the master key is at %q, and looked for at %q", mounted, settings.MasterKeyFile)
	}

	// The probes ask what there is, at a port that there is.
	for path, p := range map[string]*core.Probe{"/healthz": node.LivenessProbe, "/readyz": node.ReadinessProbe} {
		if p.HTTPGet.Path != path || p.HTTPGet.Port.String() != "http" {
			t.Errorf("the probe for %s asks %+v", path, p.HTTPGet)
		}
	}
	for port, address := range map[string]string{"http": settings.Listen, "metrics": settings.MetricsListen} {
		if !slices.ContainsFunc(node.Ports, func(p core.ContainerPort) bool {
			return p.Name == port && address == fmt.Sprintf(":%d", p.ContainerPort)
		}) {
			t.Errorf("the port %s is not that of %q", port, address)
		}
	}
	if grace := *pod.Spec.TerminationGracePeriodSeconds; float64(grace) < (settings.DrainDelay + settings.StopTimeout).Seconds() {
		t.Errorf("a node is killed after %d s, before it has stopped", grace)
	}
	if s := pod.Spec.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser != uid || *s.FSGroup != uid {
		t.Errorf("the nodes run as %+v", s)
	}
}

// TestSystemd has systemd check the unit. The program is another here, which is there.
func TestSystemd(t *testing.T) {
	unit, err := os.ReadFile("systemd/ql.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const command = "ExecStart=/usr/bin/ql serve --config /etc/ql/ql.toml\n"
	if !bytes.Contains(unit, []byte(command)) {
		t.Errorf("the unit does not run %s", command)
	}
	unit = bytes.ReplaceAll(unit, []byte("ExecStart=/usr/bin/ql"), []byte("ExecStart="+self))
	path := filepath.Join(t.TempDir(), "ql.service")
	if err := os.WriteFile(path, unit, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v (of the package systemd)\n%s", err, out)
	}
	if _, err := config.Load(config.Sources{File: "systemd/ql.toml", Env: func(string) (string, bool) { return "", false }}); err != nil {
		t.Error(err)
	}
}

// run runs a program, and returns what it says.
func run(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}

// TestScripts has the shell read the scripts of the image of PostgreSQL.
func TestScripts(t *testing.T) {
	found, err := filepath.Glob("postgres/*.sh")
	if err != nil || len(found) != 2 {
		t.Fatalf("%q, %v", found, err)
	}
	for _, path := range found {
		if out, err := run(t.Context(), "bash", "-n", path); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
