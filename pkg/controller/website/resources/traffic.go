package resources

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

const (
	// nginxTempMountPath is the directory of nginx in the containers of the agent.
	nginxTempMountPath = "/nginx-tmp"
	// requestsFile is the access log that the agent counts, in that directory.
	requestsFile = "requests"
)

// AccessLogFormat is the format of the access log on stdout.
type AccessLogFormat string

// The formats.
const (
	AccessLogText AccessLogFormat = "text"
	AccessLogJSON AccessLogFormat = "json"
)

// requestCounts gives the agent the access log that it counts, for the metrics of a site.
func requestCounts() concern {
	var c concern
	c.args.add("access-log", nginxTempMountPath+"/"+requestsFile)
	c.agentMounts = append(c.agentMounts, trafficMount())
	return c
}

func trafficMount() *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(nginxTempVolume).WithMountPath(nginxTempMountPath)
}
