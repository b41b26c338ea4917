import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { noGrad } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import type { UserError } from '../../errors/user-error.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { loadModel } from '../../models/index.js';
import type { MetricsRow } from '../../observe/metrics.js';
import { atOnce, type LocalPeers } from '../../step/peers/local-peers.js';
import { distance } from '../../step/peers/ranks.test.helper.js';
import type { Stages } from '../../step/stages.js';
import { openRun } from '../open-run.js';
import { halfOfTheTokens, remainsOf, resolvedRun } from '../run.test.helper.js';
import type { RunEnd } from '../run-steps.js';
import { trainGrpo } from '../train-grpo.js';
import { follow } from './follow.js';

interface Given {
  output: string;
  settings?: readonly string[];
  resume?: boolean;
  /** Interrupts the process of a rank after this step. */
  interrupt?: { rank: number; after: number };
  onStep?(step: number): void;
  /** What the process of a rank sees of the others, in place of them. */
  peers?: (own: LocalPeers) => LocalPeers;
  /** Stages of the process of a rank. */
  stages?: (rank: number) => Partial<Stages>;
}

/** A run of 8 steps by so many processes; returns what that of rank 0 came to. */
async function run(size: number, { output, settings = [], resume = false, ...given }: Given) {
  const rows: MetricsRow[] = [];
  const notes: string[] = [];
  const resolved = resolvedRun({
    output,
    settings: ['rollout.invariant=true', 'rollout.prompts=3', 'optimizer.learningRate=1e-3', ...settings],
  });
  const interrupts = Array.from({ length: size }, () => new AbortController());
  const [end] = await atOnce(size, async (own): Promise<RunEnd | undefined> => {
    const peers = given.peers?.(own) ?? own;
    const { rank } = peers;
    const { signal } = interrupts[rank]!;
    const stages = { score: halfOfTheTokens, ...given.stages?.(rank) };
    if (rank > 0) {
      await follow(resolved, peers, { stages, signal });
      return undefined;
    }
    const step = (row: MetricsRow) => {
      rows.push(row);
      given.onStep?.(row.step);
      if (row.step === given.interrupt?.after) interrupts[given.interrupt.rank]!.abort();
    };
    const watcher = { step, note: (text: string) => void notes.push(text) };
    const several = size > 1 ? { peers } : {};
    await using session = await openRun(resolved, { resume, signal, watcher, ...several });
    return await trainGrpo(session, stages);
  });
  return { end: end!, rows, notes };
}

/** Sampled ids, in their order. */
const completionsOf = (output: string) => readFileSync(join(output, 'completions.jsonl'), 'utf8');

