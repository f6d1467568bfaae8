"""Decision models of other libraries."""
