package indexnow_test

import (
	"testing"

	"colophon/internal/channel/channeltest"
	"colophon/internal/channel/indexnow"
	"colophon/internal/sandbox"
	"colophon/internal/sandbox/fault"
	"colophon/internal/wire"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Bench{
		Open: func(_ *testing.T, w *sandbox.World, bad bool) channeltest.Channel {
			key := sandbox.IndexNowKey
			if bad {
				key = "ffffffffffffffff"
			}
			return indexnow.New(wire.New(wire.Options{}), indexnow.Options{
				Name: "indexnow", Endpoint: w.IndexNowPort.URL() + "/indexnow", Key: key, KeyLocation: w.SitePort.URL() + "/" + sandbox.IndexNowKey + ".txt",
			})
		},
		Faults: func(w *sandbox.World) *fault.Layer { return w.IndexNowFaults },
		Port:   func(w *sandbox.World) *fault.Port { return w.IndexNowPort },
		Count:  func(w *sandbox.World) int { return len(w.IndexNow.Pings()) },
		Reads:  func(*sandbox.World) int { return 0 },
		Blind:  true, Secret: sandbox.IndexNowKey,
	})
}
