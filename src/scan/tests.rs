//! Behaviour of the scan as its users see it.
