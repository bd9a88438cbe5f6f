package main

import "time"

// suite is a group of tests that the runner starts, reports and times as one.
type suite struct {
	name, about string
	// steps run one after the other, also after a step has failed.
	steps []step
	// budget is the expected duration of the suite on two cores. A suite over its budget is marked.
	budget time.Duration
	// long suites run with "make test-long" only.
	long bool
	// needs names a resource that one suite at a time can use.
	needs string
	// alone is set for a suite that fails beside any other.
	alone bool
	// tools are arguments of hack/test-tools.sh.
	tools []string
	// cluster are flags of "devcluster up". If they are set, the runner starts one development
	// cluster for all steps, which get its directory as -cluster, and stops it afterwards.
	cluster []string
}

// step is one run of go test, or a command.
type step struct {
	// command runs at the root of the checkout in place of go test, and counts as one test.
	command []string
	// module is a directory, relative to the root of the repository.
	module string
	// packages are patterns as go test takes them, relative to module: ".", "./x" or "./x/...".
	packages []string
	// tests are the tests that run; each of them must exist. Default: all.
	tests []string
	// flags are further flags of go test.
	flags []string
	// args are flags of the test binaries, after -args.
	args []string
	// env is added to the environment.
	env []string
	// race enables the race detector on machines with a C compiler.
	race bool
	// cached accepts results from the cache of go test. It has none for tests in random order, so these tests
	// run in the order of their files. It is for tests that read no files outside their module, such as
	// artifacts, whose changes the cache does not detect.
	cached bool
}

// node is a real node of the development cluster. Two at once starve the pods.
const node = "node"

// unitFlags run more than two tests at once: some wait most of the time, and both processors are used.
var unitFlags = []string{"-p=4", "-parallel=6"}

