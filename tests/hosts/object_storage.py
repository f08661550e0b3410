"""S3 on a network of hosts, empty but for one bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer

BUCKET = "datasets"
KEYS = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "not-a-secret"}


@contextmanager
def bucket_on(address: str, region: str) -> Iterator[tuple[str, Any]]:
    """Its endpoint, and the bucket as boto3's resource.

    moto keeps its buckets in this process, not in its server: the bucket goes with the block.

    Args:
        address: an address of this machine that the hosts reach.
    """
    server = ThreadedMotoServer(ip_address=address, port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3 = boto3.resource("s3", endpoint_url=endpoint, region_name=region, **KEYS)
    try:
        where = {"LocationConstraint": region}
        yield endpoint, s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=where)
    finally:
        s3.meta.client.close()
        server.stop()
        get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].reset()
