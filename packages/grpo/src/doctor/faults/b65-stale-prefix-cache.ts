import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { cacheOf, probesOf, weightsOf } from '../measures/weight-probe.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b65: Fault = {
  code: 'B65',
  name: 'stale prefix cache',
  title: 'A server continues prompts that it cached under other weights',
  checks: [
    stepCheck({
      code: 'B65.probe',
      title: 'A cached prompt is continued as it would be after the cache was emptied',
      stage: 'weight sync',
      level: 1,
      rank: 10,
      threshold:
        'root mean square distance between the log-probs of tokens that the server sampled before its cache was emptied and the trainer’s at most 4 times that of the probe’s completion after it, or half of the bound of the number types where that is more, and within that bound; passes only where the update moved the log-probs by more',
      sources: ['NVIDIA-NeMo/RL#4018', 'vllm-project/vllm#42125', 'verl-project/verl#6523'],
      why: 'The keys and values of a cached prompt are those of the weights that computed it.',
      remedy:
        'Empty the prefix cache after every update of the weights (vLLM: /reset_prefix_cache, SGLang: flush_cache=true), and load an adapter under a new name each time.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B39', 'B40', 'B55'],
      proofs: ['native'],
      needs: ['servers'],
      test(_, record) {
        const asked = probesOf(record).filter(
          ({ probe }) => !['stale', 'other'].includes(weightsOf(probe).weights),
        );
        const judged = asked.map(({ name, probe }) => ({ name, probe, ...cacheOf(probe) }));
        const stale = judged.find(({ cache }) => cache === 'stale');
        if (stale) {
          const { name, distance, bound, probe } = stale;
          const { expected, previous = 'unknown' } = probe;
          const cold = weightsOf(probe).distance;
          return fail({ server: name, expected, previous, distance, cold, bound });
        }
        return judged.length > 0 && judged.every(({ cache }) => cache === 'current')
          ? pass({ servers: judged.length })
          : notApplicable('a probe of an update that is large enough to tell old weights from new ones');
      },
      says: (m) =>
        say`${m.server} continues prompts from a stale prefix cache: with the weights ${m.expected} its log-probs are ${m.distance} nats off the trainer’s (root mean square), and ${m.cold} after its cache was emptied; rounding explains ${m.bound}. The weights before were ${m.previous}.`,
    }),
  ],
};
