"""The served resources, their schemas, defaults and validation."""
