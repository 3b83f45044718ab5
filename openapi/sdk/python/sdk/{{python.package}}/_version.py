__version__ = "{{version}}"

CONTRACT = "{{contract}}"
"""The version of the document that this package was made from."""

PRODUCT = "{{product}}"

ENVIRONMENT = "{{environment}}"
"""With what the names of environment variables begin."""
