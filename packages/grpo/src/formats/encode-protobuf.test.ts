import { expect, it } from 'vitest';
import { bytesField, doubleField, doublesField, floatField, integerField } from './encode-protobuf.js';
import { bytesAt, fieldsOf, integerAt, textAt } from './protobuf.js';

const EURO = 'naïve €';

it('writes fields that are read back', () => {
  const inner = [integerField(1, 150), bytesField(2, EURO)];
  const fields = [
    ...fieldsOf(
      Buffer.concat([
        integerField(1, 2 ** 40 + 5),
        integerField(2, -1),
        doubleField(3, Math.PI),
        floatField(4, 0.5),
        bytesField(5, inner),
        doublesField(16, [1, Number.NaN]),
        bytesField(17, 'x'.repeat(300)),
      ]),
    ),
  ];
  expect(integerAt(fields, 1)).toBe(2 ** 40 + 5);
  expect(integerAt(fields, 2)).toBe(-1);
  expect(fields[2]!.value).toEqual({ double: Math.PI });
  expect(fields[3]!.value).toEqual({ float: 0.5 });
  const message = [...fieldsOf(bytesAt(fields, 5)[0]!)];
  expect([integerAt(message, 1), textAt(message, 2)]).toEqual([150, EURO]);
  const packed = Buffer.from(bytesAt(fields, 16)[0]!);
  expect([packed.length, packed.readDoubleLE(0), packed.readDoubleLE(8)]).toEqual([16, 1, Number.NaN]);
  expect(textAt(fields, 17)).toHaveLength(300);
});

// From the encoding guide of protobuf: field 1 = 150, field 2 = "testing".
it('writes the bytes of the published examples', () => {
  expect(Buffer.from(integerField(1, 150)).toString('hex')).toBe('089601');
  expect(Buffer.from(bytesField(2, 'testing')).toString('hex')).toBe('120774657374696e67');
});
