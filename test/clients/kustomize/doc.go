// Package kustomize tests the shipped kustomize components with kustomize's library.
package kustomize
