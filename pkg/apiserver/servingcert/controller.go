package servingcert

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/certificates"
)

// Config configures a Controller.
type Config struct {
	// Client reads and writes the Secret.
	Client kubernetes.Interface
	// Namespace and Name identify the Secret.
	Namespace, Name string
	// DNSNames are the names in the serving certificate; the first is its subject.
	DNSNames []string
	// Lifetime is the lifetime of a serving certificate, which is replaced after two
	// thirds of it. A CA lives four times as long.
	Lifetime time.Duration
	// Trusted returns an error while clients lack a CA of the bundle, PEM.
	Trusted func(ctx context.Context, bundle []byte) error
	// Clock is the time.
	Clock clock.PassiveClock
}

// Controller keeps the Secret up to date and provides its content to the secure server.
type Controller struct {
	config   Config
	rotation rotation
	current  atomic.Pointer[content]
	// untrusted is the last reported reason why a due certificate is not replaced.
	untrusted string

	mu        sync.Mutex
	listeners []dynamiccertificates.Listener
}

// content is the part of the Secret that the server and its clients use.
type content struct {
	cert, key, bundle []byte
}

func (c *content) equal(other *content) bool {
	return bytes.Equal(c.cert, other.cert) && bytes.Equal(c.key, other.key) && bytes.Equal(c.bundle, other.bundle)
}

var (
	_ dynamiccertificates.CertKeyContentProvider = &Controller{}
	_ dynamiccertificates.ControllerRunner       = &Controller{}
)

// New returns a Controller without a certificate: see RunOnce.
func New(config Config) *Controller {
	return &Controller{config: config, rotation: rotation{name: config.Name, dnsNames: config.DNSNames,
		lifetime: config.Lifetime}}
}

// Name identifies the certificate in logs.
func (c *Controller) Name() string {
	return "secret " + c.config.Namespace + "/" + c.config.Name
}

// CurrentCertKeyContent returns the serving certificate and its key, PEM.
func (c *Controller) CurrentCertKeyContent() (cert, key []byte) {
	if current := c.current.Load(); current != nil {
		return current.cert, current.key
	}
	return nil, nil
}

// CABundle returns all trusted CAs, PEM.
func (c *Controller) CABundle() []byte {
	if current := c.current.Load(); current != nil {
		return current.bundle
	}
	return nil
}

// AddListener adds a listener that is called after each change of the content.
func (c *Controller) AddListener(listener dynamiccertificates.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, listener)
}

// RunOnce reads the Secret, or creates it. It returns an error if the server has no
// certificate after it.
func (c *Controller) RunOnce(ctx context.Context) error {
	secret, err := c.config.Client.CoreV1().Secrets(c.config.Namespace).Get(ctx, c.config.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return fmt.Errorf("reading the serving certificate: %w", err)
	}
	_, err = c.sync(ctx, secret)
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Another replica has created it meanwhile.
		return c.RunOnce(ctx)
	}
	return err
}

// Run follows the Secret and replaces due certificates until ctx ends.
func (c *Controller) Run(ctx context.Context, _ int) {
	logger := klog.FromContext(ctx)
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "serving-certificate"})
	factory := informers.NewSharedInformerFactoryWithOptions(c.config.Client, 0,
		informers.WithNamespace(c.config.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, c.config.Name).String()
		}))
	secrets := factory.Core().V1().Secrets()
	enqueue := func() { queue.Add(c.config.Name) }
	_, err := secrets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { enqueue() },
		UpdateFunc: func(any, any) { enqueue() },
		DeleteFunc: func(any) { enqueue() },
	})
	if err != nil {
		logger.Error(err, "Following the Secret of the serving certificate failed")
		return
	}
	factory.StartWithContext(ctx)
	var worker sync.WaitGroup
	worker.Go(func() {
		if !cache.WaitForCacheSync(ctx.Done(), secrets.Informer().HasSynced) {
			return
		}
		enqueue()
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			secret, err := secrets.Lister().Secrets(c.config.Namespace).Get(c.config.Name)
			if apierrors.IsNotFound(err) {
				secret, err = nil, nil
			}
			var wait time.Duration
			if err == nil {
				wait, err = c.sync(ctx, secret)
			}
			switch {
			case err == nil:
				queue.Forget(key)
				queue.AddAfter(key, wait)
			default:
				// The informer receives the other replica's write.
				if ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
					logger.Error(err, "Rotating the serving certificate failed; it is retried", "secret",
						klog.KRef(c.config.Namespace, c.config.Name))
				}
				queue.AddRateLimited(key)
			}
			queue.Done(key)
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	worker.Wait()
	factory.Shutdown()
}

