"""The behaviour of KWOK's fake nodes and pods, as KWOK Stage objects.

A node with the annotation `kwok.x-k8s.io/node: fake` becomes Ready, keeps the capacity it was
created with, and sends heartbeats. A pod bound to it runs at once. With the annotation
`pod-complete.stage.kwok.x-k8s.io/delay` (such as "2s") it ends after that time, with exit code 0 or
that of `.../exit-code`. A deleted pod is removed at once. Annotation names are those of KWOK where
it has one.
"""

NODE_ANNOTATION = "kwok.x-k8s.io/node"
NODE_ANNOTATION_VALUE = "fake"
DELAY_ANNOTATION = "pod-complete.stage.kwok.x-k8s.io/delay"
EXIT_CODE_ANNOTATION = "pod-complete.stage.kwok.x-k8s.io/exit-code"
HEARTBEAT_SECONDS = 300

_CONDITIONS = """\
      conditions:
      {{ range NodeConditions }}
      - type: {{ .type | Quote }}
        status: {{ .status | Quote }}
        reason: {{ .reason | Quote }}
        message: {{ .message | Quote }}
        lastHeartbeatTime: {{ $now | Quote }}
        lastTransitionTime: {{ $since | Quote }}
      {{ end }}
"""

_NODE_READY = f"""\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: node-ready
spec:
  resourceRef: {{apiGroup: v1, kind: Node}}
  selector:
    matchExpressions:
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: NotIn
      values: ["True"]
  next:
    statusTemplate: |
      {{{{ $now := Now }}}}
      {{{{ $since := or .metadata.creationTimestamp $now }}}}
{_CONDITIONS}\
      addresses:
      - type: InternalIP
        address: {{{{ NodeIP | Quote }}}}
      - type: Hostname
        address: {{{{ .metadata.name | Quote }}}}
      nodeInfo:
        architecture: amd64
        operatingSystem: linux
        kubeletVersion: {{{{ printf "kwok-%s" Version }}}}
      phase: Running
"""

_NODE_HEARTBEAT = f"""\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: node-heartbeat
spec:
  resourceRef: {{apiGroup: v1, kind: Node}}
  selector:
    matchExpressions:
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: In
      values: ["True"]
  delay:
    durationMilliseconds: {HEARTBEAT_SECONDS * 1000}
  next:
    statusTemplate: |
      {{{{ $now := Now }}}}
      {{{{ $since := or .metadata.creationTimestamp $now }}}}
{_CONDITIONS}"""

_POD_RUNNING = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-running
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: DoesNotExist
    - key: .status.phase
      operator: In
      values: [Pending]
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      startTime: {{ $now | Quote }}
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
      conditions:
      {{ range $type := list "Initialized" "Ready" "ContainersReady" }}
      - type: {{ $type | Quote }}
        status: "True"
        lastTransitionTime: {{ $now | Quote }}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: true
        started: true
        restartCount: 0
        state:
          running:
            startedAt: {{ $now | Quote }}
      {{ end }}
      initContainerStatuses:
      {{ range .spec.initContainers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: true
        restartCount: 0
        state:
          terminated:
            exitCode: 0
            reason: Completed
            startedAt: {{ $now | Quote }}
            finishedAt: {{ $now | Quote }}
      {{ end }}
"""

_POD_ENDS = f"""\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ends
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: DoesNotExist
    - key: .status.phase
      operator: In
      values: [Running]
    - key: '.metadata.annotations["{DELAY_ANNOTATION}"]'
      operator: Exists
  delay:
    durationFrom:
      expressionFrom: '.metadata.annotations["{DELAY_ANNOTATION}"]'
  next:
    statusTemplate: |
      {{{{ $now := Now }}}}
      {{{{ $root := . }}}}
      {{{{ $code := or ( index .metadata.annotations "{EXIT_CODE_ANNOTATION}" ) "0" }}}}
      {{{{ $failed := ne $code "0" }}}}
      phase: {{{{ if $failed }}}}Failed{{{{ else }}}}Succeeded{{{{ end }}}}
      conditions:
      {{{{ range $type := list "Ready" "ContainersReady" }}}}
      - type: {{{{ $type | Quote }}}}
        status: "False"
        reason: {{{{ if $failed }}}}PodFailed{{{{ else }}}}PodCompleted{{{{ end }}}}
        lastTransitionTime: {{{{ $now | Quote }}}}
      {{{{ end }}}}
      containerStatuses:
      {{{{ range $index, $item := .spec.containers }}}}
      - name: {{{{ $item.name | Quote }}}}
        image: {{{{ $item.image | Quote }}}}
        ready: false
        started: false
        restartCount: 0
        state:
          terminated:
            exitCode: {{{{ $code }}}}
            reason: {{{{ if $failed }}}}Error{{{{ else }}}}Completed{{{{ end }}}}
            startedAt: {{{{ or $root.status.startTime $now | Quote }}}}
            finishedAt: {{{{ $now | Quote }}}}
      {{{{ end }}}}
"""

_POD_DELETED = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-deleted
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: Exists
  next:
    delete: true
"""

STAGES = "---\n".join([_NODE_READY, _NODE_HEARTBEAT, _POD_RUNNING, _POD_ENDS, _POD_DELETED])
