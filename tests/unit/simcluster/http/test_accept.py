"""Which shape a client wants."""

import pytest

from vc.simcluster.http.accept import DISCOVERY_SHAPES, OBJECT_SHAPES, choose_shape
from vc.simcluster.http.errors import NotAcceptableError

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"


@pytest.mark.parametrize(
    ("header", "shape"),
    [
        ("", ""),
        ("*/*", ""),
        ("application/json", ""),
        (_TABLE, "Table"),
        ("application/json;as=Sculpture;v=v1;g=meta.k8s.io, application/json", ""),
        ("application/vnd.kubernetes.protobuf, application/json", ""),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "PartialObjectMetadataList",
        ),
    ],
)
def test_the_first_shape_we_can_make_wins(header: str, shape: str) -> None:
    assert choose_shape(header, known=OBJECT_SHAPES).shape == shape


def test_aggregated_discovery_is_told_by_its_group() -> None:
    header = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert choose_shape(header, known=DISCOVERY_SHAPES).version == "v2"


def test_protobuf_alone_is_refused_so_that_clients_fall_back() -> None:
    with pytest.raises(NotAcceptableError):
        choose_shape("application/vnd.kubernetes.protobuf", known=OBJECT_SHAPES)
