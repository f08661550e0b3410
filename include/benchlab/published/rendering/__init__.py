"""Renders a published page again from its data, in any language."""