/** The step of a checkpoint. */
function stepSaved(output: string, checkpoint: string): number {
  const file = join(output, 'checkpoints', checkpoint, 'trainer', 'state.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { step: number }).step;
}

/** The weights that a run of 8 steps leaves. */
function weightsOf(output: string): Map<string, Float32Array> {
  const { decoder } = loadModel(join(output, 'checkpoints', 'step-8'), { dtype: 'float32' });
  const weights = [...decoder.parameters].map(
    ([name, tensor]) => [name, tensor.toTypedArray() as Float32Array] as const,
  );
  decoder.dispose();
  return new Map(weights);
}

describe('several processes', () => {
  it.each([
    { settings: [], name: 'the standard settings' },
    {
      settings: [
        'kl.beta=0.05',
        'kl.referenceEvery=2',
        'groups.replay=4',
        'objective.oldLogprobs=recompute',
        'groups.refills=1',
      ],
      name: 'all state',
    },
    { settings: ['lora.rank=2', 'kl.beta=0.05'], name: 'adapters' },
  ])('train the run of one, with $name', async ({ settings }) => {
    const [alone, several] = [join(tempFolder(), 'alone'), join(tempFolder(), 'several')];
    const one = await run(1, { output: alone, settings });
    const two = await run(2, { output: several, settings });
    expect(two.end.interrupted).toBe(false);
    expect(two.notes).toEqual(one.notes);
    expect(completionsOf(several)).toBe(completionsOf(alone));
    expect(two.rows.length).toBe(8);
    for (const [i, row] of two.rows.entries()) {
      expect(Object.keys(row)).toEqual(Object.keys(one.rows[i]!));
      expect(Math.abs(row.loss! - one.rows[i]!.loss!)).toBeLessThan(1e-4);
    }
    if (settings.every((own) => !own.startsWith('lora')))
      expect(distance(weightsOf(several), weightsOf(alone))).toBeLessThan(1e-4);
  });

  it('go on after a stop with any number of processes', async () => {
    const settings = [
      'kl.beta=0.05',
      'kl.referenceEvery=2',
      'groups.replay=4',
      'objective.oldLogprobs=recompute',
    ];
    const whole = join(tempFolder(), 'whole');
    await run(2, { output: whole, settings });
    for (const size of [2, 3, 1]) {
      const output = join(tempFolder(), `resumed-${size}`);
      const first = await run(2, { output, settings, interrupt: { rank: 0, after: 4 } });
      expect(first.end.interrupted).toBe(true);
      await run(size, { output, settings, resume: true });
      expect(completionsOf(output)).toBe(completionsOf(whole));
      expect(distance(weightsOf(output), weightsOf(whole))).toBeLessThan(1e-4);
      if (size === 2) expect(remainsOf(output).weights).toBe(remainsOf(whole).weights);
    }
  });

  it('stop together where one of them is interrupted, saved', async () => {
    const output = join(tempFolder(), 'run');
    const { end, notes } = await run(2, { output, interrupt: { rank: 1, after: 3 } });
    expect(end.interrupted).toBe(true);
    expect(notes.at(-1)).toBe('Step 4 is abandoned: a resumed run does it again.');
    expect(stepSaved(output, 'step-3')).toBe(3);
  });
});

describe('an error', () => {
  it.each([0, 1])(
    'of rank %i ends all, with its name and reason, and the last step is saved',
    async (failing) => {
      const output = join(tempFolder(), 'run');
      let isBroken = false;
      const score: Stages['score'] = async (...args) => {
        if (isBroken) throw new Error('the disk is gone');
        return await halfOfTheTokens(...args);
      };
      const ran = run(2, {
        output,
        onStep: (step) => {
          isBroken = step === 3;
        },
        stages: (rank) => (rank === failing ? { score } : {}),
      });
      await expect(ran).rejects.toThrow(failing === 0 ? 'the disk is gone' : 'rank 1: the disk is gone');
      expect(stepSaved(output, 'step-3-error')).toBe(3);
    },
  );

  it('of a rank that keeps its gradients for itself is named by the doctor', async () => {
    const output = join(tempFolder(), 'run');
    const peers = (own: LocalPeers): LocalPeers => {
      const sum: LocalPeers['sum'] = async (tensors) => {
        const before = noGrad(() => tensors.map((tensor) => tensor.clone()));
        await own.sum(tensors);
        noGrad(() => tensors.forEach((tensor, i) => void tensor.copy_(before[i]!)));
      };
      return own.rank === 1 ? { ...own, sum } : own;
    };
    const error = await run(2, { output, peers }).catch((thrown: UserError) => thrown);
    expect((error as UserError).message).toBe('step 1: after update 1 rank 1 has other weights than rank 0');
    expect((error as UserError).hint).toMatch(
      /^The doctor, of step 1: B68\.weights fail: Rank 1 has other weights/,
    );
  });

  it('of a setting that several cannot follow comes before there is a run', async () => {
    const output = join(tempFolder(), 'run');
    const settings = ['kl.kindKey=kind', 'train.kindGradients=1'];
    await expect(run(2, { output, settings })).rejects.toThrow('train.kindGradients compares gradients');
    expect(() => completionsOf(output)).toThrow('ENOENT');
  });
});
