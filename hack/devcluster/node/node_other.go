//go:build !linux

package node

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
)

// errLinuxOnly is returned by every function that needs Linux' namespaces.
var errLinuxOnly = errors.New("a real node requires Linux: use NODE=simulated")

// Suitable returns an error: a node requires Linux.
func Suitable(context.Context, string) error { return errLinuxOnly }

// EnsurePrograms fails: see Suitable.
func EnsurePrograms(context.Context, func(string)) error { return errLinuxOnly }

// Init fails: see Suitable.
func Init() error { return errLinuxOnly }

// Enter fails: see Suitable.
func Enter(int) error { return errLinuxOnly }

// Isolate does nothing: see Suitable.
func Isolate(*syscall.SysProcAttr) {}

// Run fails: see Suitable.
func Run(context.Context, int, string, ...string) (string, error) { return "", errLinuxOnly }

// Apt fails: see Suitable.
func Apt(context.Context, ...string) (string, error) { return "", errLinuxOnly }

// Ready fails: see Suitable.
func Ready(int) error { return errLinuxOnly }

// DiskSize fails: see Suitable.
func DiskSize(string) (uint64, error) { return 0, errLinuxOnly }

// FileIn returns the path itself: there are no nodes here.
func FileIn(_ int, path string) string { return path }

// Link is the pair of virtual interfaces between the host and a node.
type Link struct {
	Name string
	Addresses
	Services string
}

// Taken fails: see Suitable.
func (Link) Taken() ([]netip.Prefix, error) { return nil, errLinuxOnly }

// Connect fails: see Suitable.
func (Link) Connect(int) error { return errLinuxOnly }

// Exists is false: see Suitable.
func (Link) Exists() bool { return false }

// Remove has nothing to remove.
func (Link) Remove() error { return nil }
