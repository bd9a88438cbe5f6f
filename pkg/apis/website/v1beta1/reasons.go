package v1beta1

// Reasons of the conditions of a Website. docs/conditions.md lists their
// conditions and remedies.
const (
	// WebsiteReasonPending means that website-controller has not reported a status
	// yet. The API server sets it on creation.
	WebsiteReasonPending = "Pending"
	// WebsiteReasonServing means that the site is served according to the spec.
	WebsiteReasonServing = "Serving"
	// WebsiteReasonScaledToZero means that the site is offline because
	// spec.replicas is 0.
	WebsiteReasonScaledToZero = "ScaledToZero"
	// WebsiteReasonRolloutInProgress means that pods are being started or
	// replaced.
	WebsiteReasonRolloutInProgress = "RolloutInProgress"
	// WebsiteReasonRolloutPending means that the pods wait until other Websites have
	// been rolled out; they are up to date except for a change of the configuration
	// or version of website-controller.
	WebsiteReasonRolloutPending = "RolloutPending"
	// WebsiteReasonRolloutComplete means that all pods are up to date.
	WebsiteReasonRolloutComplete = "RolloutComplete"
	// WebsiteReasonProgressDeadlineExceeded means that new pods did not become
	// available in time, for an unknown cause.
	WebsiteReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// WebsiteReasonDeploymentPaused means that pods are not replaced because the
	// Deployment is paused.
	WebsiteReasonDeploymentPaused = "DeploymentPaused"
	// WebsiteReasonMinimumReplicasAvailable means that enough pods are available.
	WebsiteReasonMinimumReplicasAvailable = "MinimumReplicasAvailable"
	// WebsiteReasonMinimumReplicasUnavailable means that too few pods are
	// available, for an unknown cause.
	WebsiteReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"

	// WebsiteReasonNameTaken means that a child's name is used by an object that
	// the Website does not control.
	WebsiteReasonNameTaken = "NameTaken"
	// WebsiteReasonConflictingManager means that another controller writes the
	// Deployment as well.
	WebsiteReasonConflictingManager = "ConflictingManager"
	// WebsiteReasonLeftBehind means that another controller has left a Deployment or
	// a Service of the Website under a former deploymentName.
	WebsiteReasonLeftBehind = "LeftBehind"
	// WebsiteReasonNodePortTaken means that another Service has the nodePort.
	WebsiteReasonNodePortTaken = "NodePortTaken"
	// WebsiteReasonNodePortsExhausted means that no node port is free in the
	// cluster.
	WebsiteReasonNodePortsExhausted = "NodePortsExhausted"
	// WebsiteReasonNoEndpoints means that the Service reaches none of the ready
	// pods.
	WebsiteReasonNoEndpoints = "NoEndpoints"
	// WebsiteReasonSpecInvalid means that the API server or website-controller
	// rejects a child built from the spec.
	WebsiteReasonSpecInvalid = "SpecInvalid"
	// WebsiteReasonQuotaExceeded means that a ResourceQuota of the namespace is
	// exceeded.
	WebsiteReasonQuotaExceeded = "QuotaExceeded"
	// WebsiteReasonAdmissionDenied means that an admission policy denies a child
	// or its pods.
	WebsiteReasonAdmissionDenied = "AdmissionDenied"
	// WebsiteReasonAccessDenied means that website-controller lacks a permission.
	WebsiteReasonAccessDenied = "AccessDenied"
	// WebsiteReasonReconcileError means that requests to the API server have
	// failed repeatedly.
	WebsiteReasonReconcileError = "ReconcileError"

	// WebsiteReasonImageUnavailable means that an image cannot be pulled.
	WebsiteReasonImageUnavailable = "ImageUnavailable"
	// WebsiteReasonUnschedulable means that no node is suitable for a pod.
	WebsiteReasonUnschedulable = "Unschedulable"
	// WebsiteReasonContainerConfigError means that a container cannot be created,
	// for example because its Secret lacks a key.
	WebsiteReasonContainerConfigError = "ContainerConfigError"
	// WebsiteReasonContainerFailing means that a container is crash-looping.
	WebsiteReasonContainerFailing = "ContainerFailing"
	// WebsiteReasonPodNotStarting means that a pod waits for its volumes or
	// network, usually because its Secret does not exist.
	WebsiteReasonPodNotStarting = "PodNotStarting"
	// WebsiteReasonPodCreationFailed means that pods cannot be created.
	WebsiteReasonPodCreationFailed = "PodCreationFailed"
	// WebsiteReasonRepositoryTooLarge means that a commit does not fit on the volume of
	// a pod.
	WebsiteReasonRepositoryTooLarge = "RepositoryTooLarge"
	// WebsiteReasonStorageFull means that the volume of a pod is full, or the disk of its
	// node, whatever the next commit has.
	WebsiteReasonStorageFull = "StorageFull"
	// WebsiteReasonAccessSecretInvalid means that the Secret of spec.access.basicAuth.secretRef
	// is missing or invalid, and that every request is rejected.
	WebsiteReasonAccessSecretInvalid = "AccessSecretInvalid"

	// WebsiteReasonCommitPublished means that all ready pods serve the same commit
	// and the last fetch succeeded.
	WebsiteReasonCommitPublished = "CommitPublished"
	// WebsiteReasonPublishedWithWarnings is CommitPublished for a commit that is not
	// served as its author may expect: the message says why.
	WebsiteReasonPublishedWithWarnings = "PublishedWithWarnings"
	// WebsiteReasonCommitsDiffer means that ready pods serve different commits.
	WebsiteReasonCommitsDiffer = "CommitsDiffer"
	// WebsiteReasonPathNotFound means that spec.source.path is not in the commit.
	WebsiteReasonPathNotFound = "PathNotFound"
	// WebsiteReasonRepositoryUnreachable means that the repository's host is
	// unreachable.
	WebsiteReasonRepositoryUnreachable = "RepositoryUnreachable"
	// WebsiteReasonRepositoryNotFound means that the repository does not exist.
	WebsiteReasonRepositoryNotFound = "RepositoryNotFound"
	// WebsiteReasonAuthenticationFailed means that the repository's host rejects
	// the credentials.
	WebsiteReasonAuthenticationFailed = "AuthenticationFailed"
	// WebsiteReasonRefNotFound means that spec.source.git.ref is not in the
	// repository.
	WebsiteReasonRefNotFound = "RefNotFound"
	// WebsiteReasonRepositoryEmpty means that the repository has no commits.
	WebsiteReasonRepositoryEmpty = "RepositoryEmpty"
	// WebsiteReasonHeadNotFound means that HEAD of the repository names a branch that
	// does not exist.
	WebsiteReasonHeadNotFound = "HeadNotFound"
	// WebsiteReasonCommitRefused means that the repository's host does not send the
	// commit of spec.source.git.ref: the repository lacks it, or none of its branches and
	// tags contain it.
	WebsiteReasonCommitRefused = "CommitRefused"
	// WebsiteReasonHostKeyMismatch means that the repository's host has an ssh key
	// that known_hosts does not have.
	WebsiteReasonHostKeyMismatch = "HostKeyMismatch"
	// WebsiteReasonRepositoryCertificateInvalid means that the certificate of the
	// repository's host is not trusted.
	WebsiteReasonRepositoryCertificateInvalid = "RepositoryCertificateInvalid"
	// WebsiteReasonCAInvalid means that the bundle of spec.source.git.caRef has no
	// certificate.
	WebsiteReasonCAInvalid = "CAInvalid"
	// WebsiteReasonCAMissing means that the bundle of spec.source.git.caRef does not
	// exist.
	WebsiteReasonCAMissing = "CAMissing"
	// WebsiteReasonCredentialsMissing means that the Secret of
	// spec.source.git.secretRef lacks a key.
	WebsiteReasonCredentialsMissing = "CredentialsMissing"
	// WebsiteReasonKnownHostsMissing means that the Secret of
	// spec.source.git.secretRef has no known_hosts.
	WebsiteReasonKnownHostsMissing = "KnownHostsMissing"
	// WebsiteReasonProtocolRefused means that the repository, or the target of its
	// host's redirect, has a transport that is not allowed.
	WebsiteReasonProtocolRefused = "ProtocolRefused"
	// WebsiteReasonWebPageAnswered means that the repository's host answers with a web
	// page, such as a login page.
	WebsiteReasonWebPageAnswered = "WebPageAnswered"
	// WebsiteReasonCommitInvalid means that a file name of the commit cannot be checked
	// out.
	WebsiteReasonCommitInvalid = "CommitInvalid"
	// WebsiteReasonSubmoduleFailing means that a submodule cannot be fetched.
	WebsiteReasonSubmoduleFailing = "SubmoduleFailing"
	// WebsiteReasonRepositoryTimedOut means that the repository's host does not
	// finish a fetch in time.
	WebsiteReasonRepositoryTimedOut = "RepositoryTimedOut"
	// WebsiteReasonSyncOutOfMemory means that git has used up the memory of its
	// container.
	WebsiteReasonSyncOutOfMemory = "SyncOutOfMemory"
	// WebsiteReasonSyncFailing means that fetches fail for another reason.
	WebsiteReasonSyncFailing = "SyncFailing"
	// WebsiteReasonPinned means that all ready pods serve the commit of spec.pin. A
	// request to sync fails with it if another commit was to be served.
	WebsiteReasonPinned = "Pinned"
	// WebsiteReasonRefElsewhere means that spec.source.git.ref does not point to the
	// commit of a request to sync.
	WebsiteReasonRefElsewhere = "RefElsewhere"
	// WebsiteReasonSyncTimedOut means that the ready pods have not answered a request
	// to sync in time.
	WebsiteReasonSyncTimedOut = "SyncTimedOut"
	// WebsiteReasonNotObserved means that commit observation is disabled.
	WebsiteReasonNotObserved = "NotObserved"
	// WebsiteReasonObserving means that not all ready pods have reported their
	// commit and the result of their last fetch yet.
	WebsiteReasonObserving = "Observing"
	// WebsiteReasonPodsUnreachable means that ready pods do not respond to
	// website-controller.
	WebsiteReasonPodsUnreachable = "PodsUnreachable"
	// WebsiteReasonNoReadyPods means that no pod is ready.
	WebsiteReasonNoReadyPods = "NoReadyPods"
	// WebsiteReasonSuspended means that the site is kept at its commit because
	// spec.suspend is true.
	WebsiteReasonSuspended = "Suspended"
	// WebsiteReasonSuspending means that spec.suspend is true and that the pods
	// do not serve the commit of spec.pin yet.
	WebsiteReasonSuspending = "Suspending"
	// WebsiteReasonSuspendedWithoutCommit means that spec.suspend is true and that no
	// commit is known to have been published: nothing is published.
	WebsiteReasonSuspendedWithoutCommit = "SuspendedWithoutCommit"

	// WebsiteReasonHostsRouted means that requests for the hosts reach the site.
	WebsiteReasonHostsRouted = "HostsRouted"
	// WebsiteReasonHostRouted means that the last request for the host reached the site.
	WebsiteReasonHostRouted = "HostRouted"
	// WebsiteReasonHostNotRequested means that no request is made for the host, as
	// it has a wildcard.
	WebsiteReasonHostNotRequested = "HostNotRequested"
	// WebsiteReasonRedirectUnavailable means that a host with the role Redirect serves the
	// site, because an Ingress cannot redirect or the canonical host is not routed.
	WebsiteReasonRedirectUnavailable = "RedirectUnavailable"
	// WebsiteReasonCertificateNotUsed means that requests for the hosts reach the site,
	// and that a Gateway does not present the certificates of spec.tls, because it takes
	// no ListenerSets.
	WebsiteReasonCertificateNotUsed = "CertificateNotUsed"
	// WebsiteReasonDNSElsewhere means that requests for the hosts reach the site at the
	// address of the Gateway or Ingress, and that DNS has another address.
	WebsiteReasonDNSElsewhere = "DNSElsewhere"
	// WebsiteReasonRoutePending means that the Gateway or Ingress has not been updated
	// by its controller, or that no request has been made yet.
	WebsiteReasonRoutePending = "RoutePending"
	// WebsiteReasonHostTaken means that an older Website has a host.
	WebsiteReasonHostTaken = "HostTaken"
	// WebsiteReasonGatewayAPIMissing means that the cluster does not serve a
	// resource of Gateway API that the spec requires.
	WebsiteReasonGatewayAPIMissing = "GatewayAPIMissing"
	// WebsiteReasonGatewayNotFound means that the Gateway does not exist, or that
	// website-controller does not watch its namespace.
	WebsiteReasonGatewayNotFound = "GatewayNotFound"
	// WebsiteReasonGatewayNotProgrammed means that the controller of the Gateway reports
	// that it does not work.
	WebsiteReasonGatewayNotProgrammed = "GatewayNotProgrammed"
	// WebsiteReasonRouteNotAccepted means that the Gateway does not accept a route or the
	// listeners of the Website.
	WebsiteReasonRouteNotAccepted = "RouteNotAccepted"
	// WebsiteReasonListenerConflicted means that another listener of the Gateway has the
	// host.
	WebsiteReasonListenerConflicted = "ListenerConflicted"
	// WebsiteReasonReferencesNotResolved means that the Gateway cannot use the Service or
	// the certificate.
	WebsiteReasonReferencesNotResolved = "ReferencesNotResolved"
	// WebsiteReasonRouteNotWritten means that a route or its listeners cannot be written.
	WebsiteReasonRouteNotWritten = "RouteNotWritten"
	// WebsiteReasonHostUnreachable means that a request for a host does not reach the
	// site.
	WebsiteReasonHostUnreachable = "HostUnreachable"
	// WebsiteReasonCertificateInvalid means that the certificate that is presented for a
	// host has expired or is for other names.
	WebsiteReasonCertificateInvalid = "CertificateInvalid"

	// WebsiteReasonPreviewsCurrent means that all branches that match have a preview.
	WebsiteReasonPreviewsCurrent = "PreviewsCurrent"
	// WebsiteReasonPreviewLimitReached means that more branches match than
	// spec.previews.maxCount.
	WebsiteReasonPreviewLimitReached = "PreviewLimitReached"
	// WebsiteReasonBranchesUnknown means that no ready pod has reported the branches of the
	// repository.
	WebsiteReasonBranchesUnknown = "BranchesUnknown"
	// WebsiteReasonBranchListFailed means that the pods cannot list the branches of the
	// repository.
	WebsiteReasonBranchListFailed = "BranchListFailed"
)
