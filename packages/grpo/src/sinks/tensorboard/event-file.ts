import { closeSync, openSync, truncateSync } from 'node:fs';
import { onFile } from '../../errors/file-error.js';
import { maskedCrc32c } from '../../formats/crc32c.js';
import { bytesField, doubleField, integerField } from '../../formats/encode-protobuf.js';
import { writeFully } from '../../formats/file-io.js';
import { fieldsOf, integerAt } from '../../formats/protobuf.js';
import { FileBytes } from '../../trace/readers/file-bytes.js';

/** The kind of a `SessionLog`: all that other files have of this step and later ones is void. */
const START = 1;

/** A new TensorBoard event file: records with checksums, each a protobuf `Event`. */
export class EventFile {
  readonly #fd: number;

  /**
   * @param begin - the step with which the run goes on: readers forget what earlier files have of it and of later ones
   * @throws FileError
   */
  constructor(
    private readonly path: string,
    begin: number,
    time: number,
  ) {
    this.#fd = onFile('write', path, () => openSync(path, 'wx'));
    this.#write(recordOf([doubleField(1, time), bytesField(3, 'brain.Event:2')]));
    this.#write(recordOf([...stamp(time, begin), bytesField(7, [integerField(1, START)])]));
  }

  /** Adds events, each of several summary values at one step. */
  append(events: readonly { time: number; step: number; values: readonly Uint8Array[] }[]): void {
    const records = events.map(({ time, step, values }) =>
      recordOf([
        ...stamp(time, step),
        bytesField(
          5,
          values.map((value) => bytesField(1, [value])),
        ),
      ]),
    );
    this.#write(Buffer.concat(records));
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(bytes: Uint8Array): void {
    onFile('write', this.path, () => writeFully(this.#fd, bytes));
  }
}

/** Bytes of a record beside its event: before it the length with its checksum, after it the event's checksum. */
const BEFORE = 12;
const AFTER = 4;

/** Cuts an event file off before the first event of a later step, and before an event that was not written whole. */
export function cutEvents(path: string, last: number): void {
  const kept = bytesThrough(path, last);
  onFile('write', path, () => truncateSync(path, kept));
}

function bytesThrough(path: string, last: number): number {
  using bytes = new FileBytes(path);
  let position = 0;
  while (position + BEFORE <= bytes.size) {
    const length = Number(bytes.at(position, BEFORE).readBigUInt64LE(0));
    const end = position + BEFORE + length + AFTER;
    if (end > bytes.size) break;
    const event = bytes.at(position + BEFORE, length);
    if ((integerAt([...fieldsOf(event)], 2) ?? 0) > last) break;
    position = end;
  }
  return position;
}

const stamp = (time: number, step: number) => [doubleField(1, time), integerField(2, step)];

/** An event as a record: its length, a checksum of that, the event, its checksum. */
function recordOf(fields: readonly Uint8Array[]): Uint8Array {
  const event = Buffer.concat(fields);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(event.length));
  return Buffer.concat([length, checksum(length), event, checksum(event)]);
}

function checksum(bytes: Uint8Array): Uint8Array {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(maskedCrc32c(bytes));
  return sum;
}
