"""Bayesian failure models for GPU clusters, carried through an analytic ETTR module into forecasts."""
