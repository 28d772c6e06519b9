"""Derivatives of terms, which are terms again."""

from ncd.derivatives.gradient_term import gradient as gradient
