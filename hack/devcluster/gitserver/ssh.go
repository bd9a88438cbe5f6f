package gitserver

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"

	sshserver "github.com/gliderlabs/ssh"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSH serves the repositories of a directory, private ones as well, to clients with its key.
type SSH struct {
	// URL is the prefix of the URL of a repository, which ends with "/NAME.git".
	URL string
	// PrivateKey is the key of the only client, in the format of OpenSSH.
	PrivateKey []byte
	// KnownHosts is the line that identifies this server to clients.
	KnownHosts []byte

	server *sshserver.Server
	ended  chan struct{}
}

// StartSSH starts a server with new keys at an address, host:port. The caller closes it.
func StartSSH(dir, address string) (*SSH, error) {
	host, err := newSigner()
	if err != nil {
		return nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the client's ssh key: %w", err)
	}
	hostKey, err := ssh.NewPublicKey(public)
	block, blockErr := ssh.MarshalPrivateKey(private, "")
	if err := errors.Join(err, blockErr); err != nil {
		return nil, fmt.Errorf("encoding the client's ssh key: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for git clients over ssh: %w", err)
	}
	s := &SSH{
		URL:        "ssh://git@" + listener.Addr().String(),
		PrivateKey: pem.EncodeToMemory(block),
		KnownHosts: []byte(knownhosts.Line([]string{listener.Addr().String()}, host.PublicKey()) + "\n"),
		server: &sshserver.Server{
			HostSigners: []sshserver.Signer{host},
			PublicKeyHandler: func(_ sshserver.Context, key sshserver.PublicKey) bool {
				return sshserver.KeysEqual(key, hostKey)
			},
			Handler: func(session sshserver.Session) { uploadPack(dir, session) },
		},
		ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(listener)
	}()
	return s, nil
}

func newSigner() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the server's ssh key: %w", err)
	}
	return ssh.NewSignerFromKey(key)
}

// Close ends the server and its connections.
func (s *SSH) Close() {
	_ = s.server.Close()
	<-s.ended
}

// repositoryOf returns the repository in a command, which must be git-upload-pack.
func repositoryOf(command string) (string, bool) {
	path, found := strings.CutPrefix(command, "git-upload-pack '/")
	if !found {
		return "", false
	}
	name, found := strings.CutSuffix(path, ".git'")
	return name, found && names.MatchString(name)
}

func uploadPack(dir string, session sshserver.Session) {
	name, found := repositoryOf(session.RawCommand())
	if !found {
		_, _ = fmt.Fprintln(session.Stderr(), "only git-upload-pack of a repository is served")
		_ = session.Exit(1)
		return
	}
	// A pipe is used, as git may end before the client has closed its side.
	cmd := exec.CommandContext(session.Context(), "git", "-c", "safe.directory=*", "upload-pack", Path(dir, name))
	cmd.Stdout, cmd.Stderr = session, session.Stderr()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		go func() {
			_, _ = io.Copy(stdin, session)
			_ = stdin.Close()
		}()
		err = cmd.Wait()
	}
	code := 0
	if err != nil {
		code = 1
	}
	_ = session.Exit(code)
}
