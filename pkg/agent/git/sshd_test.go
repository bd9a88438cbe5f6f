package git

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshd is an ssh server.
type sshd struct {
	address string
	// key and knownHosts are files of its only client.
	key, knownHosts string

	config  *ssh.ServerConfig
	forced  string
	serving sync.WaitGroup
}

// startSSH starts an ssh server that runs git-upload-pack for a key, or a command in its place.
func startSSH(t *testing.T, forced string) *sshd {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("no ssh on PATH: install the package openssh-client")
	}
	hostKey, clientKey := newKey(t), newKey(t)
	host, hostErr := ssh.NewSignerFromKey(hostKey)
	client, clientErr := ssh.NewSignerFromKey(clientKey)
	block, blockErr := ssh.MarshalPrivateKey(clientKey, "")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(hostErr, clientErr, blockErr, err); err != nil {
		t.Fatal(err)
	}
	s := &sshd{
		address:    listener.Addr().String(),
		key:        writeFile(t, string(pem.EncodeToMemory(block))),
		knownHosts: writeFile(t, knownhosts.Line([]string{listener.Addr().String()}, host.PublicKey())+"\n"),
		forced:     forced,
	}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), client.PublicKey().Marshal()) {
			return nil, errors.New("another key")
		}
		return nil, nil
	}}
	s.config.AddHostKey(host)
	ctx, cancel := context.WithCancel(context.Background())
	s.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.serving.Go(func() { s.serve(ctx, conn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		s.serving.Wait()
	})
	return s
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// serve serves a connection until it, or the server, ends.
func (s *sshd) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	s.serving.Go(func() { ssh.DiscardRequests(requests) })
	for asked := range channels {
		channel, requests, err := asked.Accept()
		if err != nil {
			return
		}
		s.serving.Go(func() { s.session(ctx, channel, requests) })
	}
}

// session runs the command of a session, with the variables that the client sends before it.
func (s *sshd) session(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	env := os.Environ()
	for request := range requests {
		var variable struct{ Name, Value string }
		var command struct{ Line string }
		switch {
		case request.Type == "env" && ssh.Unmarshal(request.Payload, &variable) == nil:
			env = append(env, variable.Name+"="+variable.Value)
			_ = request.Reply(true, nil)
		case request.Type == "exec" && ssh.Unmarshal(request.Payload, &command) == nil:
			_ = request.Reply(true, nil)
			if s.forced != "" {
				command.Line = s.forced
			}
			code := uint32(0)
			if s.exec(ctx, command.Line, env, channel) != nil {
				code = 1
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
			return
		default:
			_ = request.Reply(false, nil)
		}
	}
}

func (s *sshd) exec(ctx context.Context, line string, env []string, channel ssh.Channel) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, channel, channel.Stderr()
	// Through a pipe: git may end before the client has closed its side.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.serving.Go(func() {
		_, _ = io.Copy(stdin, channel)
		_ = stdin.Close()
	})
	return cmd.Run()
}
