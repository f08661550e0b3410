"""S3 for the tests of publishing."""

from tests.builders.s3 import moto, s3

__all__ = ["moto", "s3"]
