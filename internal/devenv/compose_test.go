package devenv_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestTheComposeFileIsSound checks what can be checked without a container engine: Compose's own schema,
// that every image is pinned, that services can be seen to be healthy, and that secrets come from files.
func TestTheComposeFileIsSound(t *testing.T) {
	o, err := cli.NewProjectOptions([]string{"../../docker-compose.yml"}, cli.WithName("colophon"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?[A-Za-z0-9._-]*$`)
	for name, s := range p.Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
		if ends := s.Restart == "on-failure"; !ends && s.HealthCheck == nil {
			t.Errorf("%s has no health check", name)
		}
		for key, v := range s.Environment {
			if v != nil && regexp.MustCompile(`(?i)password|token|secret|pwd`).MatchString(key) && !strings.HasSuffix(key, "_FILE") {
				t.Errorf("%s: %s is in the environment; secrets come from files", name, key)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s beyond this machine", name, port.Published)
			}
		}
		for dep, d := range s.DependsOn {
			if d.Condition == types.ServiceConditionStarted {
				t.Errorf("%s does not wait until %s is ready", name, dep)
			}
		}
	}
	for name, s := range p.Secrets {
		if s.File == "" {
			t.Errorf("secret %s is not a file", name)
		}
	}
}

// TestTheImagesBuildStepsBuild runs the Dockerfile's own build commands.
func TestTheImagesBuildStepsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs; left out with -short")
	}
	raw, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .*)$`).FindAllSubmatch(raw, -1)
	if len(steps) != 2 {
		t.Fatalf("%d build steps", len(steps))
	}
	out := t.TempDir()
	for _, s := range steps {
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(string(s[1]), "/out/", out+"/"))
		cmd.Dir = "../.."
		if got, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s[1], err, got)
		}
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(raw), -1) {
		if !regexp.MustCompile(`:\d+\.\d+\.\d+`).MatchString(from[1]) {
			t.Errorf("image %s is not pinned", from[1])
		}
	}
	if got, err := exec.Command(filepath.Join(out, "worker"), "--help").CombinedOutput(); err != nil || !strings.Contains(string(got), "--config") {
		t.Errorf("%v: %s", err, got)
	}
}
