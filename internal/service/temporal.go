package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
)

// SearchAttributes are the names of the attributes that runs carry, all of type Keyword.
var SearchAttributes = []string{"ColophonOutcome", "ColophonStep", "ColophonCampaign", "ColophonChannel", "ColophonDate"}

// UnreachableError says that Temporal does not answer. Nothing was changed.
type UnreachableError struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("Temporal does not answer at %s: %v; start it, or set TEMPORAL_ADDRESS", e.Address, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Connect connects to Temporal as its own environment variables and profiles say: TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_….
func Connect(ctx context.Context, log *slog.Logger) (Connection, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return Connection{}, fmt.Errorf("configuration of Temporal: %w", err)
	}
	return Dial(ctx, o, log)
}

// Connection is a client, and the namespace that it works in.
type Connection struct {
	client.Client
	Namespace string
}

// Dial connects to Temporal, and sees that it answers.
func Dial(ctx context.Context, o client.Options, log *slog.Logger) (Connection, error) {
	if o.HostPort == "" {
		o.HostPort = client.DefaultHostPort
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	o.Logger = sdklog.NewStructuredLogger(log)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return Connection{}, &UnreachableError{Address: o.HostPort, Err: err}
	}
	return Connection{c, o.Namespace}, nil
}

// RegisterSearchAttributes makes the attributes known to the namespace; those that are stay as they are.
func RegisterSearchAttributes(ctx context.Context, c Connection) error {
	known, err := c.GetSearchAttributes(ctx) //nolint:staticcheck // the only call that every server and Cloud answers
	if err != nil {
		return fmt.Errorf("read the search attributes: %w", err)
	}
	for _, name := range SearchAttributes {
		if _, ok := known.GetKeys()[name]; ok {
			continue
		}
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: c.Namespace, SearchAttributes: map[string]enumspb.IndexedValueType{name: enumspb.INDEXED_VALUE_TYPE_KEYWORD},
		})
		if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); err != nil && !exists {
			return fmt.Errorf("register the search attribute %s: %w; or add it by hand: temporal operator search-attribute create --name %s --type Keyword", name, err, name)
		}
	}
	return nil
}
