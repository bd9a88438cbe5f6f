package store

import (
	"context"
	"fmt"
	"path"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// importing is the key that a store has while Websites are imported into it. A store
// with half of them is not to be accepted: the children of the others would be deleted.
func (k keys) importing() string {
	return path.Join("/", k.prefix, "website-apiserver", "import")
}

// copied is the key of a store that has nothing but copies of Websites which another API
// server serves.
func (k keys) copied() string {
	return path.Join("/", k.prefix, "website-apiserver", "copy")
}

// CopySource returns the source of the Websites of the store, empty if they are no copies.
func CopySource(ctx context.Context, client *clientv3.Client, prefix string) (string, error) {
	response, err := client.Get(ctx, keys{prefix}.copied())
	if err != nil {
		return "", fmt.Errorf("reading what the store has copies of: %w", err)
	}
	if len(response.Kvs) == 0 {
		return "", nil
	}
	return string(response.Kvs[0].Value), nil
}

// BeginCopy marks the Websites of the store as copies.
func BeginCopy(ctx context.Context, client *clientv3.Client, prefix, source string) error {
	if _, err := client.Put(ctx, keys{prefix}.copied(), source); err != nil {
		return fmt.Errorf("marking the Websites of the store as copies: %w", err)
	}
	return nil
}

// EndCopy marks the Websites of the store as the originals.
func EndCopy(ctx context.Context, client *clientv3.Client, prefix string) error {
	if _, err := client.Delete(ctx, keys{prefix}.copied()); err != nil {
		return fmt.Errorf("marking the Websites of the store as the originals: %w", err)
	}
	return nil
}

// BeginImport marks the store as incomplete. The description is for operators.
func BeginImport(ctx context.Context, client *clientv3.Client, prefix, description string) error {
	if _, err := client.Put(ctx, keys{prefix}.importing(), description); err != nil {
		return fmt.Errorf("marking the store as incomplete: %w", err)
	}
	return nil
}

// EndImport marks the store as complete.
func EndImport(ctx context.Context, client *clientv3.Client, prefix string) error {
	if _, err := client.Delete(ctx, keys{prefix}.importing()); err != nil {
		return fmt.Errorf("marking the store as complete: %w", err)
	}
	return nil
}

// incomplete describes the import that was not completed, empty if there is none.
func (k keys) incomplete(ctx context.Context, client *clientv3.Client) (string, error) {
	response, err := client.Get(ctx, k.importing())
	if err != nil {
		return "", fmt.Errorf("looking for an incomplete import: %w", err)
	}
	if len(response.Kvs) == 0 {
		return "", nil
	}
	return string(response.Kvs[0].Value), nil
}
