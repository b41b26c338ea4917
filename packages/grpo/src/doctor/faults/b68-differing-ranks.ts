import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b68: Fault = {
  code: 'B68',
  name: 'differing ranks',
  title: 'The processes of a run train different weights',
  checks: [
    stepCheck({
      code: 'B68.weights',
      title: 'All processes have the same weights after each update',
      stage: 'optimizer',
      level: 7,
      rank: 1,
      threshold: 'the checksums of the weights are equal on all ranks after every update',
      sources: ['huggingface/trl#7245', 'jingyaogong/minimind#853'],
      why: 'A loss that is computed on the unwrapped model reduces no gradient under DDP: each rank keeps its own, and only those of rank 0 are saved.',
      remedy:
        'Sum the gradients over the ranks before each update: run the forward pass of the loss through the wrapper that does so.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B39', 'B40', 'B55'],
      proofs: ['native'],
      needs: ['updates'],
      test({ updates }) {
        const known = updates.flatMap(({ weightChecksums }, update) =>
          weightChecksums && weightChecksums.length > 1 ? [{ update, weightChecksums }] : [],
        );
        if (known.length === 0) return notApplicable('updates.weightChecksums of several ranks');
        const [first] = known.filter(({ weightChecksums: own }) => own.some((sum) => sum !== own[0]));
        if (!first) return pass({ ranks: known[0]!.weightChecksums.length });
        const { update, weightChecksums: own } = first;
        const differing = own.filter((sum) => sum !== own[0]).length;
        const rank = own.findIndex((sum) => sum !== own[0]);
        return fail({ update: update + 1, ranks: own.length, differing, rank });
      },
      says: (m) =>
        say`Rank ${m.rank} has other weights than rank 0 after update ${m.update}: of ${m.ranks} ranks ${m.differing} differ.`,
    }),
  ],
};
