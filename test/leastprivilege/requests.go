package leastprivilege

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Requests returns the successful and the forbidden requests of a user in
// audit logs.
func Requests(user string, auditLogs ...string) (used sets.Set[Rule], forbidden []string, err error) {
	used = sets.New[Rule]()
	for _, auditLog := range auditLogs {
		err := EachRequest(user, auditLog, func(event auditv1.Event) {
			rule := RuleOf(event)
			used.Insert(rule)
			// Quotas and admission reject with the same code, but without this annotation.
			if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
				forbidden = append(forbidden, fmt.Sprintf("%s (%s/%s, in %s)", rule, event.ObjectRef.Namespace,
					event.ObjectRef.Name, filepath.Base(auditLog)))
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return used, forbidden, nil
}

// EachRequest calls do with each request of a user for a resource in an audit log: in the
// current file, and in the rotated ones.
func EachRequest(user, auditLog string, do func(auditv1.Event)) error {
	files, err := filepath.Glob(strings.TrimSuffix(auditLog, ".log") + "*.log")
	if err != nil {
		return err
	}
	for _, file := range files {
		err := eachAuditEvent(file, func(event auditv1.Event) {
			if event.User.Username == user && event.ObjectRef != nil {
				do(event)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func eachAuditEvent(path string, do func(auditv1.Event)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var event auditv1.Event
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		do(event)
	}
}
