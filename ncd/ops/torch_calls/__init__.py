"""Ops of imported modules: functions of torch by their names, and constant arrays."""
