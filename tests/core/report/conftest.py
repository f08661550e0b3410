"""S3 for the tests of publishing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from moto.backends import get_backend
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.models import DEFAULT_ACCOUNT_ID

from tests.builders.s3 import (
    BUCKET,
    S3,
)


@pytest.fixture(scope="module")
def moto() -> Iterator[S3]:
    """Started once, which takes a second; it answers one request at a time, as it has to."""
    answer, one = BotocoreStubber.__call__, threading.Lock()

    def answer_one(self: BotocoreStubber, *args: Any, **named: Any) -> Any:
        with one:
            return answer(self, *args, **named)

    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setattr(BotocoreStubber, "__call__", answer_one)
        yield S3()


@pytest.fixture
def s3(moto: S3) -> S3:
    """With one empty bucket, asked for nothing yet."""
    moto.refuse = lambda operation, key: None
    get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].reset()
    moto.create(BUCKET)
    moto.asked.clear()
    return moto
