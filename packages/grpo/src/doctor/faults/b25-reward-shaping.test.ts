import { testLogCheck, times } from '../planted.test.helper.js';

const noise = (i: number) => 0.05 * ((7 * i) % 5);
const rising = times(40, (i) => i / 10 + noise(i));
const falling = times(40, (i) => Math.max(0, 0.5 - i / 50) + noise(i) / 5);

testLogCheck('B25.log', [
  {
    name: 'a penalty that outweighs the answer',
    metrics: { reward: rising, 'rewards/correct/mean': falling, 'rewards/brevity/mean': rising },
    verdict: 'warn',
    measured: { name: 'correct' },
  },
  {
    name: 'a penalty that the answer outweighs',
    metrics: { reward: rising, 'rewards/correct/mean': rising, 'rewards/brevity/mean': falling },
    verdict: 'pass',
  },
  {
    name: 'an answer that is lost with the total',
    metrics: { reward: falling, 'rewards/correct/mean': falling, 'rewards/brevity/mean': falling },
    verdict: 'pass',
  },
  {
    name: 'an answer below 0 that loses less than half of what it gained',
    metrics: {
      reward: rising,
      'rewards/correct/mean': times(40, (i) => (i < 10 ? -2 : i < 30 ? -0.6 : -0.75) + noise(i) / 10),
      'rewards/brevity/mean': rising,
    },
    verdict: 'pass',
  },
  {
    name: 'an answer below 0 that falls',
    metrics: {
      reward: rising,
      'rewards/correct/mean': times(40, (i) => (i < 20 ? -0.2 : -1) + noise(i) / 10),
      'rewards/brevity/mean': rising,
    },
    verdict: 'warn',
  },
  {
    name: 'one function',
    metrics: { reward: rising, 'rewards/correct/mean': rising },
    verdict: 'not applicable',
  },
]);
