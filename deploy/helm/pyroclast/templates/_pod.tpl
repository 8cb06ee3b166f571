{{/* The environment of a service. The same keys as in docker-compose.yml and `make stack`; a test compares. */}}
{{- define "pyroclast.environment" -}}
{{- $values := .root.Values -}}
{{- $release := .root.Release.Name -}}
{{- $shared := printf "%s-environment" $release -}}
{{- $kafkaSecret := include "pyroclast.kafkaSecret" . -}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: HEALTH_PORT
  value: "8081"
{{- range list "LOG_LEVEL" "LOG_FORMAT" "PYROCLAST_COMPAT" "KAFKA_BOOTSTRAP_SERVERS" "KAFKA_TOPIC_PREFIX" "KAFKA_SECURITY_PROTOCOL" "KAFKA_REPLICATION_FACTOR" "OTEL_EXPORTER_OTLP_ENDPOINT" }}
- name: {{ . }}
  valueFrom: {configMapKeyRef: {name: {{ $shared }}, key: {{ . }}}}
{{- end }}
{{- if hasPrefix "SASL" $values.kafka.securityProtocol }}
- name: KAFKA_SASL_MECHANISM
  valueFrom: {configMapKeyRef: {name: {{ $shared }}, key: KAFKA_SASL_MECHANISM}}
- name: KAFKA_SASL_USERNAME
  valueFrom: {secretKeyRef: {name: {{ $kafkaSecret }}, key: username}}
- name: KAFKA_SASL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $kafkaSecret }}, key: password}}
{{- end }}
{{- if and (hasSuffix "SSL" $values.kafka.securityProtocol) $kafkaSecret }}
- name: KAFKA_SSL_CAFILE
  value: /etc/pyroclast/kafka/ca.crt
{{- if $values.kafka.clientCertificate }}
- name: KAFKA_SSL_CERTFILE
  value: /etc/pyroclast/kafka/tls.crt
- name: KAFKA_SSL_KEYFILE
  value: /etc/pyroclast/kafka/tls.key
{{- end }}
{{- end }}
{{- if .facts.redis }}
- name: REDIS_URL
  valueFrom: {secretKeyRef: {name: {{ include "pyroclast.redisSecret" . }}, key: url}}
{{- end }}
{{- if .facts.schedulerNames }}
- name: SCHEDULER_NAMES
  value: {{ $values.schedulerName | quote }}
{{- end }}
{{- if and (eq .service "queue-controller") (hasKey (include "pyroclast.services" .root | fromYaml) "admission") }}
- name: QUEUE_CONTROLLER_COMMANDS_FROM
  value: vetted
{{- end }}
{{- if has .service (list "scheduler" "dashboard") }}
- name: SCHEDULER_CONFIGMAP
  value: {{ $values.schedulerConfigMap | default (printf "%s-scheduler-configmap" $release) }}
- name: SCHEDULER_CONFIGMAP_KEY
  value: {{ $values.schedulerConfigMapKey | quote }}
{{- end }}
{{- if eq .service "admission" }}
- name: ADMISSION_HOST
  value: "0.0.0.0"
- name: ADMISSION_PORT
  value: "8443"
- name: ADMISSION_SCHEDULER_NAMES
  value: {{ $values.schedulerName | quote }}
- name: ADMISSION_SERVICE
  value: {{ $release }}-admission-service
- name: ADMISSION_SECRET
  value: {{ $release }}-admission-certs
- name: ADMISSION_CONFIGURATION
  value: {{ $release }}-admission
- name: ADMISSION_CONFIGMAP
  value: {{ $release }}-admission-configmap
- name: ADMISSION_ACCOUNTS
  value: {{ include "pyroclast.accounts" .root | quote }}
{{- if $values.queueUseReview }}
- name: ADMISSION_QUEUE_USE_REVIEW
  value: "true"
{{- end }}
{{- if ne (toString $values.queueAllocatedPodsCheck) "" }}
- name: ADMISSION_QUEUE_ALLOCATED_PODS_CHECK
  value: {{ $values.queueAllocatedPodsCheck | quote }}
{{- end }}
{{- range $value, $name := dict "tasksPerJob" "TASKS_PER_JOB" "replicasPerJob" "REPLICAS_PER_JOB" "jobsPerNamespace" "JOBS_PER_NAMESPACE" "podGroupsPerNamespace" "PODGROUPS_PER_NAMESPACE" }}
{{- with index $values.maxima $value }}
- name: ADMISSION_MAX_{{ $name }}
  value: {{ int64 . | quote }}
{{- end }}
{{- end }}
{{- else if eq .service "dashboard" }}
- name: DASHBOARD_HOST
  value: "0.0.0.0"
- name: PYROCLAST_DASHBOARD_PORT
  value: "8080"
- name: DASHBOARD_ANONYMOUS
  value: {{ $values.dashboard.anonymous | quote }}
- name: DASHBOARD_HOSTS
  {{- $name := printf "%s-dashboard" $release }}
  {{- $here := printf "%s.%s" $name .root.Release.Namespace }}
  value: {{ concat (list $name $here (printf "%s.svc" $here) (printf "%s.svc.cluster.local" $here)) $values.dashboard.hosts | join "," | quote }}
{{- end }}
{{- range $key, $value := (index $values.services .service | default dict).env }}
- name: {{ $key }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "pyroclast.ports" -}}
- {name: health, containerPort: 8081}
{{- if eq .service "admission" }}
- {name: webhooks, containerPort: 8443}
{{- else if eq .service "dashboard" }}
- {name: http, containerPort: 8080}
{{- end }}
{{- end -}}

{{/* Files a service reads, as a list of mounts ... */}}
{{- define "pyroclast.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if and (hasSuffix "SSL" .root.Values.kafka.securityProtocol) (include "pyroclast.kafkaSecret" .) }}
- {name: kafka, mountPath: /etc/pyroclast/kafka, readOnly: true}
{{- end }}
{{- if and .facts.redis (include "pyroclast.redisTls" .root) }}
- {name: redis, mountPath: /etc/pyroclast/redis, readOnly: true}
{{- end }}
{{- end -}}

{{/* ... and their volumes. Only certificates come as files; passwords are variables. */}}
{{- define "pyroclast.volumes" -}}
{{- $protocol := .root.Values.kafka.securityProtocol -}}
- name: tmp
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- if and (hasSuffix "SSL" $protocol) (include "pyroclast.kafkaSecret" .) }}
- name: kafka
  secret:
    secretName: {{ include "pyroclast.kafkaSecret" . }}
    defaultMode: 0440
    items:
    - {key: ca.crt, path: ca.crt}
    {{- if .root.Values.kafka.clientCertificate }}
    - {key: tls.crt, path: tls.crt}
    - {key: tls.key, path: tls.key}
    {{- end }}
{{- end }}
{{- if and .facts.redis (include "pyroclast.redisTls" .root) }}
- name: redis
  secret:
    secretName: {{ include "pyroclast.redisSecret" . }}
    defaultMode: 0440
    items:
    - {key: ca.crt, path: ca.crt}
{{- end }}
{{- end -}}
