package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"colophon/internal/strictyaml"
)

// Secret says where a secret is: in an environment variable, or in a file, whose relative path starts at
// the configuration's folder.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

func (s Secret) check(doc *strictyaml.Document, path string) {
	if (s.Env == "") == (s.File == "") {
		doc.Wrong(path, "want where the secret is, as {env: NAME} or {file: PATH}")
	}
}

// Value is a secret. However it is printed, it shows nothing.
type Value struct{ secret string }

const hidden = "[secret]"

// Reveal is the secret itself, for the one place that sends it.
func (v Value) Reveal() string { return v.secret }

// String hides the secret.
func (Value) String() string { return hidden }

// GoString hides the secret.
func (Value) GoString() string { return hidden }

// MarshalText hides the secret.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the secret.
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }

// Read gets the secret. What names it in the configuration, for errors.
func (s Secret) Read(what string) (Value, error) {
	if s.Env != "" {
		v := strings.TrimSpace(os.Getenv(s.Env))
		if v == "" {
			return Value{}, fmt.Errorf("%s: the environment variable %s is not set; set it to the secret", what, s.Env)
		}
		return Value{v}, nil
	}
	raw, err := os.ReadFile(s.File)
	if err != nil {
		return Value{}, fmt.Errorf("%s: %w; write the secret into that file, or name another", what, err)
	}
	v := strings.TrimSpace(string(raw))
	if v == "" {
		return Value{}, fmt.Errorf("%s: the file %s is empty", what, s.File)
	}
	return Value{v}, nil
}
