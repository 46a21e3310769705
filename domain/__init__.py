"""What can happen and what to do about it: values in, values out; no files, no clock, no environment."""
