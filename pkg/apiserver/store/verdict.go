package store

import (
	"fmt"
	"strings"
	"time"
)

// Reasons why a server is closed; they appear in the event, the metric and the log.
const (
	// ReasonUnverified is before the store was reached for the first time.
	ReasonUnverified = "StoreUnverified"
	// ReasonHostUnreachable is while the host cluster does not answer which store
	// is the right one.
	ReasonHostUnreachable = "HostUnreachable"
	// ReasonEmpty is for a store without a Website and without a record.
	ReasonEmpty = "StoreEmpty"
	// ReasonForeign is for a store of another identity, or of none.
	ReasonForeign = "StoreForeign"
	// ReasonOutdated is for an earlier copy of the right store, or for the right one if an earlier version has
	// recorded it and the host cluster was restored to an earlier state.
	ReasonOutdated = "StoreOutdated"
	// ReasonHostOutdated is for the right store after the host cluster was restored to an earlier state.
	ReasonHostOutdated = "HostOutdated"
	// ReasonUnknownOwners is for a store without some of the Websites that own
	// objects of the cluster.
	ReasonUnknownOwners = "UnknownOwners"
	// ReasonUnreadable is for a store whose Websites cannot be decoded.
	ReasonUnreadable = "StoreUnreadable"
)

// Closed is the reason why a server answers no request for Websites.
type Closed struct {
	// Reason is one of the constants above.
	Reason string
	// Message describes the finding, with names of any namespace. It is for operators.
	Message string
}

// findings has the meaning of each reason.
var findings = map[string]string{
	ReasonUnverified:      "the store has not been reached yet",
	ReasonHostUnreachable: "the host cluster does not answer which store is the right one",
	ReasonEmpty:           "the store is empty, and the cluster was served from another one",
	ReasonForeign:         "the store is not the one that the cluster was served from",
	ReasonOutdated: "the store is an earlier copy of the one that the cluster was served from, or the host " +
		"cluster was restored to an earlier state",
	ReasonHostOutdated:  "the host cluster has an earlier record of the store: it was restored to an earlier state",
	ReasonUnknownOwners: "the store does not have all Websites of the cluster",
	ReasonUnreadable:    "the Websites in the store cannot be read",
}

// forClients returns what users of any one namespace may know.
func (c *Closed) forClients() string {
	if c.Reason == ReasonUnverified {
		return findings[c.Reason]
	}
	return findings[c.Reason] + "; the log of website-apiserver and the events of the ConfigMap website-store say more, " +
		"as does \"website-apiserver store check\""
}

// adviceHostOutdated ends the message for a host cluster that was restored.
const adviceHostOutdated = "list with \"website-apiserver store check\" what is deleted with this store, and open it " +
	"with \"website-apiserver store accept\""

// advice ends the message of a store that is not the right one.
const advice = "bring the right store back and the server opens by itself, or list with \"website-apiserver store " +
	"check\" what would be deleted without it, and open this one with \"website-apiserver store accept\""

func (c *Closed) advice() string {
	if c.Reason == ReasonHostOutdated {
		return adviceHostOutdated
	}
	return advice
}

// compare returns nil if host names the store with this content, and otherwise
// the difference.
func compare(host HostRecord, c content) *Closed {
	switch {
	case host.names(c.record):
		return nil
	case c.record == nil && c.websites == 0:
		return &Closed{
			ReasonEmpty, fmt.Sprintf("the store is empty, and the cluster was served from the store %s", host.Identity),
		}
	case c.record == nil:
		return &Closed{ReasonForeign, fmt.Sprintf("the store has %d Websites and no identity, and the cluster was served "+
			"from the store %s: it is another one, or a copy from before stores had an identity", c.websites, host.Identity)}
	case c.record.Identity != host.Identity:
		return &Closed{ReasonForeign, fmt.Sprintf("the store is %s, and the cluster was served from the store %s: it is "+
			"another one, or the host cluster was restored to a state from before this one was accepted", c.record.Identity,
			host.Identity)}
	default:
		return compareTimes(host, *c.record)
	}
}

// compareTimes returns which of two records of one store is the earlier one.
func compareTimes(host HostRecord, r Record) *Closed {
	switch {
	case strings.HasPrefix(r.Nonce, RestoredNonce):
		return &Closed{ReasonOutdated, fmt.Sprintf("the store %s was restored from a snapshot, of %s", host.Identity,
			formatTime(r.RecordedAt))}
	case host.RecordedAt.IsZero() || r.RecordedAt.IsZero():
		return &Closed{ReasonOutdated, fmt.Sprintf("the store %s does not have the last nonce that was recorded: it is an "+
			"earlier copy, or the host cluster was restored to an earlier state, and the store is the current one",
			host.Identity)}
	case r.RecordedAt.After(host.RecordedAt):
		return &Closed{ReasonHostOutdated, fmt.Sprintf("the host cluster has an earlier record of the store %s, of %s, and "+
			"the store was recorded at %s: the host cluster was restored to an earlier state, and the store is later",
			host.Identity, formatTime(host.RecordedAt), formatTime(r.RecordedAt))}
	default:
		return &Closed{
			ReasonOutdated, fmt.Sprintf("the store %s is an earlier copy: it was recorded at %s, and the host cluster has a "+
				"record of %s", host.Identity, formatTime(r.RecordedAt), formatTime(host.RecordedAt)),
		}
	}
}

func formatTime(at time.Time) string {
	if at.IsZero() {
		return "a time that was not recorded"
	}
	return at.Format(time.RFC3339)
}

// adoptable returns nil if a store can be taken for the right one of a cluster
// that has no record of any: nothing that is owned would lose its owner.
func adoptable(c content, owned, unknown []OwnedObject, websites int) *Closed {
	switch {
	case len(unknown) > 0 && websites == 0:
		return &Closed{ReasonEmpty, fmt.Sprintf("the store is empty, and %s", summary(unknown))}
	case len(unknown) > 0:
		return &Closed{ReasonUnknownOwners,
			fmt.Sprintf("the store does not have all Websites of the cluster: %s that it does not have", summary(unknown))}
	case c.record != nil && websites > 0 && len(owned) == 0:
		return &Closed{ReasonForeign, fmt.Sprintf("the store %s has %d Websites, and the cluster has neither a record of "+
			"it nor an object that they own: it may serve another cluster", c.record.Identity, websites)}
	default:
		return nil
	}
}

func summary(unknown []OwnedObject) string {
	first := unknown[0]
	return fmt.Sprintf("%d objects of the cluster, such as %s %s/%s, are owned by Websites", len(unknown), first.Resource,
		first.Namespace, first.Name)
}
