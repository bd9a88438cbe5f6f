package agent

import "time"

// advancePublication begins to serve the target, once other replicas have it as well.
func (s *state) advancePublication(now time.Time) []action {
	target := s.target()
	if !s.isUnpublished() {
		s.clearHold()
		s.unpublished, s.publishAfter = nil, time.Time{}
		if s.current == s.pin.Commit {
			s.pin.failing = failing{}
		}
		return nil
	}
	if s.publishing || now.Before(s.publishAfter) {
		return nil
	}
	if s.prepared != target {
		s.publishing = true
		return []action{prepare{target}}
	}
	if s.held != target && s.mayHold(now) {
		s.held, s.released = target, false
		if s.holdUntil.IsZero() {
			s.holdUntil = now.Add(s.maxHold)
		}
	}
	if s.held == target && !s.released && now.Before(s.holdUntil) {
		return nil
	}
	s.publishing = true
	discard := s.replaced
	if s.needs(discard) || discard == target {
		discard = ""
	}
	return []action{publish{target, discard, s.pin.Commit}}
}

// mayHold reports whether there are other replicas to wait for. The first release is not held: nothing is served
// meanwhile.
func (s *state) mayHold(now time.Time) bool {
	hasHolder := s.holders > 0 || now.Sub(s.heldUntil) < holderGrace
	return s.current != "" && hasHolder && (s.holdUntil.IsZero() || now.Before(s.holdUntil))
}

func (s *state) clearHold() { s.held, s.released, s.holdUntil = "", false, time.Time{} }

// published handles the end of a switch.
func (s *state) published(e published, now time.Time) {
	s.prepared = ""
	if e.err != nil {
		reason, text := explain(e.err)
		s.unpublished, s.publishAfter = s.unpublished.next(reason, now, text), now.Add(publishBackoff)
		return
	}
	s.clearHold()
	s.unpublished, s.publishAfter = nil, time.Time{}
	s.current, s.publishedAt, s.about = e.commit, now, e.about
	s.releases, s.replaced = append([]string{e.commit}, without(s.releases, e.commit)...), e.replaced
	if s.spare == e.commit {
		s.spare = ""
	}
	if s.expected == e.commit {
		s.expected = ""
	}
}