// suites are in the order in which they start. Those on a real node run one after the other and take longest, so e2e
// comes first. It starts beside the suites that wait most of the time, robustness and outage. Those that need the
// processors come last, short ones at the end, so that both are busy until the end. Two run at once by default: with
// three, all take as long together, and each of them half as long again, nearer to the timeouts of its tests.
var suites = []suite{
	{
		name: "e2e", about: "pages from git repositories", budget: 12 * time.Minute, needs: node,
		tools: []string{"chromium", "prometheus"},
		// More concurrent tests starve the pods, whose fetches then miss their
		// deadlines. The order is not shuffled: most of a run would have to be
		// repeated to reproduce it.
		steps: []step{{
			module: "test", packages: []string{"./e2e/..."}, flags: []string{"-timeout=40m", "-parallel=6", "-shuffle=off"},
		}},
	},
	{
		name: "robustness", about: "promises to clients while servers, etcd and network fail", budget: 5 * time.Minute,
		steps: []step{{module: "test", packages: []string{"./robustness"}, flags: []string{"-timeout=40m"}}},
	},
	{
		name: "outage", about: "outages of etcd", budget: 5 * time.Minute,
		steps: []step{{module: "test/clients/wait", packages: []string{"./outage/..."}, flags: []string{"-timeout=20m"}}},
	},
	{
		name: "install", about: "installation and removal", budget: 8 * time.Minute, needs: node,
		steps: []step{{module: "test", packages: []string{"./install"}, flags: []string{"-timeout=40m", "-shuffle=off"}}},
	},
	{
		name: "unit-devcluster", about: "unit tests of the development cluster", budget: 10 * time.Minute,
		tools: []string{"ssh"},
		steps: []step{{
			module: "hack/devcluster", race: true, cached: true,
			packages: []string{".", "./balancer", "./command", "./gateway", "./gitserver", "./image", "./node"},
		}},
	},
	{
		name: "faults", about: "every call of the controller fails once", budget: 10 * time.Minute,
		// The order is not shuffled: the first test overtakes a store, which takes long once others have
		// written to it.
		steps: []step{{module: "test", packages: []string{"./faults/..."}, flags: []string{"-timeout=40m", "-shuffle=off"}}},
	},
	{
		name: "store", about: "empty, foreign and outdated stores", budget: 6 * time.Minute,
		steps: []step{{module: "test", packages: []string{"./store/..."}, flags: []string{"-timeout=40m", "-parallel=4"}}},
	},
	{
		name: "simulated", about: "API, controller and clients in one simulated cluster", budget: 10 * time.Minute,
		cluster: []string{"--node=simulated", "--external-etcd"},
		steps: []step{
			// Those that wait most of the time come first: fewer suites run beside the end of this one.
			{module: "test/clients/wait", packages: []string{"."}, flags: []string{"-timeout=20m"}},
			{module: "test", packages: []string{"./integration/controller/..."}, flags: []string{"-timeout=40m", "-parallel=4"}},
			{module: "test", packages: []string{"./integration/api/..."}, flags: []string{"-timeout=40m", "-parallel=6"}},
		},
	},
	{
		name: "server", about: "stores, certificates and shutdown of website-apiserver", budget: 8 * time.Minute,
		// Two packages run at once: the one with a damaged Website waits most of the time.
		steps: []step{{
			module: "test", packages: []string{"./integration/server", "./integration/undecodable"},
			flags: []string{"-timeout=40m", "-p=2", "-parallel=4"},
		}},
	},
	{
		name: "unit", about: "unit tests", budget: 10 * time.Minute,
		tools: []string{"nginx", "prometheus", "ssh"},
		steps: []step{
			{module: ".", packages: []string{"./..."}, flags: unitFlags, race: true, cached: true},
			{module: "hack/images", packages: []string{"./..."}},
			{module: "hack/scaffold-controller", packages: []string{"./..."}, cached: true},
			{
				module: "test", race: true, cached: true,
				packages: []string{
					"./framework", "./tracecollector/...", "./robustness/check/...", "./robustness/history/...",
					"./bench/cmd", "./bench/controller", "./bench/growth", "./bench/measure", "./bench/serving",
				},
			},
			{module: "test", race: true, packages: []string{"./bench"}},
			{module: "test", packages: []string{"./monitoring"}},
			{module: "test/clients", packages: []string{"./..."}},
			{module: "test/clients/wait", packages: []string{"./chart"}},
		},
	},

	{
		name: "other-stores", about: "the integration tests, each with the other store", budget: 30 * time.Minute, long: true,
		steps: []step{
			{
				module: "test", packages: []string{"./integration/api", "./integration/controller"},
				flags: []string{"-timeout=40m", "-p=1", "-parallel=8"}, args: []string{"-store=embedded"},
			},
			{
				module: "test", packages: []string{"./integration/server", "./integration/undecodable"},
				flags: []string{"-timeout=40m", "-p=1"}, args: []string{"-store=external"},
			},
		},
	},
	{
		// "make test" takes their results from the cache, which has none for a random order.
		name: "shuffled", about: "unit tests in random order", budget: 15 * time.Minute, long: true,
		tools: []string{"nginx", "prometheus", "ssh"},
		steps: []step{{module: ".", packages: []string{"./..."}, flags: unitFlags, race: true}},
	},
	{
		name: "pages", about: "a table of requests to pods; browsers during a push each second", budget: 15 * time.Minute,
		long: true, needs: node,
		steps: []step{
			{
				module: "test", packages: []string{"./e2e"}, tests: []string{"TestRequestsOfPods", "TestBrowsersDuringPushes"},
				flags: []string{"-timeout=30m", "-parallel=1"}, args: []string{
					"-requests", "-pushes=120", "-push-interval=1s", "-browsers=3", "-scaling=3,1,3,1",
				},
			},
		},
	},
	{
		// Both compile the previous release.
		name: "upgrade", about: "the previous release to this one, and back, under load", budget: 15 * time.Minute,
		long: true, needs: node,
		steps: []step{
			{module: "test", packages: []string{"./upgrade"}, flags: []string{"-timeout=40m"}},
			{
				module: "test", packages: []string{"./install"}, tests: []string{"TestUpgradeOfDefault"},
				flags: []string{"-timeout=40m"}, args: []string{"-upgrade"},
			},
		},
	},
	{
		name: "deploy", about: "make deploy and make undeploy", budget: 10 * time.Minute, long: true, needs: node,
		steps: []step{{
			module: "test", packages: []string{"./install"}, tests: []string{"TestDeploy"},
			flags: []string{"-timeout=20m"}, args: []string{"-deploy"},
		}},
	},
	{
		name: "faults-alone", about: "each point of the faults with its own controller", budget: 40 * time.Minute, long: true,
		steps: []step{{
			module: "test", packages: []string{"./faults"}, tests: []string{"TestEveryCall"},
			flags: []string{"-timeout=60m"}, args: []string{"-points-alone"},
		}},
	},
	{
		name: "scale", about: "1,000 Websites and a restart of website-controller", budget: 40 * time.Minute, long: true,
		steps: []step{
			{
				module: "test", packages: []string{"./integration/controller"},
				tests: []string{"TestRestartedControllerWritesNothing", "TestReadyDuringAFlood"},
				flags: []string{"-timeout=60m"}, args: []string{"-settled-websites=1000", "-flood-websites=1000"},
			},
			{
				module: "test", packages: []string{"./integration/api"}, tests: []string{"TestStorageVersionMigration"},
				flags: []string{"-timeout=20m"}, args: []string{"-migrated-websites=200"},
			},
		},
	},
	{
		name: "original", about: "20 sites of the original controller", budget: 30 * time.Minute, long: true, needs: node,
		steps: []step{{
			module: "test", packages: []string{"./install"}, tests: []string{"TestOriginal"},
			flags: []string{"-timeout=40m"}, args: []string{"-original-sites=20"},
		}},
	},
	{
		name: "cert-manager", about: "certificates of cert-manager", budget: 30 * time.Minute, long: true, needs: node,
		steps: []step{{
			module: "test", packages: []string{"./install"}, tests: []string{"TestCertManager"},
			flags: []string{"-timeout=40m"}, args: []string{"-cert-manager"},
		}},
	},
	{
		name: "ha", about: "artifacts/ha while its pods are killed", budget: 30 * time.Minute, long: true, needs: node,
		steps: []step{{
			module: "test", packages: []string{"./install"}, tests: []string{"TestHA"},
			flags: []string{"-timeout=40m"}, args: []string{"-ha"},
		}},
	},
	{
		name: "long-faults", about: "each fault for a minute", budget: 90 * time.Minute, long: true,
		steps: []step{{
			module: "test", packages: []string{"./robustness"},
			tests: []string{"TestRobustness", "TestReplicas", "TestSeededBugs"},
			flags: []string{"-timeout=3h"}, args: []string{"-fault-time=1m", "-replica-time=2m", "-load-rate=300"},
		}},
	},
	{
		name: "fuzzing", about: "each fuzz target for 10 minutes", budget: 90 * time.Minute, long: true,
		tools: []string{"nginx"},
		steps: []step{{command: []string{"hack/fuzz.sh", "10m"}}},
	},
	{
		name: "mutants", about: "each mutant of test/mutants is caught", budget: 90 * time.Minute, long: true, alone: true,
		steps: []step{{command: []string{"make", "test-mutants"}}},
	},
	{
		name: "hosts", about: "the integration tests on older versions of Kubernetes", budget: 3 * time.Hour,
		long: true, alone: true,
		steps: []step{{command: []string{"make", "test-hosts"}}},
	},
}
