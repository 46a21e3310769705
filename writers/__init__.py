"""Everything that changes a file which the user owns: guards first, then one module per format."""
