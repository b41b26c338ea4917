import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeArithmeticModelFiles } from '../../tasks/arithmetic/arithmetic-model.js';
import { Tokenizer } from '../../text/tokenizer.js';
import { ChoiceText, type TextOptions } from './choice-text.js';

const dir = mkdtempSync(join(tmpdir(), 'grpo-choice-'));
let tokenizer: Tokenizer;
let end: number;
beforeAll(async () => {
  await writeArithmeticModelFiles(dir);
  tokenizer = Tokenizer.load(dir);
  end = tokenizer.eosId!;
});
afterAll(() => rmSync(dir, { recursive: true }));

/** What is told of a completion, part by part. */
function told(ids: readonly number[], reason: 'stop' | 'length', options: Partial<TextOptions> = {}) {
  const model = { tokenizer, endIds: new Set([end]) };
  const text = new ChoiceText(model, { stop: [], includesStop: false, skipsSpecial: true, ...options });
  const parts = ids.slice(0, -1).map((id) => text.add(id));
  const last = text.end(ids, reason);
  return { parts: [...parts, last.text], stopReason: last.stopReason };
}

describe('the text of a choice', () => {
  it('is told in whole characters', () => {
    const ids = tokenizer.encode('aé🙂b');
    expect(ids).toHaveLength(8);
    expect(told(ids, 'length').parts).toEqual(['a', '', 'é', '', '', '', '🙂', 'b']);
  });

  it('has a mark where a character was cut off, and no end token', () => {
    const half = tokenizer.encode('é')[0]!;
    expect(told([half], 'length').parts).toEqual(['\ufffd']);
    const ended = [...tokenizer.encode('ab'), end];
    expect(told(ended, 'stop')).toEqual({ parts: ['a', 'b', ''], stopReason: null });
    const shown = { includesStop: true, skipsSpecial: false };
    expect(told(ended, 'stop', shown).parts.join('')).toBe(`ab${tokenizer.eosToken}`);
  });

  it('is cut before a stop string, or after it, and holds back what may be its beginning', () => {
    const ids = tokenizer.encode('x=1;;');
    const stop = ['none', ';;'];
    expect(told(ids, 'stop', { stop })).toEqual({ parts: ['', '', '', 'x', '=1'], stopReason: ';;' });
    expect(told(ids, 'stop', { stop, includesStop: true }).parts.join('')).toBe('x=1;;');
    expect(told(ids, 'length', { stop: ['none'] }).parts.join('')).toBe('x=1;;');
  });

  it('ends at the stop string that the last token completed, not at an earlier one', () => {
    const ids = tokenizer.encode('a;b;');
    expect(told(ids, 'stop', { stop: [';'] }).parts.join('')).toBe('a;b');
  });

  it('is the same in parts as at once, for any bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 2, max: 261 }), { minLength: 1 }), fc.string(), (ids, stop) => {
        const options = { stop: stop === '' ? [] : [stop], skipsSpecial: false };
        expect(told(ids, 'length', options).parts.join('')).toBe(tokenizer.decode(ids));
      }),
    );
  });
});
