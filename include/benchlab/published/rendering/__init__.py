"""A published page rendered anew from its data, in any language."""
