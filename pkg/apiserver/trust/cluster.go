// Package trust follows the ConfigMap kube-system/extension-apiserver-authentication,
// in which kube-apiserver publishes the CAs of its clients and of its front proxy.
//
// The controllers of k8s.io/apiserver read it only after the server listens, so the
// first users are anonymous, and they keep the last CA when the ConfigMap is deleted.
// Here, requests get 503 until the CAs are read, and from the deletion on.
package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	namespace = metav1.NamespaceSystem
	name      = "extension-apiserver-authentication"
	// source names the ConfigMap in messages.
	source = "configmap " + namespace + "/" + name
)

// The keys of the ConfigMap.
const (
	clientCAKey            = "client-ca-file"
	proxyCAKey             = "requestheader-client-ca-file"
	usernameHeadersKey     = "requestheader-username-headers"
	uidHeadersKey          = "requestheader-uid-headers"
	groupHeadersKey        = "requestheader-group-headers"
	extraHeaderPrefixesKey = "requestheader-extra-headers-prefix"
	allowedNamesKey        = "requestheader-allowed-names"
)

// defaultUIDHeader is the header in which kube-apiserver sends the UID of a user. It removes a client's own, so that
// clusters which publish no name for it, such as kubeadm's, can read it safely.
const defaultUIDHeader = "X-Remote-Uid"

// Config selects the CAs to read from the cluster.
type Config struct {
	// Clients is set if the cluster's client CA is trusted.
	Clients bool
	// Proxy is set if the cluster's front proxy is trusted.
	Proxy bool
	// Optional serves all users as anonymous ones until the CAs are read.
	Optional bool
}

// Cluster provides the CAs that the cluster publishes. Make one with New, and call Run
// while the server runs.
type Cluster struct {
	config   Config
	informer cache.SharedIndexInformer
	clientCA authority
	proxyCA  authority

	// reading admits one reader at a time, so that the last one has read the latest state.
	reading sync.Mutex

	mu      sync.RWMutex
	headers map[string][]string
	// unknown is the reason why the CAs are not known; nil if they are.
	unknown error
	// changed is closed, and replaced, when unknown changes.
	changed chan struct{}
}

// New returns a Cluster that trusts no client certificate until Run has read the ConfigMap. It
// returns an error when its informer cannot be set up.
func New(client kubernetes.Interface, config Config) (*Cluster, error) {
	c := &Cluster{
		config:   config,
		clientCA: authority{name: "client-ca"},
		proxyCA:  authority{name: "request-header"},
		unknown:  errors.New(source + " has not been read yet"),
		changed:  make(chan struct{}),
	}
	c.informer = coreinformers.NewFilteredConfigMapInformer(client, namespace, 0, cache.Indexers{},
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		})
	_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.read() },
		UpdateFunc: func(any, any) { c.read() },
		DeleteFunc: func(any) { c.read() },
	})
	if err == nil {
		err = c.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			cache.DefaultWatchErrorHandler(ctx, r, err)
			if !c.informer.HasSynced() {
				c.setUnknown(fmt.Errorf("reading %s: %w", source, err))
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", source, err)
	}
	return c, nil
}

// Run follows the ConfigMap until ctx ends.
func (c *Cluster) Run(ctx context.Context) {
	var informer sync.WaitGroup
	informer.Go(func() { c.informer.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		// Without the ConfigMap there is no event.
		c.read()
	}
	informer.Wait()
}

// Wait waits until the CAs are known, or ctx ends.
func (c *Cluster) Wait(ctx context.Context) {
	for {
		c.mu.RLock()
		unknown, changed := c.unknown, c.changed
		c.mu.RUnlock()
		if unknown == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// Unknown returns the reason why no user can be authenticated, or nil.
func (c *Cluster) Unknown() error {
	if c.config.Optional {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.unknown
}

// ClientCA provides the CA of the cluster's clients.
func (c *Cluster) ClientCA() dynamiccertificates.CAContentProvider { return &c.clientCA }

// RequestHeader configures the authentication of the users that the front proxy names.
func (c *Cluster) RequestHeader() *authenticatorfactory.RequestHeaderConfig {
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   &c.proxyCA,
		UsernameHeaders:     c.header(usernameHeadersKey),
		UIDHeaders:          c.header(uidHeadersKey),
		GroupHeaders:        c.header(groupHeadersKey),
		ExtraHeaderPrefixes: c.header(extraHeaderPrefixesKey),
		AllowedClientNames:  c.header(allowedNamesKey),
	}
}

func (c *Cluster) header(key string) headerrequest.StringSliceProvider {
	return headerrequest.StringSliceProviderFunc(func() []string {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return c.headers[key]
	})
}

// read applies the ConfigMap of the informer.
func (c *Cluster) read() {
	c.reading.Lock()
	defer c.reading.Unlock()
	object, exists, err := c.informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		c.apply(nil, errors.New(source+" does not exist"))
		return
	}
	data := object.(*corev1.ConfigMap).Data
	var missing error
	switch {
	case c.config.Proxy && data[proxyCAKey] == "":
		missing = fmt.Errorf("%s has no %s", source, proxyCAKey)
	case c.config.Proxy && data[usernameHeadersKey] == "":
		missing = fmt.Errorf("%s has no %s", source, usernameHeadersKey)
	}
	c.apply(data, missing)
}

func (c *Cluster) apply(data map[string]string, unknown error) {
	headers := map[string][]string{}
	for _, key := range []string{usernameHeadersKey, uidHeadersKey, groupHeadersKey, extraHeaderPrefixesKey,
		allowedNamesKey} {
		if data[key] == "" {
			continue
		}
		var values []string
		if err := json.Unmarshal([]byte(data[key]), &values); err != nil {
			unknown = errors.Join(unknown, fmt.Errorf("reading %s of %s: %w", key, source, err))
		}
		headers[key] = values
	}
	if len(headers[uidHeadersKey]) == 0 {
		headers[uidHeadersKey] = []string{defaultUIDHeader}
	}
	clientCA, err := parse(data[clientCAKey])
	if err != nil {
		unknown = errors.Join(unknown, fmt.Errorf("reading %s of %s: %w", clientCAKey, source, err))
	}
	proxyCA, err := parse(data[proxyCAKey])
	if err != nil {
		unknown = errors.Join(unknown, fmt.Errorf("reading %s of %s: %w", proxyCAKey, source, err))
	}
	if unknown != nil {
		// From here on, requests get 503. The users of those that came before are authenticated as before: without
		// the CAs they would be anonymous, and get 403.
		c.setUnknown(unknown)
		if !c.config.Optional {
			return
		}
		clientCA, proxyCA = nil, nil
	} else {
		c.mu.Lock()
		c.headers = headers
		c.mu.Unlock()
	}
	// A client withholds its certificate if the server names other CAs only: it names both CAs, or none.
	c.clientCA.bundle.Store(clientCA)
	c.proxyCA.bundle.Store(proxyCA)
	c.clientCA.notify()
	c.proxyCA.notify()
	c.setUnknown(unknown)
}

// setUnknown records whether the CAs are known.
func (c *Cluster) setUnknown(unknown error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.unknown
	c.unknown = unknown
	switch {
	case unknown == nil && was == nil:
		return
	case unknown == nil:
		klog.Background().Info("Users can be authenticated", "source", source)
	case was == nil || was.Error() != unknown.Error():
		klog.Background().Error(unknown, "No user can be authenticated: requests are answered with 503")
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
