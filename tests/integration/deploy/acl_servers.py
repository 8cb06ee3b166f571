"""Kafka and Redis with the ACLs that the chart carries, as an administrator would apply them."""

from pathlib import Path

from vc.cli.pyroclast.acls import PREFIX_PLACEHOLDER
from vc.cli.pyroclast.stack.acls import AuthorizingKafka, AuthorizingRedis

FILES = Path(__file__).parents[3] / "deploy/helm/pyroclast/acls"


def chart_kafka(folder: Path) -> AuthorizingKafka:
    """With the chart's ACLs, for topics without a prefix."""
    script = (FILES / "kafka-acls.sh").read_text().replace(PREFIX_PLACEHOLDER, "")
    return AuthorizingKafka(folder=folder, script=script)


def chart_redis(folder: Path) -> AuthorizingRedis:
    """With the chart's users, whose placeholders are replaced by digests."""
    return AuthorizingRedis(folder=folder, users=(FILES / "users.acl").read_text())
