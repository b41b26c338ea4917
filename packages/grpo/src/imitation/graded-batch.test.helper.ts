import { Batch } from '../step/batch.js';
import type { Task } from '../tasks/task.js';

/** Two problems with four completions each; of the second problem's first completion the reward failed. */
const REWARDS = [0, 1, 1, 2, Number.NaN, 0.5, 1.5, 1];
const TEXTS = ['a', 'yes', 'yes', 'yes b', 'yes', 'no', 'c', 'yes d'];

export const batch = new Batch({
  problems: ['1', '2'].map((prompt) => ({ prompt, row: 'yes' })),
  prompts: [1, 2].map((id) => ({ text: String(id), ids: [id], spans: [] })),
  completions_B: TEXTS.map((text, b) => {
    const logprobs = new Float32Array();
    return { ids: [10 + b], text, finishReason: 'stop', logprobs, sampledLogprobs: logprobs };
  }),
  rewardTable: {
    names: ['stub'],
    weights: [1],
    columns: [Float64Array.from(REWARDS)],
    unscored: Uint8Array.from(REWARDS, (reward) => Number(Number.isNaN(reward))),
    failures: [],
  },
});

const isCorrect = (text: string, row: unknown) => text.startsWith(String(row));
export const task: Task = { name: 'stub', train: [], eval: [], rewards: [], isCorrect, stop: [] };
