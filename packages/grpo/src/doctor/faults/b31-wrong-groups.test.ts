import { testStepCheck } from '../planted.test.helper.js';
import { declare, scaled, unscored } from '../plants.test.helper.js';

testStepCheck('B31.grouping', [
  {
    name: 'rewards of [p1, p2, …] read as [p1, p1, …]',
    plant: (record) => {
      const { completions } = record;
      const truth = completions!.prompt!;
      completions!.prompt = truth.map((_, b) => b % 6);
      scaled(1e-4, 1)(record);
      completions!.prompt = truth;
    },
    verdict: 'fail',
  },
  { name: 'rewards that were not graded', plant: unscored, verdict: 'pass' },
  {
    name: 'groups of which a part is on another machine',
    plant: declare({ rollout: { group: 8 } }),
    verdict: 'not applicable',
  },
]);
