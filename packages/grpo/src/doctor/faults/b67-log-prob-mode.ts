import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { temperatureOf } from '../measures/plain-scoring.js';
import { notApplicable } from '../outcome.js';
import { say } from '../sentence.js';

export const b67: Fault = {
  code: 'B67',
  name: 'log-prob mode',
  title: 'A server’s log-probs are those before the temperature',
  checks: [
    stepCheck({
      code: 'B67.temperature',
      title: 'A server’s log-probs are those of the distribution that it drew from',
      stage: 'generation',
      level: 3,
      rank: 2,
      threshold:
        'where a server sampled at another temperature than 1, its log-probs of a completion fit the declared temperature and not 1, within the tolerance of the precision',
      sources: ['huggingface/trl#4159', 'vllm-project/vllm#49577'],
      why: 'vLLM answers with log-probs of the unscaled logits unless it is told otherwise.',
      remedy:
        'Start vLLM with --logprobs-mode processed_logprobs. If the server truly samples at temperature 1, pass the temperature with every request.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B18', 'B19', 'B39', 'B55'],
      proofs: ['native'],
      needs: ['servers', 'probes', 'declared'],
      test({ probes, declared }, record) {
        const { temperature } = declared.rollout ?? {};
        if (temperature === undefined || temperature === 1)
          return notApplicable('a temperature other than 1');
        const outcome = temperatureOf('sampler', probes, temperature, record);
        return outcome.verdict !== 'fail' || outcome.measured.fits === 1
          ? outcome
          : notApplicable('log-probs of temperature 1');
      },
      says: (m) =>
        say`The server’s log-probs are those of temperature 1 (gap ${m.gapThere} nat per token), not of the declared ${m.declared} (gap ${m.gap}).`,
    }),
  ],
};
