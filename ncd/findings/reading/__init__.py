"""One reading of a source without numbers, in which every size knows where it comes from."""
