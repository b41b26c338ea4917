import { testStepCheck } from '../planted.test.helper.js';
import { probed } from '../plants.test.helper.js';

testStepCheck('B65.probe', [
  { name: 'a cache of the new weights', plant: () => {}, verdict: 'pass' },
  {
    name: 'keys and values of the old ones',
    plant: probed((probe) => ({ warm: probe.rescored.map((value, t) => value + 0.03 * Math.sin(t)) })),
    verdict: 'fail',
    measured: { server: '127.0.0.1:8000', expected: 'step-2', previous: 'step-1' },
  },
  {
    name: 'within the rounding of the number types, and far beyond that of the server',
    plant: probed((probe) => ({
      bound: 0.05,
      warm: probe.rescored.map((value, t) => value + 0.05 * Math.sin(t)),
    })),
    verdict: 'fail',
  },
  {
    name: 'rounding twice that of the cold probe',
    plant: probed((probe) => ({ warm: probe.rescored.map((value, t) => value + 1e-5 * (t % 3)) })),
    verdict: 'pass',
  },
  {
    name: 'an update too small to show in a stale cache',
    plant: probed((probe) => ({ before: probe.trainer.map((value, t) => value + (t % 2 ? 1e-5 : -1e-5)) })),
    verdict: 'not applicable',
  },
  {
    name: 'stale weights, which are another fault',
    plant: probed((probe) => ({
      cold: probe.before!.slice(),
      warm: probe.rescored.map((value, t) => value + 0.03 * Math.sin(t)),
    })),
    verdict: 'not applicable',
  },
]);
