import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { remainsOf, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

interface State {
  problems: number;
}

it('a run that refills, replays and keeps the ids it could draw is the same when it is resumed', async () => {
  const root = tempFolder();
  const settings = [
    `model=${await tinyModelFolder()}`,
    'optimizer.learningRate=0.01',
    'objective.oldLogprobs=recompute',
    'groups.refills=1',
    'groups.replay=3',
    'groups.overlongBuffer=2',
    'rollout.prompts=3',
    'rollout.topP=0.9',
    'checkpoint.every=2',
  ];
  const at = (name: string) => ({ output: join(root, name), settings });
  const replayOf = (name: string, step = 8) =>
    readFileSync(join(root, name, 'checkpoints', `step-${step}`, 'trainer', 'replay.jsonl'), 'utf8');
  const whole = await run(at('whole'));

  await run({ ...at('stopped'), stopAfter: 3 });
  await run({ ...at('stopped'), resume: true });
  await expect(run({ ...at('crashed'), crashAfter: 5 })).rejects.toThrow('the lights went out');
  await run({ ...at('crashed'), resume: true });
  const expected = remainsOf(join(root, 'whole'));
  for (const name of ['stopped', 'crashed']) {
    expect(remainsOf(join(root, name))).toEqual(expected);
    expect(replayOf(name)).toBe(replayOf('whole'));
  }

  // All of it took place, and the position in the data follows from what was sampled.
  const total = (name: string) => whole.rows.reduce((sum, row) => sum + row[name]!, 0);
  expect(total('groups_refilled')).toBeGreaterThan(0);
  expect(total('groups_replayed')).toBeGreaterThan(0);
  expect((JSON.parse(expected.state) as State).problems).toBe(total('groups_sampled'));
  expect(replayOf('whole').split('\n')).toHaveLength(3 + 1);
  expect(replayOf('whole').split('"support":{')).toHaveLength(3 * 2 + 1);
  expect(expected.completions).toMatch(/"replayed_from":\d/);
  expect(expected.metrics).toContain('rewards/overlong/mean');
});
