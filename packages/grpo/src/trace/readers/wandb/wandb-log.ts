/** W&B's own log, `run-ID.wandb`: records in blocks as LevelDB writes them, each a protobuf message. */
import { crc32 } from 'node:zlib';
import { bytesAt, type Field, fieldsOf, integerAt, NotProtobuf, textAt } from '../../../formats/protobuf.js';
import { FileBytes } from '../file-bytes.js';
import { literal } from '../literal.js';
import type { BrokenParts } from '../reading.js';
import { flatSettings, type Setting } from '../series/settings.js';

/** What W&B's log has of a run. */
export type WandbRecord =
  | { kind: 'history'; step: number | undefined; values: Record<string, unknown> }
  | { kind: 'config'; settings: Record<string, Setting> }
  | { kind: 'output'; text: string };

const BLOCK_BYTES = 32_768;
const FILE_HEADER_BYTES = 7;
const HEADER_BYTES = 7;
const [FULL, FIRST, , LAST] = [1, 2, 3, 4];
/** A record of more is no history. */
const MOST_BYTES = 2 ** 24;

/** Numbers of the fields in W&B's `Record`. */
const HISTORY = 2;
const OUTPUT = 4;
const CONFIG = 5;
const OUTPUT_RAW = 13;
const RUN = 17;

export const isWandbLog = (head: string): boolean => head.startsWith(':W&B');

/** The records that tell of metrics, settings and output; what is broken is counted, and ends the file if it must. */
export function* wandbRecords(file: string, broken: BrokenParts): Generator<WandbRecord> {
  let record = 0;
  for (const body of bodies(file, broken)) {
    record++;
    try {
      yield* recordsOf([...fieldsOf(body)]);
    } catch (error) {
      if (!(error instanceof NotProtobuf)) throw error;
      broken.add({ file, reason: `record ${record} is no record of W&B: ${error.message}` });
    }
  }
}

function* recordsOf(fields: readonly Field[]): Generator<WandbRecord> {
  for (const history of bytesAt(fields, HISTORY)) {
    const parts = [...fieldsOf(history)];
    const step = bytesAt(parts, 2).map((bytes) => integerAt([...fieldsOf(bytes)], 1))[0];
    yield { kind: 'history', step, values: itemsOf(parts) };
  }
  const configs = [
    ...bytesAt(fields, CONFIG),
    ...bytesAt(fields, RUN).flatMap((run) => bytesAt([...fieldsOf(run)], 4)),
  ];
  for (const config of configs)
    yield { kind: 'config', settings: flatSettings(itemsOf([...fieldsOf(config)])) };
  for (const number of [OUTPUT, OUTPUT_RAW])
    for (const output of bytesAt(fields, number))
      yield { kind: 'output', text: textAt([...fieldsOf(output)], 3) ?? '' };
}

/** Items of a history or a configuration: a key, or a nested one, and its value as JSON. */
function itemsOf(parts: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(
    bytesAt(parts, 1).flatMap((bytes) => {
      const item = [...fieldsOf(bytes)];
      const nested = bytesAt(item, 2).map((key) => new TextDecoder().decode(key));
      const key = textAt(item, 1) || nested.join('/');
      const value = literal(textAt(item, 16) ?? '');
      return key === '' || value === undefined ? [] : [[key, value]];
    }),
  );
}

/** The records, put together from the parts in which they may lie. */
function* bodies(file: string, broken: BrokenParts): Generator<Uint8Array> {
  using bytes = new FileBytes(file);
  let parts: Buffer[] = [];
  let position = FILE_HEADER_BYTES;
  while (position + HEADER_BYTES <= bytes.size) {
    const left = BLOCK_BYTES - (position % BLOCK_BYTES);
    // The end of a block is too short for a header.
    if (left < HEADER_BYTES) {
      position += left;
      continue;
    }
    const header = bytes.at(position, HEADER_BYTES);
    const [length, type] = [header.readUInt16LE(4), header[6]!];
    if (type === 0 && length === 0) {
      position += left;
      continue;
    }
    const body = bytes.at(position + HEADER_BYTES, length);
    if (body.length < length) {
      broken.add({ file, reason: 'the last record is cut off' });
      return;
    }
    const sum = crc32(body, crc32(Buffer.of(type)));
    if (type > LAST! || sum !== header.readUInt32LE(0)) {
      broken.add({ file, reason: `a wrong checksum at byte ${position}: the rest of its block is not read` });
      parts = [];
      position += left;
      continue;
    }
    position += HEADER_BYTES + length;
    if (type === FULL || type === FIRST) parts = [];
    parts.push(body);
    if (type !== FULL && type !== LAST) continue;
    if (parts.reduce((sum, part) => sum + part.length, 0) <= MOST_BYTES) yield Buffer.concat(parts);
    parts = [];
  }
}
