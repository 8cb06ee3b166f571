{{/* The services that are installed, as a map of name to what services.yaml says of it. */}}
{{- define "pyroclast.services" -}}
{{- $root := . -}}
{{- $chosen := dict -}}
{{- $table := .Files.Get "services.yaml" | fromYaml -}}
{{- range $name, $_ := .Values.services -}}
{{- if not (hasKey $table $name) }}{{ fail (printf "services.%s: there is no such service; there are %s" $name (keys $table | sortAlpha | join ", ")) }}{{ end -}}
{{- end -}}
{{- range $name, $facts := $table -}}
{{- $said := index $root.Values.services $name | default dict -}}
{{- $on := true -}}
{{- with $facts.part }}{{ $on = (index $root.Values.basic .).enabled }}{{ end -}}
{{- if eq $name "dashboard" }}{{ $on = $root.Values.dashboard.enabled }}{{ end -}}
{{- if hasKey $said "enabled" }}{{ $on = and $on $said.enabled }}{{ end -}}
{{- if $on }}{{ $_ := set $chosen $name ($facts | default dict) }}{{ end -}}
{{- end -}}
{{- $chosen | toYaml -}}
{{- end -}}

{{/* User names of all our services, with commas: admission restores our fields after writes by other users. */}}
{{- define "pyroclast.accounts" -}}
{{- $root := . -}}
{{- $names := list -}}
{{- range $name, $_ := .Files.Get "services.yaml" | fromYaml -}}
{{- $names = append $names (printf "system:serviceaccount:%s:%s-%s" $root.Release.Namespace $root.Release.Name $name) -}}
{{- end -}}
{{- $names | join "," -}}
{{- end -}}

{{/* Labels of everything; `service` is empty for what belongs to all. */}}
{{- define "pyroclast.labels" -}}
app.kubernetes.io/part-of: pyroclast
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .service }}
app.kubernetes.io/name: {{ . }}
{{- end }}
{{- end -}}

{{/* Labels that select the pods of a service, or all of ours. They never change. */}}
{{- define "pyroclast.selector" -}}
app.kubernetes.io/part-of: pyroclast
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .service }}
app.kubernetes.io/name: {{ . }}
{{- end }}
{{- end -}}

{{- define "pyroclast.image" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end -}}
vc-{{ .service }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{/* The Secret with a service's Kafka user; empty when the brokers ask for none. */}}
{{- define "pyroclast.kafkaSecret" -}}
{{- $said := index .root.Values.services .service | default dict -}}
{{- $kafka := .root.Values.kafka -}}
{{- if $said.kafkaSecret -}}
{{ $said.kafkaSecret }}
{{- else if $kafka.existingSecret -}}
{{ $kafka.existingSecret }}
{{- else if or $kafka.username $kafka.ca -}}
{{ .root.Release.Name }}-kafka
{{- end -}}
{{- end -}}

{{/* The Secret with a service's URL of Redis, its user in it. */}}
{{- define "pyroclast.redisSecret" -}}
{{- $said := index .root.Values.services .service | default dict -}}
{{ $said.redisSecret | default .root.Values.redis.existingSecret | default (printf "%s-redis" .root.Release.Name) }}
{{- end -}}

{{/* Whether Redis' authority is mounted. */}}
{{- define "pyroclast.redisTls" -}}
{{- if or .Values.redis.ca (and .Values.redis.existingSecret .Values.redis.tls) }}true{{ end -}}
{{- end -}}

{{/* The default configuration of the scheduler. With `compat: upstream`, as in Volcano, it evicts no pods. */}}
{{- define "pyroclast.schedulerConfig" -}}
actions: "{{ if eq .Values.compat "upstream" }}enqueue, allocate, backfill{{ else }}enqueue, allocate, preempt, reclaim, backfill{{ end }}"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
{{ end -}}
