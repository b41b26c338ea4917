import { describe, expect, it } from 'vitest';
import { parseThinkAnswer } from './think-answer.js';

const closed = { thinkOpened: false };
const opened = { thinkOpened: true };

describe('parseThinkAnswer', () => {
  it.each([
    '<think>1+1</think> <answer>2</answer>',
    '<think>1+1</think><answer>2</answer>',
    '\n<think>\n1+1\n</think>\n\n<answer>\n2\n</answer>\n',
  ])('takes %j apart', (text) => {
    expect(parseThinkAnswer(text, closed)).toEqual({
      format: true,
      think: '1+1',
      answer: '2',
      problem: null,
    });
  });

  it('takes a completion apart whose <think> is in the prompt', () => {
    expect(parseThinkAnswer(' 1+1</think> <answer>2</answer>', opened)).toEqual({
      format: true,
      think: '1+1',
      answer: '2',
      problem: null,
    });
    expect(parseThinkAnswer('1+1</think> <answer>2</answer>', closed).problem).toBe('no <think>');
    expect(parseThinkAnswer('<think>1</think> <answer>2</answer>', opened).problem).toBe(
      '<think> again, though the prompt opened it',
    );
  });

  it('keeps empty parts and foreign tags inside', () => {
    expect(parseThinkAnswer('<think></think><answer></answer>', closed)).toMatchObject({
      think: '',
      answer: '',
    });
    expect(parseThinkAnswer('<think><b>1</b></think><answer>2</answer>', closed)).toMatchObject({
      think: '<b>1</b>',
    });
  });

  it.each([
    ['', 'no <think>'],
    ['<think>1', 'no </think>'],
    ['<think>1</think> <answer>2', 'no </answer>'],
    ['<think>1</think> 2', 'no <answer>'],
    ['<think>1</think><think>1</think><answer>2</answer>', '2 times <think>'],
    ['<think>1</think><answer>2</answer><answer>3</answer>', '2 times <answer>'],
    ['<answer>2</answer><think>1</think>', 'tags out of order'],
    ['<think><answer>2</answer></think>', 'tags out of order'],
    ['So <think>1</think><answer>2</answer>', 'text before <think>'],
    ['<think>1</think> so <answer>2</answer>', 'text between </think> and <answer>'],
    ['<think>1</think> <answer>2</answer>.', 'text after </answer>'],
    ['<Think>1</Think> <answer>2</answer>', 'no <think>'],
  ])('refuses %j: %s', (text, problem) => {
    expect(parseThinkAnswer(text, closed)).toEqual({ format: false, think: null, answer: null, problem });
  });
});
