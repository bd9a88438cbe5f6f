package v1beta1

// Reasons of the conditions of a Website. Which condition has which of them, and
// what to do about it, is in docs/controller.md.
const (
	// WebsiteReasonServing means that the site is served as the spec says.
	WebsiteReasonServing = "Serving"
	// WebsiteReasonScaledToZero means that the site is offline because
	// spec.replicas is 0.
	WebsiteReasonScaledToZero = "ScaledToZero"
	// WebsiteReasonRolloutInProgress means that pods are being started or
	// replaced.
	WebsiteReasonRolloutInProgress = "RolloutInProgress"
	// WebsiteReasonRolloutComplete means that all pods have the shape that the
	// spec asks for.
	WebsiteReasonRolloutComplete = "RolloutComplete"
	// WebsiteReasonProgressDeadlineExceeded means that new pods have not become
	// available in time, and nothing is known about the cause.
	WebsiteReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// WebsiteReasonDeploymentPaused means that pods are not replaced because
	// somebody has paused the Deployment.
	WebsiteReasonDeploymentPaused = "DeploymentPaused"
	// WebsiteReasonMinimumReplicasAvailable means that enough pods serve.
	WebsiteReasonMinimumReplicasAvailable = "MinimumReplicasAvailable"
	// WebsiteReasonMinimumReplicasUnavailable means that too few pods serve, and
	// nothing is known about the cause.
	WebsiteReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"

	// WebsiteReasonNameTaken means that an object that the site needs belongs to
	// something else.
	WebsiteReasonNameTaken = "NameTaken"
	// WebsiteReasonNodePortTaken means that another Service has the nodePort.
	WebsiteReasonNodePortTaken = "NodePortTaken"
	// WebsiteReasonSpecInvalid means that the API server or website-controller
	// cannot accept what the spec asks for.
	WebsiteReasonSpecInvalid = "SpecInvalid"
	// WebsiteReasonQuotaExceeded means that a ResourceQuota of the namespace
	// leaves no room for the site.
	WebsiteReasonQuotaExceeded = "QuotaExceeded"
	// WebsiteReasonAdmissionDenied means that a policy of the cluster refuses the
	// site's objects or pods.
	WebsiteReasonAdmissionDenied = "AdmissionDenied"
	// WebsiteReasonAccessDenied means that website-controller lacks a right.
	WebsiteReasonAccessDenied = "AccessDenied"
	// WebsiteReasonReconcileError means that the API server has failed to do what
	// it was asked for, several times in a row.
	WebsiteReasonReconcileError = "ReconcileError"

	// WebsiteReasonImageUnavailable means that an image cannot be pulled.
	WebsiteReasonImageUnavailable = "ImageUnavailable"
	// WebsiteReasonUnschedulable means that no node takes a pod.
	WebsiteReasonUnschedulable = "Unschedulable"
	// WebsiteReasonContainerConfigError means that a container cannot be made,
	// such as when its Secret lacks a key.
	WebsiteReasonContainerConfigError = "ContainerConfigError"
	// WebsiteReasonContainerFailing means that a container ends again and again.
	WebsiteReasonContainerFailing = "ContainerFailing"
	// WebsiteReasonPodNotStarting means that a pod waits for its volumes or its
	// network; most often its Secret does not exist.
	WebsiteReasonPodNotStarting = "PodNotStarting"
	// WebsiteReasonPodCreationFailed means that pods cannot be created.
	WebsiteReasonPodCreationFailed = "PodCreationFailed"
	// WebsiteReasonRepositoryTooLarge means that the repository does not fit into
	// the volume of a pod.
	WebsiteReasonRepositoryTooLarge = "RepositoryTooLarge"

	// WebsiteReasonCommitPublished means that all ready pods serve one commit and
	// the last look at the repository worked.
	WebsiteReasonCommitPublished = "CommitPublished"
	// WebsiteReasonCommitsDiffer means that ready pods serve different commits.
	WebsiteReasonCommitsDiffer = "CommitsDiffer"
	// WebsiteReasonPathNotFound means that spec.source.path is not in the commit.
	WebsiteReasonPathNotFound = "PathNotFound"
	// WebsiteReasonRepositoryUnreachable means that the repository's host does
	// not answer.
	WebsiteReasonRepositoryUnreachable = "RepositoryUnreachable"
	// WebsiteReasonRepositoryNotFound means that there is no such repository.
	WebsiteReasonRepositoryNotFound = "RepositoryNotFound"
	// WebsiteReasonAuthenticationFailed means that the repository's host asks for
	// other credentials.
	WebsiteReasonAuthenticationFailed = "AuthenticationFailed"
	// WebsiteReasonRefNotFound means that spec.source.ref is not in the
	// repository, or that the repository is empty.
	WebsiteReasonRefNotFound = "RefNotFound"
	// WebsiteReasonSyncFailing means that fetching fails for another reason.
	WebsiteReasonSyncFailing = "SyncFailing"
	// WebsiteReasonNotObserved means that nobody asks the pods what they serve.
	WebsiteReasonNotObserved = "NotObserved"
	// WebsiteReasonObserving means that not all ready pods have said yet which
	// commit they serve and whether they can fetch the next.
	WebsiteReasonObserving = "Observing"
	// WebsiteReasonPodsUnreachable means that ready pods do not answer the
	// controller.
	WebsiteReasonPodsUnreachable = "PodsUnreachable"
	// WebsiteReasonNoReadyPods means that there is no pod to ask.
	WebsiteReasonNoReadyPods = "NoReadyPods"
	// WebsiteReasonSuspended means that the site stays on a commit because
	// spec.suspend is true.
	WebsiteReasonSuspended = "Suspended"
	// WebsiteReasonSuspending means that spec.suspend is true and it is not known
	// yet which commit to stay on.
	WebsiteReasonSuspending = "Suspending"
)
