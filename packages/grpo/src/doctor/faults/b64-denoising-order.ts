import { largest } from '../../maths/moments.js';
import type { DiffusionRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { type Evidence, fail, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b64: Fault = {
  code: 'B64',
  name: 'denoising order',
  title: 'A masked-diffusion model does not fill its completions as declared',
  checks: [
    stepCheck({
      code: 'B64.order',
      title: 'Blocks are filled one after another, in equal steps',
      stage: 'generation',
      level: 2,
      rank: 3,
      threshold:
        'a block is full before the next begins; each step of a block fills equally many places, the first ones one more where that does not divide; where blocks divide a region of declared.rollout.maxNewTokens places, there are as many steps as diffusion.steps, at least one per block and at most one per place',
      sources: ['arXiv:2502.09992', 'arXiv:2504.12216'],
      why: 'Steps and blocks decide which tokens the model saw when it predicted another.',
      remedy: 'Fill only masked places of the current block, and count the steps over the whole region.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B58'],
      proofs: ['native'],
      needs: ['diffusion', 'orders'],
      test({ diffusion, orders }, { declared }) {
        const schedule = { ...diffusion, whole: declared?.rollout?.maxNewTokens };
        const wrong = orders.flatMap((order, completion): Evidence[] => {
          const text = order.length === 0 ? undefined : disorder(order, schedule);
          return text === undefined ? [] : [{ completion, text }];
        });
        const measured = { completions: orders.length, wrong: wrong.length, what: wrong[0]?.text ?? '' };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) => say`${m.wrong} of ${m.completions} completions are filled in a wrong order: ${m.what}.`,
    }),
    stepCheck({
      code: 'B64.region',
      title: 'A completion is its region up to the first end',
      stage: 'tokens',
      level: 2,
      rank: 3,
      threshold:
        'the ids of the completion begin the region; no place still holds the mask; a completion that ends before its region is one that `stop` finished, and one that ends with it and without an end token is cut off',
      sources: ['arXiv:2502.09992'],
      why: 'A mask that is left is a token that was never drawn.',
      remedy: 'Forbid the mask token while sampling, and cut the region after its first end token.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B07', 'B20'],
      proofs: ['native'],
      needs: ['diffusion', 'regions', 'ids'],
      test({ diffusion: { maskId }, regions, ids }, record) {
        const finish = inputs.finish.from(record);
        const wrong = regions.flatMap((region, completion): Evidence[] => {
          const own = ids[completion]!;
          const masked = region.indexOf(maskId);
          if (masked >= 0) return [{ completion, token: masked, text: 'a place still holds the mask' }];
          const token = own.findIndex((id, place) => id !== region[place]);
          if (token >= 0) return [{ completion, token, text: 'its tokens are not those of the region' }];
          return own.length < region.length && finish?.[completion] === 'length'
            ? [{ completion, text: 'it is cut off before its region ends' }]
            : [];
        });
        const measured = { completions: regions.length, wrong: wrong.length, what: wrong[0]?.text ?? '' };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) => say`${m.wrong} of ${m.completions} completions do not fit what was filled: ${m.what}.`,
    }),
  ],
};

/** The steps of a region: how many places a block has, and how many steps a whole region of so many places takes. */
type Schedule = Pick<DiffusionRecord, 'blockLength' | 'steps'> & { whole: number | undefined };

/** What is wrong with the steps that filled a region, in words. */
function disorder(
  order: Int32Array,
  { blockLength = order.length, steps, whole }: Schedule,
): string | undefined {
  let next = 0;
  for (let start = 0; start < order.length; start += blockLength) {
    const block = order.subarray(start, start + blockLength);
    const early = block.findIndex((step) => step < next);
    if (early >= 0)
      return say`place ${start + early} is filled in step ${block[early]!}, and its block begins in step ${next}`;
    const passes = largest(block) - next + 1;
    for (let i = 0; i < passes; i++) {
      const right = Math.floor(block.length / passes) + (i < block.length % passes ? 1 : 0);
      const found = block.filter((step) => step === next + i).length;
      if (found !== right) return say`step ${next + i} fills ${found} places in place of ${right}`;
    }
    next += passes;
  }
  const isEven = order.length === whole && order.length % blockLength === 0;
  const declared = Math.max(Math.min(steps ?? next, order.length), order.length / blockLength);
  return isEven && next !== declared ? say`${next} steps fill it in place of ${declared}` : undefined;
}
