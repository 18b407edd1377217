"""What published fleets say before a log is read: the one source of the default priors.

Public unplanned failure rates, in failures per 1,000 node-days of 8 GPUs:

- 6.50 and 2.34 on Meta's RSC-1 and RSC-2, jobs of more than 128 GPUs; the same paper's mean times to
  failure at 8 and 1,024 GPUs imply 21 to 24 (Kokolis et al., arXiv 2410.21680).
- 3.79 in the pre-training of Llama 3 405B: 419 unplanned interruptions of 2,048 nodes in 54 days; its
  components range from 0.018 to 1.34, a standard deviation of 1.4 on the log scale (arXiv 2407.21783,
  table 5).

So a whole cluster's rate is centred on 4 per 1,000 node-days, with room for a factor of ten either way.
"""

TOTAL_RATE = 4e-3
"""Centre of the prior of a cluster's rate over all its components, per node-day."""

LEVEL_SD = 1.5
"""How unsure that centre is, on the log scale: 90 % of the prior within a factor of 12."""

COMPONENT_SD = 1.5
"""Scale of the half-normal prior of the spread between components, on the log scale."""

CLUSTER_SD = 1.0
"""Scale of the half-normal prior of the spread between clusters (RSC-1 to RSC-2: 1.0 on the log scale)."""
