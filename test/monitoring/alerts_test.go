package monitoring

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	apiserver  = `job="website-apiserver",pod="website-apiserver-0"`
	controller = `job="website-controller"`
	etcd       = `job="website-etcd",pod="website-etcd-0"`
	renewal    = `job="website-etcd-certificates",pod="website-etcd-certificates-0"`
)

// series are the values of a series at each minute, as promtool reads them: "1+2x3" is 1 3 5 7.
type series map[string]string

// scenarios have the series in Prometheus while an alert fires, with its labels and
// summary, and while it does not.
var scenarios = map[string]struct {
	fires, silent series
	labels        map[string]string
	summary       string
}{
	"WebsiteAPIServerDown": {
		fires:   series{`up{` + apiserver + `}`: "0x90"},
		silent:  series{`up{` + apiserver + `}`: "1x90"},
		summary: "Prometheus reaches no website-apiserver",
	},
	"WebsiteAPIUnavailable": {
		fires:   series{`aggregator_unavailable_apiservice{name="v1beta1.mycontroller.nevermosby.io"}`: "1x90"},
		silent:  series{`aggregator_unavailable_apiservice{name="v1beta1.metrics.k8s.io"}`: "1x90"},
		labels:  map[string]string{"name": "v1beta1.mycontroller.nevermosby.io"},
		summary: "kube-apiserver does not reach the APIService v1beta1.mycontroller.nevermosby.io",
	},
	"WebsiteStoreClosed": {
		fires:   series{`website_apiserver_store_closed{` + apiserver + `,reason="StoreEmpty"}`: "1x90"},
		silent:  series{`website_apiserver_store_closed{` + apiserver + `,reason="StoreEmpty"}`: "0x90"},
		labels:  map[string]string{"pod": "website-apiserver-0", "reason": "StoreEmpty"},
		summary: "website-apiserver does not serve its store: StoreEmpty",
	},
	"WebsiteStoreUnreachable": {
		fires:   series{`website_apiserver_store_reachable{` + apiserver + `}`: "0x90"},
		silent:  series{`website_apiserver_store_reachable{` + apiserver + `}`: "1x90"},
		labels:  map[string]string{"job": "website-apiserver", "pod": "website-apiserver-0"},
		summary: "website-apiserver website-apiserver-0 does not reach its etcd",
	},
	"WebsiteStoreFull": {
		fires:   series{`apiserver_request_total{` + apiserver + `,code="507"}`: "0+1x90"},
		silent:  series{`website_apiserver_embedded_etcd_alarm_active{` + apiserver + `,alarm="NOSPACE"}`: "0x90"},
		summary: "writes of Websites are rejected, as the store is full",
	},
	"WebsiteStoreFilling": {
		fires: series{`website_apiserver_embedded_etcd_database_bytes{` + apiserver + `,state="in_use"}`: "1932735283x90"},
		silent: series{
			`website_apiserver_embedded_etcd_database_bytes{` + apiserver + `,state="allocated"}`: "1932735283x90",
		},
		summary: "the embedded etcd has 1.8GiB, of 2 GiB by default",
	},
	"WebsiteSnapshotsFailing": {
		fires:   series{`website_apiserver_embedded_etcd_snapshot_last_failed{` + apiserver + `}`: "1x90"},
		silent:  series{`website_apiserver_embedded_etcd_snapshot_last_failed{` + apiserver + `}`: "0x90"},
		summary: "the last snapshot of the embedded etcd failed",
	},
	"WebsiteAPIServerErrors": {
		// Requests without a resource are probes of the kubelet.
		fires: series{`apiserver_request_total{` + apiserver + `,resource="websites",code="503"}`: "0+6x90",
			`apiserver_request_total{` + apiserver + `,resource="websites",code="200"}`: "0+54x90",
			`apiserver_request_total{` + apiserver + `,code="200"}`:                     "0+999x90"},
		silent: series{
			`apiserver_request_total{` + apiserver + `,resource="websites",code="503"}`: "0+1x90",
			`apiserver_request_total{` + apiserver + `,resource="websites",code="200"}`: "0+54x90",
			// This is a request for a sync whose wait has ended.
			`apiserver_request_total{` + apiserver +
				`,resource="websites",subresource="sync",verb="CONNECT",code="504"}`: "0+6x90",
		},
		summary: "website-apiserver answers 10% of the requests for Websites with an error",
	},
	"WebsiteAPIServerSlow": {
		fires:   latency("LIST", "2"),
		silent:  latency("WATCH", "2"),
		labels:  map[string]string{"verb": "LIST"},
		summary: "99 % of LIST requests for Websites take up to 1.99s",
	},
	"WebsiteLargeWritesRejected": {
		fires:   series{`website_apiserver_large_writes_total{` + apiserver + `,result="rejected"}`: "0+1x90"},
		silent:  series{`website_apiserver_large_writes_total{` + apiserver + `,result="admitted"}`: "0+1x90"},
		summary: "writes of large Websites wait for their budget",
	},
	"WebsiteEtcdMemberDown": {
		// One member has no series, as its pod is not scheduled.
		fires: series{`up{` + etcd + `}`: "1x90", `up{job="website-etcd",pod="website-etcd-1"}`: "1x90"},
		silent: series{`up{` + etcd + `}`: "1x90", `up{job="website-etcd",pod="website-etcd-1"}`: "1x90",
			`up{job="website-etcd",pod="website-etcd-2"}`: "1x90"},
		summary: "Prometheus does not reach 1 of 3 members of etcd",
	},
	"WebsiteEtcdNoLeader": {
		fires: series{`etcd_server_has_leader{` + etcd + `}`: "0x90"},
		silent: series{`etcd_server_has_leader{` + etcd + `}`: "0x90",
			`etcd_server_has_leader{job="website-etcd",pod="website-etcd-1"}`: "1x90"},
		summary: "no member of etcd is the leader",
	},
	"WebsiteEtcdLeaderChanges": {
		fires:   series{`etcd_server_leader_changes_seen_total{` + etcd + `}`: "0+1x90"},
		silent:  series{`etcd_server_leader_changes_seen_total{` + etcd + `}`: "7x90"},
		summary: "the leader of etcd has changed 15 times within 15 minutes",
	},
	"WebsiteEtcdSlowDisk": {
		fires:   fsync("1"),
		silent:  fsync("0.25"),
		labels:  map[string]string{"pod": "website-etcd-0"},
		summary: "the disk of member website-etcd-0 of etcd takes up to 995ms for a write",
	},
	"WebsiteEtcdFilling": {
		fires: series{`etcd_mvcc_db_total_size_in_bytes{` + etcd + `}`: "1717986918x90",
			`etcd_server_quota_backend_bytes{` + etcd + `}`: "2147483648x90"},
		silent: series{`etcd_mvcc_db_total_size_in_bytes{` + etcd + `}`: "1073741824x90",
			`etcd_server_quota_backend_bytes{` + etcd + `}`: "2147483648x90"},
		labels:  map[string]string{"pod": "website-etcd-0"},
		summary: "80% of the quota of member website-etcd-0 of etcd are in use",
	},
	"WebsiteEtcdCertificatesDown": {
		fires:   series{`up{` + etcd + `}`: "1x90", `up{` + renewal + `}`: "0x90"},
		silent:  series{`up{` + etcd + `}`: "1x90", `up{` + renewal + `}`: "1x90"},
		summary: "nothing renews the certificates of etcd",
	},
	"WebsiteEtcdCertificateExpiring": {
		// Time begins at 0.
		fires: series{
			`website_etcd_certificate_expiration_timestamp_seconds{` + renewal + `,secret="website-etcd-server"}`: "868800x90",
		},
		silent: series{
			`website_etcd_certificate_expiration_timestamp_seconds{` + renewal + `,secret="website-etcd-server"}`: "7776000x90",
		},
		labels:  map[string]string{"secret": "website-etcd-server"},
		summary: "the certificate in Secret website-etcd-server expires in 10d 0h 0m 0s",
	},
	"WebsiteEtcdCAExpiring": {
		fires: series{
			`website_etcd_certificate_expiration_timestamp_seconds{` + renewal + `,secret="website-etcd-ca"}`: "8644800x90",
		},
		silent: series{
			`website_etcd_certificate_expiration_timestamp_seconds{` + renewal + `,secret="website-etcd-ca"}`: "31536000x90",
		},
		labels:  map[string]string{"secret": "website-etcd-ca"},
		summary: "the CA in Secret website-etcd-ca expires in 100d 0h 0m 0s, and nothing replaces it",
	},
	"WebsiteControllerDown": {
		fires:   series{`up{` + apiserver + `}`: "1x90"},
		silent:  series{`up{` + controller + `,pod="a"}`: "0x90", `up{` + controller + `,pod="b"}`: "1x90"},
		summary: "Prometheus reaches no website-controller",
	},
	"WebsiteControllerNoLeader": {
		fires:   series{leader("a"): "0x90", leader("b"): "0x90"},
		silent:  series{leader("a"): "0x90", leader("b"): "1x90"},
		summary: "no website-controller is the leader",
	},
	"WebsiteControllerErrors": {
		fires:   series{`website_controller_reconciles_total{` + controller + `,result="error"}`: "0+1x90"},
		silent:  series{`website_controller_reconciles_total{` + controller + `,result="success"}`: "0+1x90"},
		summary: "reconciliations of Websites keep failing",
	},
	"WebsiteControllerBacklog": {
		fires:   series{`workqueue_depth{` + controller + `,name="websites"}`: "7x90"},
		silent:  series{`workqueue_depth{` + controller + `,name="websites"}`: "7 0 3 0x90"},
		summary: "7 Websites wait to be reconciled",
	},
	"WebsiteControllerConflict": {
		fires: series{
			`website_controller_child_writes_total{` + controller + `,kind="Service",operation="updated"}`: "0+120x90",
		},
		silent: series{
			`website_controller_child_writes_total{` + controller + `,kind="Service",operation="updated"}`: "0+30x90",
		},
		labels:  map[string]string{"kind": "Service"},
		summary: "website-controller updates Service objects 2 times a second",
	},
	"WebsiteControllerForbidden": {
		fires:   series{`rest_client_requests_total{` + controller + `,code="403"}`: "0+1x90"},
		silent:  series{`rest_client_requests_total{` + controller + `,code="409"}`: "0+1x90"},
		summary: "requests of website-controller are forbidden",
	},
	"WebsiteRolloutsStuck": {
		fires:   series{`website_controller_limited_rollouts{` + controller + `,state="pending"}`: "40x90"},
		silent:  series{`website_controller_limited_rollouts{` + controller + `,state="pending"}`: "200-2x90"},
		labels:  map[string]string{"job": "website-controller", "state": "pending"},
		summary: "40 rollouts wait, and none has started within an hour",
	},
	"WebsitesUnavailable": {
		fires: series{websites("Available", "False", "ImageUnavailable"): "1x90",
			websites("Available", "True", "MinimumReplicasAvailable"): "99x90"},
		// One user has caused these.
		silent: series{websites("Available", "True", "MinimumReplicasAvailable"): "2x90",
			websites("Available", "False", "Unschedulable"): "4x90"},
		labels:  map[string]string{"reason": "ImageUnavailable"},
		summary: "1 Websites have too few ready pods: ImageUnavailable",
	},
	"WebsitesNotReady": {
		// This is a tenth of them.
		fires: series{websites("Ready", "False", "RepositoryUnreachable"): "6x90",
			websites("Ready", "False", "NameTaken"): "5x90", websites("Ready", "True", "Serving"): "48x90"},
		silent: series{
			websites("Ready", "False", "RefNotFound"): "4x90", websites("Ready", "False", "NameTaken"): "4x90",
			websites("Ready", "False", "HostTaken"): "4x90",
			websites("Ready", "Unknown", "Pending"): "3x90",
		},
		labels:  map[string]string{"reason": "RepositoryUnreachable"},
		summary: "6 Websites are not ready: RepositoryUnreachable",
	},
	"WebsitesNotSynced": {
		fires: series{websites("Synced", "False", "RepositoryTimedOut"): "11x90",
			websites("Synced", "True", "CommitPublished"): "90x90"},
		silent: series{websites("Synced", "False", "RefNotFound"): "4x90",
			websites("Synced", "Unknown", "NoReadyPods"): "90x90"},
		labels:  map[string]string{"reason": "RepositoryTimedOut"},
		summary: "11 Websites do not serve the current commit of their repository: RepositoryTimedOut",
	},
	"WebsitesNotRouted": {
		fires: series{websites("Routed", "Unknown", "RoutePending"): "5x90",
			websites("Routed", "True", "HostsRouted"): "40x90"},
		silent: series{
			websites("Routed", "False", "HostTaken"): "1x90", websites("Routed", "False", "GatewayNotFound"): "1x90",
			websites("Routed", "True", "DNSElsewhere"): "9x90",
		},
		labels:  map[string]string{"reason": "RoutePending"},
		summary: "requests for the hosts of 5 Websites do not reach them: RoutePending",
	},
	"WebsitesPreviewsFailing": {
		fires: series{websites("PreviewsReady", "False", "AccessDenied"): "1x90",
			websites("PreviewsReady", "True", "PreviewsCurrent"): "9x90"},
		silent: series{websites("PreviewsReady", "False", "QuotaExceeded"): "1x90",
			websites("PreviewsReady", "Unknown", "Suspended"): "9x90"},
		labels:  map[string]string{"reason": "AccessDenied"},
		summary: "previews of 1 Websites are missing: AccessDenied",
	},
	"WebsitesFailing": {
		fires: series{websites("Routed", "False", "HostTaken"): "1x90"},
		silent: series{websites("Routed", "Unknown", "RoutePending"): "1x90",
			websites("Progressing", "False", "RolloutComplete"): "9x90"},
		labels:  map[string]string{"condition": "Routed", "reason": "HostTaken"},
		summary: "1 Websites have Routed=False: HostTaken",
	},
	"WebsiteCertificatesExpiring": {
		fires: series{certificates("Issuer", "Expiring"): "2x90", certificates("Issuer", "Valid"): "7x90"},
		silent: series{certificates("Secret", "Expired"): "2x90", certificates("Issuer", "Expired"): "0x90",
			certificates("Issuer", "Valid"): "7x90"},
		labels:  map[string]string{"tls_mode": "Issuer", "state": "Expiring"},
		summary: "the certificates of 2 hosts with tls.mode Issuer are Expiring",
	},
	"WebsiteRequestsRefused": {
		fires: series{
			`website_agent_requests_refused_total{job="website-nginx",namespace="team-a",website="shop"}`: "0+4x90",
		},
		silent: series{
			`website_agent_requests_refused_total{job="website-nginx",namespace="team-a",website="shop"}`: "0+1x90",
		},
		labels:  map[string]string{"job": "website-nginx", "namespace": "team-a", "website": "shop"},
		summary: "a pod of Website team-a/shop has refused 60 requests within 15 minutes",
	},
}