// sync adopts the content of the Secret, takes the step that is due, and returns the
// time until the next check. A nil Secret does not exist.
func (c *Controller) sync(ctx context.Context, secret *corev1.Secret) (time.Duration, error) {
	var k *keys
	if secret != nil {
		var err error
		if k, err = parse(secret.Data); err != nil {
			return 0, fmt.Errorf("%s is not usable: %w: delete it, and a new certificate is generated, or serve a certificate "+
				"of your own by --tls-cert-file", c.Name(), err)
		}
		c.adopt(secret)
	}
	trusted := false
	var trustErr error
	if k != nil {
		trustErr = c.config.Trusted(ctx, certificates.Encode(k.ca.Certificate))
		trusted = trustErr == nil
	}
	now := c.config.Clock.Now()
	next, err := c.rotation.next(k, now, trusted)
	if err != nil {
		return 0, err
	}
	if next == nil {
		if !trusted && (!k.signs() || k.leaf.RenewalDue(now)) {
			c.reportUntrusted(ctx, trustErr, k.leaf, now)
		}
		return c.rotation.wait(k, now), nil
	}
	c.untrusted = ""
	written, err := c.write(ctx, secret, next)
	if err != nil {
		return 0, fmt.Errorf("writing %s: %w", c.Name(), err)
	}
	klog.FromContext(ctx).Info("Wrote the serving certificate", "secret", klog.KObj(written),
		"issuer", next.leaf.Issuer.CommonName, "expires", next.leaf.NotAfter, "trustedCAs", 1+len(next.former))
	c.adopt(written)
	return c.rotation.wait(next, now), nil
}

func (c *Controller) write(ctx context.Context, secret *corev1.Secret, k *keys) (*corev1.Secret, error) {
	secrets := c.config.Client.CoreV1().Secrets(c.config.Namespace)
	if secret == nil {
		return secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: c.config.Name, Namespace: c.config.Namespace,
				Annotations: map[string]string{"kubernetes.io/description": "Serving certificate and CA of website-apiserver, " +
					"which rotates both."},
			},
			Type: corev1.SecretTypeTLS,
			Data: k.data(),
		}, metav1.CreateOptions{})
	}
	updated := secret.DeepCopy()
	updated.Data = k.data()
	return secrets.Update(ctx, updated, metav1.UpdateOptions{})
}

// adopt serves the content of a Secret, and calls the listeners.
func (c *Controller) adopt(secret *corev1.Secret) {
	next := &content{cert: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey],
		bundle: secret.Data[caCert]}
	if current := c.current.Swap(next); current != nil && current.equal(next) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, listener := range c.listeners {
		listener.Enqueue()
	}
}

// reportUntrusted logs why a due certificate is not replaced, once for each reason: it expires, and the API with
// it, unless clients trust the CA.
func (c *Controller) reportUntrusted(ctx context.Context, reason error, leaf *certificates.Pair, now time.Time) {
	logger := klog.FromContext(ctx)
	if !leaf.RenewalDue(now) {
		logger.V(2).Info("The serving certificate is not replaced before clients trust its CA", "reason", reason)
		return
	}
	if text := fmt.Sprint(reason); text != c.untrusted {
		logger.Error(reason, "The serving certificate is due and cannot be replaced before clients trust its CA", "secret",
			klog.KRef(c.config.Namespace, c.config.Name), "expires", leaf.NotAfter)
		c.untrusted = text
	}
}
