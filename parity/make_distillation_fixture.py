"""The loss of on-policy distillation as TRL's GKD trainer has it at beta = 1 (reverse KL over the vocabulary, each token alike),
with its gradients, for a teacher of another width. Writes fixtures/distillation.json.
"""

import json
from pathlib import Path

import torch
import trl
from trl.experimental.gkd import GKDTrainer

OUT = Path(__file__).parent / "fixtures" / "distillation.json"
TOKENS, VOCABULARY, STUDENT, TEACHER = 7, 19, 5, 8

torch.manual_seed(20)
values = {
    "studentHidden": torch.randn(TOKENS, STUDENT),
    "studentHead": 0.3 * torch.randn(VOCABULARY, STUDENT),
    "teacherHidden": torch.randn(TOKENS, TEACHER),
    "teacherHead": 0.3 * torch.randn(VOCABULARY, TEACHER),
}
hidden, head = (values[name].double().requires_grad_() for name in ("studentHidden", "studentHead"))
teacher = values["teacherHidden"].double() @ values["teacherHead"].double().T
cases = []
for temperature in (1.0, 0.7):
    each = GKDTrainer.generalized_jsd_loss(hidden @ head.T, teacher, beta=1, temperature=temperature, reduction="none").sum(-1)
    loss = GKDTrainer.generalized_jsd_loss(
        (hidden @ head.T)[None],
        teacher[None],
        labels=torch.zeros(1, TOKENS, dtype=torch.long),
        beta=1,
        temperature=temperature,
    )
    gradients = torch.autograd.grad(loss, (hidden, head))
    cases.append(
        {
            "temperature": temperature,
            "loss": loss.item(),
            "kl": each.tolist(),
            "hiddenGradient": gradients[0].tolist(),
            "headGradient": gradients[1].tolist(),
        }
    )
OUT.write_text(json.dumps({"trl": trl.__version__, **{name: value.tolist() for name, value in values.items()}, "cases": cases}) + "\n")
