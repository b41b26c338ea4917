"""Step records of a TRL GRPO run, for `npx grpo doctor`.

    from grpo_trace import attach
    recording = attach(trainer)     # before trainer.train(); any GRPOTrainer, or a subclass of yours
    trainer.train()
    recording.detach()              # only to go on without it

Writes OUTPUT_DIR/steps/NNNNNN/step.json and step.safetensors for the first two rollouts and for every tenth: what was
sampled, what was scored, rewards, advantages, log-probs, gradient norm, and how far the weights moved. The first two
rollouts and every fiftieth are audited: rewards, log-probs, gradient and update are computed again on the side, and the
record holds both numbers. A record holds what the run computed; the rest is this package's own: the weighted sums of
rewards, which TRL does not hand out (its logged mean must agree), the shares of changed weights, the probes, which
score a few rows again, and the audit.

No number of the run changes: listeners pass arguments and results on, and every random state is put back after a probe.
Nothing fails in silence: what a version of TRL does not offer is named by a warning, and an essential method that is
missing or never called is an error on the first step.

Letters of shapes: B rows of a micro-batch, C completion width, V vocabulary.
"""

from .attach import Recording, attach
from .errors import RecorderError

__all__ = ["Recording", "RecorderError", "attach"]
