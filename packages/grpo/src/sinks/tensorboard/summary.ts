/** Values of a TensorBoard `Summary`, as PyTorch's SummaryWriter writes them. */
import {
  bytesField,
  doubleField,
  doublesField,
  floatField,
  integerField,
} from '../../formats/encode-protobuf.js';

const DT_STRING = 7;

export const scalar = (tag: string, value: number): Uint8Array =>
  Buffer.concat([bytesField(1, tag), floatField(2, value)]);

/** Bars of a histogram. */
const BARS = 30;

/** The distribution of numbers, of which there is at least one, and none is NaN or infinite. */
export function histogram(tag: string, values: readonly number[]): Uint8Array {
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  const bars = least === most ? 1 : BARS;
  const width = (most - least) / bars;
  const counts = Array<number>(bars).fill(0);
  for (const value of values) {
    const bar = width === 0 ? 0 : Math.min(bars - 1, Math.floor((value - least) / width));
    counts[bar]!++;
  }
  const limits = counts.map((_, bar) => (bar === bars - 1 ? most : least + (bar + 1) * width));
  const sum = (of: (value: number) => number) => values.reduce((total, value) => total + of(value), 0);
  return Buffer.concat([
    bytesField(1, tag),
    bytesField(5, [
      doubleField(1, least),
      doubleField(2, most),
      doubleField(3, values.length),
      doubleField(
        4,
        sum((value) => value),
      ),
      doubleField(
        5,
        sum((value) => value * value),
      ),
      doublesField(6, limits),
      doublesField(7, counts),
    ]),
  ]);
}

/** A text, which TensorBoard shows as Markdown. */
export function text(tag: string, content: string): Uint8Array {
  const plugin = bytesField(1, [bytesField(1, 'text'), bytesField(2, '')]);
  const shape = bytesField(2, [bytesField(2, [integerField(1, 1)])]);
  const tensor = [integerField(1, DT_STRING), shape, bytesField(8, content)];
  return Buffer.concat([
    bytesField(1, `${tag}/text_summary`),
    bytesField(8, tensor),
    bytesField(9, [plugin]),
  ]);
}
