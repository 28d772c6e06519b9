"""Laws: rules that preserve what a system computes."""