// latency returns a histogram of requests that all took between one second and the limit.
func latency(verb, limit string) series {
	name := `apiserver_request_duration_seconds_bucket{` + apiserver + `,resource="websites",verb="` + verb + `",le="`
	return series{name + `1"}`: "0x90", name + limit + `"}`: "0+60x90", name + `+Inf"}`: "0+60x90"}
}

// fsync returns a histogram of writes to a disk, which all took half of the limit or more.
func fsync(limit string) series {
	name := `etcd_disk_wal_fsync_duration_seconds_bucket{` + etcd + `,le="`
	half := map[string]string{"1": "0.5", "0.25": "0.125"}[limit]
	return series{name + half + `"}`: "0x90", name + limit + `"}`: "0+60x90", name + `+Inf"}`: "0+60x90"}
}

func leader(pod string) string {
	return `leader_election_master_status{` + controller + `,name="website-controller",pod="` + pod + `"}`
}

func websites(condition, status, reason string) string {
	return `website_controller_websites{` + controller + `,condition="` + condition + `",status="` + status +
		`",reason="` + reason + `"}`
}

func certificates(mode, state string) string {
	return `website_controller_host_certificates{` + controller + `,tls_mode="` + mode + `",state="` + state + `"}`
}

// TestAlerts checks the rules with promtool, and evaluates them for an hour and a half
// while each alert fires, and while it does not.
func TestAlerts(t *testing.T) {
	promtool := Program(t, "promtool")
	rules, file := Rules(t)
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Fatalf("promtool check rules: %v\n%s", err, out)
	}
	if len(rules) != len(scenarios) {
		t.Errorf("there are %d rules and %d scenarios", len(rules), len(scenarios))
	}
	for _, rule := range rules {
		t.Run(rule.Alert, func(t *testing.T) {
			t.Parallel()
			scenario, found := scenarios[rule.Alert]
			if !found {
				t.Fatal("no scenario has this alert fire")
			}
			labels := map[string]string{"severity": rule.Labels["severity"]}
			maps.Copy(labels, scenario.labels)
			firing := map[string]any{"exp_labels": labels, "exp_annotations": map[string]string{
				"summary": scenario.summary, "runbook_url": rule.Annotations["runbook_url"],
			}}
			// Promtool evaluates all rules of a file each minute.
			dir := t.TempDir()
			alone, path := filepath.Join(dir, "rule.yaml"), filepath.Join(dir, "test.yaml")
			group, err := yaml.Marshal(map[string]any{
				"groups": []any{map[string]any{"name": "group", "rules": []any{rule}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			framework.WriteFile(t, alone, group)
			content, err := yaml.Marshal(map[string]any{
				"rule_files":          []string{alone},
				"evaluation_interval": "1m",
				"tests": []any{
					test("fires", rule.Alert, scenario.fires, firing),
					test("is silent", rule.Alert, scenario.silent),
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			framework.WriteFile(t, path, content)
			if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput(); err != nil {
				t.Errorf("promtool test rules: %v\n%s", err, out)
			}
		})
	}
}

// test expects alerts 80 minutes after the first sample.
func test(name, alert string, input series, alerts ...any) map[string]any {
	var list []map[string]string
	for _, key := range slices.Sorted(maps.Keys(input)) {
		list = append(list, map[string]string{"series": key, "values": input[key]})
	}
	return map[string]any{
		"name": name, "interval": "1m", "input_series": list,
		"alert_rule_test": []any{map[string]any{"eval_time": "80m", "alertname": alert, "exp_alerts": alerts}},
	}
}

// TestRunbooks: the annotation of each alert links to an entry with its meaning, the
// diagnosis and the remedy.
func TestRunbooks(t *testing.T) {
	data, err := os.ReadFile(framework.Path("docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, entry := range regexp.MustCompile(`(?m)^### `).Split(string(data), -1)[1:] {
		name, text, _ := strings.Cut(entry, "\n")
		entries[name] = text
	}
	rules, _ := Rules(t)
	for _, rule := range rules {
		want := "https://github.com/kubesites/website-apiserver/blob/main/docs/alerts.md#" + strings.ToLower(rule.Alert)
		if got := rule.Annotations["runbook_url"]; got != want {
			t.Errorf("the runbook of %s is %s, want %s", rule.Alert, got, want)
		}
		for _, part := range []string{"- **Means:**", "- **Look at:**", "- **Do:**"} {
			if !strings.Contains(entries[rule.Alert], part) {
				t.Errorf("the entry of %s lacks %q", rule.Alert, part)
			}
		}
		delete(entries, rule.Alert)
	}
	if len(entries) > 0 {
		t.Errorf("entries without an alert: %v", slices.Sorted(maps.Keys(entries)))
	}
}

// TestReasons: the rules name existing reasons.
func TestReasons(t *testing.T) {
	data, err := os.ReadFile(framework.Path("pkg", "apis", "website", "v1beta1", "reasons.go"))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := Rules(t)
	named := 0
	for _, rule := range rules {
		for _, match := range regexp.MustCompile(`reason[=!]~"([^"]*)"`).FindAllStringSubmatch(rule.Expr, -1) {
			for reason := range strings.SplitSeq(match[1], "|") {
				named++
				if !strings.Contains(string(data), `= "`+reason+`"`) {
					t.Errorf("%s: there is no reason %s", rule.Alert, reason)
				}
			}
		}
	}
	if named == 0 {
		t.Error("no rule names a reason")
	}
}

func TestMetricNames(t *testing.T) {
	for expression, want := range map[string][]string{
		`max by (pod, reason) (closed{job="up"}) == 1`:                     {"closed"},
		`sum(rate(a_total{code=~"5.."}[5m])) / sum(rate(b_total[5m])) > 1`: {"a_total", "b_total"},
		`min_over_time(a{x="y"}[1h]) > 0 and delta(a{x="y"}[1h]) >= 0`:     {"a"},
		`absent (up == 1) or vector`:                                       {"up", "vector"},
	} {
		if got := Metrics(expression); !slices.Equal(got, want) {
			t.Errorf("Metrics(%s) = %v, want %v", expression, got, want)
		}
	}
}
