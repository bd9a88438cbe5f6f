package gitserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSH serves the repositories of a folder, private ones as well, to whoever has its key.
type SSH struct {
	// URL is what the path of a repository follows, "/NAME.git".
	URL string
	// PrivateKey is the key to show, in the format of OpenSSH.
	PrivateKey []byte
	// KnownHosts is the line by which clients know this server.
	KnownHosts []byte

	dir      string
	config   *ssh.ServerConfig
	listener net.Listener
	// stop ends the requests that are being answered, running waits for them.
	stop    context.CancelFunc
	running sync.WaitGroup
}

// StartSSH starts a server with keys of its own at an address, host:port. The caller
// closes it.
func StartSSH(dir, address string) (*SSH, error) {
	s := &SSH{dir: dir}
	if err := s.makeKeys(); err != nil {
		return nil, fmt.Errorf("making keys for ssh: %w", err)
	}
	var config net.ListenConfig
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		stop()
		return nil, fmt.Errorf("listening for git clients over ssh: %w", err)
	}
	s.listener = listener
	s.URL = "ssh://git@" + listener.Addr().String()
	s.KnownHosts = append([]byte(knownhosts.Normalize(listener.Addr().String())+" "), s.KnownHosts...)
	s.running.Go(func() { s.accept(ctx) })
	return s, nil
}

// Close ends the server and what it does.
func (s *SSH) Close() {
	s.stop()
	_ = s.listener.Close()
	s.running.Wait()
}

// makeKeys makes a key for the server and one for its only user.
func (s *SSH) makeKeys() error {
	_, host, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	signer, err := ssh.NewSignerFromKey(host)
	if err != nil {
		return err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	known, err := ssh.NewPublicKey(public)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return err
	}
	s.PrivateKey = pem.EncodeToMemory(block)
	s.KnownHosts = ssh.MarshalAuthorizedKey(signer.PublicKey())
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), known.Marshal()) {
			return nil, errors.New("the key is unknown")
		}
		return nil, nil
	}}
	s.config.AddHostKey(signer)
	return nil
}

// accept answers connections until the listener is closed.
func (s *SSH) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			// A client that goes away, or has another key, is no fault of the server.
			_ = s.serve(ctx, conn)
		})
	}
}

func (s *SSH) serve(ctx context.Context, conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	server, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return err
	}
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer func() { _ = server.Close() }()
	sessions.Go(func() { ssh.DiscardRequests(requests) })
	for offered := range channels {
		if offered.ChannelType() != "session" {
			if err := offered.Reject(ssh.UnknownChannelType, "only sessions are served"); err != nil {
				return err
			}
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return err
		}
		sessions.Go(func() { s.session(ctx, channel, requests) })
	}
	return nil
}

// session answers the one request that makes sense: to run git-upload-pack.
func (s *SSH) session(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
	var running sync.WaitGroup
	defer running.Wait()
	defer func() { _ = channel.Close() }()
	for request := range requests {
		var command struct{ Line string }
		name, found := "", false
		if request.Type == "exec" && ssh.Unmarshal(request.Payload, &command) == nil {
			name, found = repositoryOf(command.Line)
		}
		if request.WantReply {
			if err := request.Reply(found, nil); err != nil {
				return
			}
		}
		if found {
			running.Go(func() { s.uploadPack(ctx, name, channel) })
		}
	}
}

// repositoryOf is the repository that a command asks for.
func repositoryOf(command string) (string, bool) {
	path, found := strings.CutPrefix(command, "git-upload-pack '/")
	if !found {
		return "", false
	}
	name, found := strings.CutSuffix(path, ".git'")
	return name, found && names.MatchString(name)
}

func (s *SSH) uploadPack(ctx context.Context, name string, channel ssh.Channel) {
	var input sync.WaitGroup
	defer input.Wait()
	// Also ends the input: the client may have nothing more to say and yet not say so.
	defer func() { _ = channel.Close() }()
	cmd := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "upload-pack", Path(s.dir, name))
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	status := struct{ Code uint32 }{1}
	if err == nil {
		input.Go(func() {
			_, _ = io.Copy(stdin, channel)
			_ = stdin.Close()
		})
		if cmd.Wait() == nil {
			status.Code = 0
		}
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
}
