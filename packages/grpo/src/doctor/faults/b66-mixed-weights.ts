import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { replayedOf } from '../inputs.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b66: Fault = {
  code: 'B66',
  name: 'mixed weights',
  title: 'Completions of a step were sampled with different weights',
  checks: [
    stepCheck({
      code: 'B66.version',
      title: 'All completions of a step were sampled with the weights that were handed over',
      stage: 'weight sync',
      level: 1,
      rank: 11,
      threshold:
        'one version of the weights in all completions that the step sampled: the one that was handed over, where the record has it',
      sources: ['vllm-project/vllm#42125', 'huggingface/trl#6007'],
      why: 'The ratio of a completion is that of the policy to the weights that sampled it.',
      remedy:
        'Wait until every server has acknowledged the new weights before a request is sent, and refuse answers of another version.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B39', 'B40', 'B55'],
      proofs: ['native'],
      needs: ['weightVersions'],
      test({ weightVersions }, record) {
        const isReplayed = replayedOf(record);
        const own = [...weightVersions.keys()].filter((b) => !isReplayed(b));
        if (own.length === 0) return notApplicable('completions that this step sampled');
        const handedOver = record.servers?.find(({ probe }) => probe)?.probe?.expected;
        const expected = handedOver ?? weightVersions[own[0]!]!;
        const others = own.filter((b) => weightVersions[b] !== expected);
        const evidence = others.map(
          (completion): Evidence => ({ completion, values: { version: weightVersions[completion]! } }),
        );
        const measured = { completions: own.length, others: others.length, expected };
        const other = others[0] === undefined ? '' : weightVersions[others[0]]!;
        return others.length > 0 ? fail({ ...measured, other }, evidence) : pass(measured);
      },
      says: (m) =>
        say`${m.others} of ${m.completions} completions were not sampled with the weights ${m.expected}, but with others, such as ${m.other}.`,
    }),
  ],
};
