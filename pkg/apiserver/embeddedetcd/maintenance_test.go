package embeddedetcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
)

const megabyte = 1 << 20

// newServer starts an etcd whose quota a few large objects fill.
func newServer(t *testing.T, config Config) (*Server, *clientv3.Client) {
	t.Helper()
	config.DataDir = newDataDir(t)
	server, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, newClient(t, config.DataDir)
}

// maintain runs Maintain until the test ends.
func maintain(t *testing.T, server *Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Maintain(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// largeValue returns an incompressible value.
func largeValue() string {
	random := rand.New(rand.NewPCG(1, 2))
	var value bytes.Buffer
	for value.Len() < megabyte {
		value.WriteByte(byte(random.Uint32()))
	}
	return value.String()
}

func TestHistoryIsBounded(t *testing.T) {
	const written, history = 120 * megabyte, 16 * megabyte
	server, client := newServer(t, Config{QuotaBytes: written / 2, HistoryBytes: history})
	m := &maintainer{server: server}
	value := largeValue()
	for range written / megabyte {
		if _, err := client.Put(t.Context(), "key", value); err != nil {
			t.Fatalf("with a quota of half of the written data: %v", err)
		}
		if err := m.maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// etcd's backend grows and shrinks in steps of its own.
	if size := server.etcd.Server.Backend().Size(); size > 3*history {
		t.Errorf("%d MiB of one key occupy %d MiB", written/megabyte, size/megabyte)
	}
}

// An interrupted watch resumes from a revision of the last seconds.
func TestSomeHistoryIsKept(t *testing.T) {
	// Pages that a slow commit has not freed yet count as growth, here some megabytes.
	server, client := newServer(t, Config{QuotaBytes: 200 * megabyte, HistoryBytes: 48 * megabyte})
	m := &maintainer{server: server}
	value := largeValue()
	for i := range 80 {
		put, err := client.Put(t.Context(), "key", value)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i < 4 {
			continue
		}
		if _, err := client.Get(t.Context(), "key", clientv3.WithRev(put.Header.Revision-4)); err != nil {
			t.Fatalf("reading the key as it was 4 MiB before: %v", err)
		}
	}
	if first := server.etcd.Server.KV().FirstRev(); first < 2 {
		t.Errorf("nothing was compacted: the first revision is %d", first)
	}
}

func TestFullDatabaseRecovers(t *testing.T) {
	server, client := newServer(t, Config{QuotaBytes: 24 * megabyte, HistoryBytes: 16 * megabyte})
	value := largeValue()
	err := fill(t, client, value)
	if !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("writing over the quota = %v, want %v", err, rpctypes.ErrNoSpace)
	}

	maintain(t, server)
	waitFor(t, "writes to succeed", func(ctx context.Context) error {
		_, err := client.Put(ctx, "key", value)
		return err
	})
	if alarms := server.alarms(); len(alarms) > 0 {
		t.Errorf("alarms = %v, want none", alarms)
	}
}

// TestAlarmOfAFormerMember has restored data whose member had another ID.
func TestAlarmOfAFormerMember(t *testing.T) {
	server, client := newServer(t, Config{QuotaBytes: 24 * megabyte, HistoryBytes: 16 * megabyte})
	if _, err := server.etcd.Server.Alarm(t.Context(), &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: 42, Alarm: etcdserverpb.AlarmType_NOSPACE,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), "key", "value"); !errors.Is(err, rpctypes.ErrNoSpace) {
		t.Fatalf("writing with an alarm = %v, want %v", err, rpctypes.ErrNoSpace)
	}
	if err := (&maintainer{server: server}).maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Errorf("writing after maintenance: %v", err)
	}
}

// Current objects are not removed, and the error recommends a remedy.
func TestDatabaseFullOfObjects(t *testing.T) {
	server, client := newServer(t, Config{QuotaBytes: 24 * megabyte, HistoryBytes: 16 * megabyte})
	m := &maintainer{server: server}
	value := largeValue()
	var written int64
	var full error
	for range 100 {
		if _, err := client.Put(t.Context(), fmt.Sprintf("key%d", written), value); err == nil {
			written++
		}
		if full = m.maintain(t.Context()); full != nil {
			break
		}
	}
	if full == nil || !strings.Contains(full.Error(), "--embedded-etcd-quota-backend-bytes") {
		t.Fatalf("maintain with a database full of objects = %v, want an error that names the flag", full)
	}
	got, err := client.Get(t.Context(), "key", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	// etcd stores the write that exceeds the quota, although it returns an error.
	if got.Count < written {
		t.Errorf("%d keys are left of %d", got.Count, written)
	}

	if _, err := client.Delete(t.Context(), "key", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	// The database counts a page as free some commits after its last use.
	waitFor(t, "space after keys were deleted", m.maintain)
	if _, err := client.Put(t.Context(), "key", value); err != nil {
		t.Errorf("writing after keys were deleted: %v", err)
	}
}

func TestFragmented(t *testing.T) {
	for name, test := range map[string]struct {
		size, used int64
		want       bool
	}{
		"small":                      {size: 40, used: 1},
		"large and full":             {size: 90, used: 80},
		"large, with many free ones": {size: 60, used: 30, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fragmented(test.size, test.used, 100); got != test.want {
				t.Errorf("fragmented(%d, %d, 100) = %v, want %v", test.size, test.used, got, test.want)
			}
		})
	}
}

// fill writes one key until that fails.
func fill(t *testing.T, client *clientv3.Client, value string) error {
	t.Helper()
	for range 100 {
		if _, err := client.Put(t.Context(), "key", value); err != nil {
			return err
		}
	}
	return nil
}

func waitFor(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			last = check(ctx)
			return last == nil, nil
		})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, last)
	}
}
