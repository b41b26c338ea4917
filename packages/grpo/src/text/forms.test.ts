import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { all, firstOther, forms, loadForm, type Measure, third } from './forms.test.helper.js';
import { tokenRanges } from './spans.js';
import { TextStream } from './text-stream.js';

/** Forms that lose something on the way to ids. */
const LOSSY = /without bytes|some bytes|unknown|words with|T5|ALBERT|NF[CD]|stripped/;

/** Ids in no order, as `measured` of the Python script takes them. */
const drawnIds = (count: number, vocabSize: number): number[][] =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: 1 + (i % 9) }, (_, k) => (i * 7919 + k * 104729 + k * k * 31) % vocabSize),
  );

describe.each(Object.keys(forms))('%s, against the Rust library', (name) => {
  const form = forms[name]!;
  const tokenizer = loadForm(name);
  const strings = (form.all ? all : third).filter((_, i) => !form.without.includes(i));
  const ids = strings.map((text) => tokenizer.encode(text));
  const fifth = ids.filter((_, i) => i % 5 === 0);
  const same = (measure: Measure, ours: readonly unknown[]) =>
    expect(firstOther(strings, ours, form.hashes[measure])).toBeUndefined();

  it('gives every string the same ids, without and with special tokens', () => {
    expect(strings.length).toBeGreaterThan(900);
    same('ids', ids);
    const whole = strings.map((text) => tokenizer.encode(text, { specialTokens: true }));
    same('withSpecials', whole);
  });

  it('gives the ids the same text: whole, without special tokens, one by one, and in any order', () => {
    const texts = ids.map((each) => tokenizer.decode(each));
    same('decoded', texts);
    const skipped = ids.map((each) => tokenizer.decode(each, { skipSpecial: true }));
    same('skipped', skipped);
    const single = ids.map((each) => each.slice(0, 12).map((id) => tokenizer.decode([id])));
    same('single', single);
    const drawn = drawnIds(strings.length, tokenizer.vocabSize).map((some) => [some, tokenizer.decode(some)]);
    same('drawn', drawn);
  });

  it('tells the same text when the ids come one by one', () => {
    const other = [...fifth, ...drawnIds(200, tokenizer.vocabSize)].filter((each, i) => {
      const skipSpecial = i % 2 === 0;
      const stream = new TextStream(tokenizer, skipSpecial);
      const told = each.map((id) => stream.add(id)).join('') + stream.end();
      return told !== tokenizer.decode(each, { skipSpecial });
    });
    expect(other).toEqual([]);
  });

  it('has tokens whose bytes are the text, but for spaces in front', () => {
    const other = fifth.filter((each) => {
      const text = tokenizer.decode(each);
      const spelled = Buffer.concat(each.map((id) => tokenizer.bytesOf(id))).toString();
      const front = spelled.slice(0, spelled.length - text.length);
      // In a run of bytes that is no UTF-8 each byte is told as U+FFFD.
      return !text.includes('\ufffd') && !(/^ *$/.test(front) && spelled === front + text);
    });
    expect(other).toEqual([]);
  });

  it('finds the tokens of a range of characters', () => {
    let lost = 0;
    const other = fifth.filter((own, i) => {
      const text = strings[5 * i]!;
      const chars = Array.from(text);
      const front = chars.slice(0, chars.length / 3).join('');
      const middle = chars.slice(chars.length / 3, (2 * chars.length) / 3 + 1).join('');
      const range = { start: front.length, end: front.length + middle.length };
      const tokens = tokenRanges(tokenizer, text, own)?.(range);
      if (tokens === undefined) {
        lost++;
        return false;
      }
      const bytes = Buffer.concat(own.slice(tokens.start, tokens.end).map((id) => tokenizer.bytesOf(id)));
      // A space may have been put behind an added token within.
      return !bytes.toString().replaceAll(' ', '').includes(middle.replaceAll(' ', ''));
    });
    expect(other).toEqual([]);
    expect(lost / fifth.length).toBeLessThan(LOSSY.test(name) ? 1 : 0.03);
  });

  it('never makes more tokens than it says at most', () => {
    const beyond = strings.filter((text, i) => ids[i]!.length > tokenizer.mostTokens(text));
    expect(beyond).toEqual([]);
  });
});

describe('any text without added tokens', () => {
  const marked = (text: string) => text.replaceAll('▁', ' ');
  it.each<[string, (text: string) => string]>([
    ['Llama 2: a mark in front, no words', marked],
    // A space in front is taken for the mark, and goes with it.
    ['Mistral: a mark in front of the text', (text) => marked(text).replace(/^ /, '')],
    ['Gemma: split behind spaces', marked],
    ['Unigram with bytes', marked],
    ['Phi-4-mini: the pattern of GPT-4o', (text) => text],
  ])('comes back as it was with %s', (name, expected) => {
    const tokenizer = loadForm(name);
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());
    fc.assert(
      fc.property(text, (text) => {
        const ids = tokenizer.encode(text);
        fc.pre(!ids.some((id) => tokenizer.isAdded(id)));
        expect(tokenizer.decode(ids)).toBe(expected(text));
        expect(ids.length).toBeLessThanOrEqual(tokenizer.mostTokens(text));
      }),
    );
  });
});
