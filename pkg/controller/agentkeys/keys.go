// Package agentkeys keeps the keys with which the controller signs its requests to the agents of
// pods, in a Secret of the installation.
//
// There are two keys: the current one signs, and the next one is only published, so that all agents
// know it long before it signs. The agents read the public keys from ConfigMaps, so that a rotation
// replaces no pod. Without the Secret, because it was deleted or may not be read, agents reject
// requests that change something; the pods keep serving.
package agentkeys

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// SecretKey is the key of the Secret.
	SecretKey = "keys.json"

	// rotationPeriod is the time for which a key is published before it signs, and then signs.
	rotationPeriod = 30 * 24 * time.Hour
	// checkPeriod is the interval between reads of the Secret, retryPeriod the interval after a
	// failed read.
	checkPeriod, retryPeriod = time.Minute, 5 * time.Second
	// firstLoad is the time for which a new leader waits for the keys.
	firstLoad = 5 * time.Second
)

// stored is the content of the Secret. The first key signs, the others are only published.
type stored struct {
	Keys []storedKey `json:"keys"`
}

type storedKey struct {
	Created time.Time          `json:"created"`
	Key     ed25519.PrivateKey `json:"key"`
}

func (k storedKey) isInvalid() bool { return len(k.Key) != ed25519.PrivateKeySize }

// Config configures Keys.
type Config struct {
	// Secrets is the client for the namespace of the installation, Name the name of the Secret.
	Secrets corev1client.SecretInterface
	Name    string
	// Period is the interval between reads of the Secret. Default: a minute.
	Period time.Duration
	// Clock defaults to the real clock.
	Clock clock.WithTicker
}

// Keys are the keys of the installation.
type Keys struct {
	Config

	mu     sync.Mutex
	signer ed25519.PrivateKey
	public string
}

// New returns Keys that have no key before Run or Load.
func New(config Config) *Keys {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Period == 0 {
		config.Period = checkPeriod
	}
	return &Keys{Config: config}
}

// Sign signs a request to a pod. It returns an empty string without a key.
func (k *Keys) Sign(pod types.UID, parameters url.Values) string {
	k.mu.Lock()
	signer := k.signer
	k.mu.Unlock()
	if signer == nil {
		return ""
	}
	return requests.Sign(signer, string(pod), parameters, k.Clock.Now())
}

// Public returns the public keys for the agents. It returns an empty string without keys.
func (k *Keys) Public() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.public
}

// Load reads the keys for the first time, or gives up after a few seconds.
func (k *Keys) Load(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstLoad)
	defer cancel()
	k.check(ctx)
}

// Run reads and rotates the keys until ctx ends. It calls changed whenever the public keys change.
func (k *Keys) Run(ctx context.Context, changed func()) {
	published := k.Public()
	for {
		period := k.Period
		if !k.check(ctx) {
			period = retryPeriod
		}
		if public := k.Public(); public != published {
			published = public
			changed()
		}
		timer := k.Clock.NewTimer(period)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// check reads the keys, and creates and rotates them when due. It reports whether keys are available.
func (k *Keys) check(ctx context.Context) bool {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "secret", k.Name)
	current, err := k.read(ctx)
	// Another replica may have written the Secret meanwhile: its keys are used.
	for tries := 0; tries < 3 && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)); tries++ {
		current, err = k.read(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			logger.Error(err, "Failed to read or write the keys of requests to pods")
		}
		return false
	}
	var private []ed25519.PrivateKey
	for _, key := range current.Keys {
		private = append(private, key.Key)
	}
	public := requests.PublicKeysOf(private...)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !private[0].Equal(k.signer) {
		logger.Info("Signing requests to pods with another key", "publicKey", public[:1].String())
	}
	k.signer, k.public = private[0], public.String()
	return true
}

// read returns the keys in the Secret. It creates or updates the Secret if necessary.
func (k *Keys) read(ctx context.Context) (stored, error) {
	secret, err := k.Secrets.Get(ctx, k.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return k.create(ctx)
	}
	if err != nil {
		return stored{}, fmt.Errorf("reading Secret %q: %w", k.Name, err)
	}
	var current stored
	if err := json.Unmarshal(secret.Data[SecretKey], &current); err != nil ||
		slices.ContainsFunc(current.Keys, storedKey.isInvalid) {
		klog.FromContext(ctx).Info("Replacing keys that cannot be read", "secret", k.Name, "key", SecretKey)
		current = stored{}
	}
	changed, err := current.complete(k.Clock.Now())
	if err != nil || !changed {
		return current, err
	}
	data, err := json.Marshal(current)
	if err != nil {
		return stored{}, fmt.Errorf("encoding the keys: %w", err)
	}
	update := secret.DeepCopy()
	update.Data = map[string][]byte{SecretKey: data}
	if _, err := k.Secrets.Update(ctx, update, metav1.UpdateOptions{}); err != nil {
		return stored{}, fmt.Errorf("writing Secret %q: %w", k.Name, err)
	}
	return current, nil
}

func (k *Keys) create(ctx context.Context) (stored, error) {
	var made stored
	if _, err := made.complete(k.Clock.Now()); err != nil {
		return stored{}, err
	}
	data, err := json.Marshal(made)
	if err != nil {
		return stored{}, fmt.Errorf("encoding the keys: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: k.Name},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{SecretKey: data},
	}
	if _, err := k.Secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return stored{}, fmt.Errorf("creating Secret %q: %w", k.Name, err)
	}
	return made, nil
}

// complete creates missing keys, and makes the next key the signing key after it was published for a
// rotationPeriod.
func (s *stored) complete(now time.Time) (changed bool, err error) {
	if len(s.Keys) >= 2 && now.Sub(s.Keys[1].Created) >= rotationPeriod {
		s.Keys, changed = s.Keys[1:], true
	}
	for len(s.Keys) < 2 {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return false, fmt.Errorf("generating a key: %w", err)
		}
		s.Keys, changed = append(s.Keys, storedKey{Created: now.UTC().Truncate(time.Second), Key: key}), true
	}
	return changed, nil
}
