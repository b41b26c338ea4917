import { describe } from './describe.js';

/** Element types by their PyTorch names. */
export type DType =
  | 'uint8'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'bool'
  | 'bfloat16';

/** Numbers of c10::ScalarType, which is how a dtype crosses into libtorch. */
const codes: Record<DType, number> = {
  uint8: 0,
  int8: 1,
  int16: 2,
  int32: 3,
  int64: 4,
  float16: 5,
  float32: 6,
  float64: 7,
  bool: 11,
  bfloat16: 15,
};

const names = new Map(Object.entries(codes).map(([name, code]) => [code, name as DType]));

/** The number that libtorch knows a dtype by; throws for an unknown name. */
export function dtypeCode(dtype: unknown): number {
  if (typeof dtype !== 'string' || !Object.hasOwn(codes, dtype))
    throw new TypeError(`unknown dtype ${describe(dtype)}; known: ${Object.keys(codes).join(', ')}`);
  return codes[dtype as DType];
}

/** The name of libtorch's dtype number. */
export function dtypeName(code: number): DType {
  const name = names.get(code);
  if (name === undefined) throw new TypeError(`tensors of ${dtypeLabel(code)} are not supported`);
  return name;
}

/** Whether libtorch's dtype number has a name here; the complex and quantised ones have none. */
export const isSupported = (code: number): boolean => names.has(code);

/** How a dtype number is shown, also one without a name here. */
export const dtypeLabel = (code: number): string => names.get(code) ?? `scalar type ${code}`;

const widths: Record<DType, number> = {
  uint8: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  float16: 2,
  float32: 4,
  float64: 8,
  bool: 1,
  bfloat16: 2,
};

/** Bytes an element. */
export const dtypeSize = (dtype: DType): number => widths[dtype];

/** The whole numbers that a dtype holds and JavaScript can tell apart, or null when it is no integer type. */
export function integerRange(dtype: DType): [min: number, max: number] | null {
  if (dtype === 'int64') return [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const bits = 8 * widths[dtype];
  if (dtype === 'uint8') return [0, 2 ** bits - 1];
  return dtype.startsWith('int') ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : null;
}
